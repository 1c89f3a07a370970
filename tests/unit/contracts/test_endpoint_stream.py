"""A stream's lines: no text breaks them, no cut goes unseen."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roost.contracts.endpoint_stream import StreamReader, end_line, error_line, item_line
from roost.contracts.endpoint_types import ValueType
from roost.errors import InternalError, ModelError, Unavailable

TEXT = ValueType(str)
BREAKS = "\u2028\u2029\x85\r\n\x1c\x1d\x1e\x0b\x0c\r"
TEXTS = st.lists(st.text(st.one_of(st.sampled_from(BREAKS), st.characters(codec="utf-8"))), max_size=6)


def written(texts: list[str]) -> bytes:
    return b"".join(item_line(TEXT.dump(text)) for text in texts) + end_line(len(texts))


def read(pieces: list[bytes]) -> list[str]:
    reader = StreamReader("say")
    found = [TEXT.load(item) for piece in pieces for item in reader.feed(piece)]
    reader.finish()
    return found


@given(texts=TEXTS, cuts=st.lists(st.integers(0, 400), max_size=8))
@example(texts=[BREAKS, "\n", "", "a\nb"], cuts=[])
def test_texts_come_out_as_they_went_in_wherever_the_pieces_are_cut(
    texts: list[str], cuts: list[int]
) -> None:
    whole = written(texts)
    places = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    pieces = [whole[start:end] for start, end in pairwise(places)]
    assert read(pieces) == texts


@given(texts=TEXTS, data=st.data())
def test_a_stream_cut_at_any_byte_is_an_error(texts: list[str], data: st.DataObject) -> None:
    whole = written(texts)
    length = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(Unavailable, match="was cut after"):
        read([whole[:length]])


def test_each_line_is_json() -> None:
    lines = written(["a", BREAKS]).split(b"\n")
    assert [json.loads(line) for line in lines[:-1]] == [
        {"item": "a"},
        {"item": BREAKS},
        {"end": {"items": 2}},
    ]
    assert lines[-1] == b""


def test_the_error_that_ended_a_stream_is_raised_after_its_items() -> None:
    reader = StreamReader("say")
    stream = item_line(b'"a"') + error_line(ModelError("The model's code raised KeyError."), "id-3")
    items = reader.feed(stream)
    assert next(items) == b'"a"'
    with pytest.raises(ModelError, match="raised KeyError") as caught:
        next(items)
    assert caught.value.request_id == "id-3"


def test_empty_lines_keep_it_alive() -> None:
    assert read([b"\n" + item_line(b'"a"') + b"\n\n", b"\n" + end_line(1) + b"\n"]) == ["a"]


def test_lost_items_are_an_error() -> None:
    with pytest.raises(Unavailable, match="lost items: 1 of 2 came"):
        read([item_line(b'"a"') + end_line(2)])


@pytest.mark.parametrize(
    "stream",
    [
        b"<html>\n",
        b'{"item":"a"\n',
        b'{"end":{}}\n',
        b'{"error":3}\n',
        end_line(0) + item_line(b'"a"'),
        b'"a"\n',
    ],
)
def test_what_is_no_stream_is_said(stream: bytes) -> None:
    with pytest.raises(InternalError, match="The answer of 'say' is not a stream of items"):
        read([stream])
