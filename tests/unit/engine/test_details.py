"""Ray's details, answer after answer: what did not change is the same object."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.engine.details import DetailsReader

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def body(apps: Any, **more: Any) -> bytes:
    return json.dumps({"applications": apps, **more}).encode()


def test_only_what_changed_is_another_object() -> None:
    reader = DetailsReader()
    first = reader.read(body({"a": {"n": 1}, "b": {"n": 2}}, at=1))
    second = reader.read(body({"a": {"n": 1}, "b": {"n": 3}, "c": {}}, at=2))
    assert second == {"applications": {"a": {"n": 1}, "b": {"n": 3}, "c": {}}, "at": 2}
    assert second["applications"]["a"] is first["applications"]["a"]
    third = reader.read(body({"b": {"n": 3}}, at=3))
    assert third == {"applications": {"b": {"n": 3}}, "at": 3}
    assert third["applications"]["b"] is second["applications"]["b"]


def test_what_comes_back_is_what_there_is_now() -> None:
    reader = DetailsReader()
    for number in (1, 2, 1):
        assert reader.read(body({"a": {"n": number}}))["applications"]["a"]["n"] == number
    assert reader.read(body({}))["applications"] == {}
    assert reader.read(body({"a": {"n": 2}}))["applications"]["a"]["n"] == 2


@given(st.lists(st.dictionaries(st.text(), VALUES, max_size=4), min_size=1, max_size=4))
def test_it_reads_as_any_other_reader(answers: list[dict[str, Any]]) -> None:
    reader = DetailsReader()
    for apps in answers:
        text = body(apps)
        assert json.dumps(reader.read(text)) == json.dumps(json.loads(text))


@pytest.mark.parametrize("value", [2**70, -(2**64), 1.0, 1e22, 0.1, float("inf"), "\ud800"])
def test_values_come_back_exactly(value: Any) -> None:
    found = DetailsReader().read(body({"stranger": {"deployed_app_config": {"args": value}}}))
    args = found["applications"]["stranger"]["deployed_app_config"]["args"]
    assert (args, type(args)) == (value, type(value))


@pytest.mark.parametrize(
    "text", [b'{"applications": null}', b"{}", b"[1]", b"null", b'{"applications": [1]}']
)
def test_another_shape_is_read_all_the_same(text: bytes) -> None:
    assert DetailsReader().read(text) == json.loads(text)


@pytest.mark.parametrize("text", [b"", b"<html>", b'{"applications": {"a": }}', b"\xff"])
def test_what_is_not_json_is_a_value_error(text: bytes) -> None:
    with pytest.raises(ValueError):
        DetailsReader().read(text)
