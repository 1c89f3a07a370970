"""What goes over the wire for a call: both directions of arguments and results."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import TypedDict

from roost.contracts.endpoint import Endpoint
from roost.contracts.endpoint_methods import endpoints_of
from roost.errors import BadRequest, InternalError, ValidationFailed
from roost.serve import endpoint


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: float
    tag: bytes = b""


class Box(TypedDict):
    corners: list[Point]


class Item(BaseModel):
    name: str
    price: float = 1.0


Everything = tuple[Point, Box, Item | None, Colour, bytes, float, datetime, dict[str, set[int]]]


class Kinds:
    @endpoint
    def greet(self, name: str, times: Annotated[int, Field(ge=1)] = 1, *, loud: bool = False) -> str:
        return name * times

    @endpoint
    def give(
        self,
        point: Point,
        box: Box,
        item: Item | None,
        colour: Colour,
        raw: bytes,
        at: datetime,
        copy: int = 1,
    ) -> Everything:
        raise NotImplementedError

    @endpoint
    def anything(self, value: Any) -> Any:
        return value

    @endpoint
    def same(self, raw: bytes) -> bytes:
        return raw


GREET, GIVE, ANYTHING, SAME = endpoints_of(Kinds).values()
POINT = Point(0.5, b"\xff\x00")
BOX: Box = {"corners": [POINT]}
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)


def test_arguments_of_all_kinds_arrive_as_they_were_given() -> None:
    body = GIVE.dump_arguments(
        [POINT, BOX], {"item": Item(name="cup"), "colour": Colour.RED, "raw": b"\xfb", "at": NOON}
    )
    assert json.loads(body) == {
        "point": {"x": 0.5, "tag": "_wA="},
        "box": {"corners": [{"x": 0.5, "tag": "_wA="}]},
        "item": {"name": "cup", "price": 1.0},
        "colour": "red",
        "raw": "-w==",
        "at": "2026-01-02T12:00:00Z",
    }
    assert GIVE.load_arguments(body) == {
        "point": POINT,
        "box": BOX,
        "item": Item(name="cup"),
        "colour": Colour.RED,
        "raw": b"\xfb",
        "at": NOON,
    }


def test_results_of_all_kinds_come_back_as_they_were_returned() -> None:
    result = (POINT, BOX, None, Colour.RED, b"\xff", -math.inf, NOON, {"a": {1}})
    assert GIVE.load_result(GIVE.result.dump(result)) == result
    assert math.isnan(ANYTHING.result.load(b"[NaN]")[0])
    assert GREET.load_result(b'"a"') == "a"


@pytest.mark.parametrize("text", [b'"-_8="', b'"+/8="', b'"+/8"'])
def test_base64_is_read_in_either_alphabet(text: bytes) -> None:
    assert SAME.load_result(text) == b"\xfb\xff"


@pytest.mark.parametrize(
    ("body", "issues"),
    [
        (b"{}", [(["name"], "it is missing")]),
        (b"", [(["name"], "it is missing")]),
        (b'{"name": 3}', [(["name"], "Input should be a valid string")]),
        (
            b'{"nam": "a", "times": 0}',
            [
                (["name"], "it is missing"),
                (["times"], "Input should be greater than or equal to 1"),
                (["nam"], "there is no such argument"),
            ],
        ),
        (b"[]", [([], "Input should be an object")]),
        (b"null", [([], "Input should be an object")]),
    ],
)
def test_bad_missing_and_unknown_arguments_are_each_named(body: bytes, issues: list[Any]) -> None:
    with pytest.raises(ValidationFailed) as caught:
        GREET.load_arguments(body)
    found = caught.value.issues
    assert found == [{"loc": loc, "message": message} for loc, message in issues]
    for loc, message in issues:
        assert message in caught.value.message
        assert repr(".".join(loc) or "the arguments") in caught.value.message


@pytest.mark.parametrize("body", [b"{", b"{}{}", b'{"name": "\\ud800"}', b'{"name": "\xff"}', b"[" * 5000])
def test_what_is_no_json_is_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequest, match="are not valid JSON"):
        GREET.load_arguments(body)


def test_an_absent_argument_is_left_to_the_method() -> None:
    assert GREET.load_arguments(b'{"name": "a"}') == {"name": "a"}


@pytest.mark.parametrize(
    ("given", "named", "issues"),
    [
        ([], {}, [(["name"], "it is missing")]),
        (["a", 1, True], {}, [([], "3 are given by position, at most 2 are taken")]),
        (["a"], {"name": "b"}, [(["name"], "it is given twice")]),
        (["a"], {"nam": 1}, [(["nam"], "there is no such argument")]),
        (
            [object()],
            {},
            [(["name"], "it cannot be sent: Unable to serialize unknown type: <class 'object'>")],
        ),
    ],
)
def test_a_call_that_does_not_fit_is_refused_before_it_is_sent(
    given: list[Any], named: dict[str, Any], issues: list[Any]
) -> None:
    with pytest.raises(ValidationFailed, match="Its parameters are 'name', 'times', 'loud'") as caught:
        GREET.dump_arguments(given, named)
    assert caught.value.issues == [{"loc": loc, "message": message} for loc, message in issues]


def test_an_argument_of_another_type_is_for_the_replica_to_judge() -> None:
    assert GREET.dump_arguments([3], {"times": "x"}) == b'{"name":3,"times":"x"}'


@pytest.mark.parametrize("json", [b'"a", "b"', b"", b"3", b'["a"]', b"{"])
def test_a_result_of_another_shape_is_refused(json: bytes) -> None:
    with pytest.raises(InternalError, match="The answer of 'greet' is not what its annotation says"):
        GREET.load_result(json)


def test_a_result_that_is_not_its_annotations_is_no_json() -> None:
    with pytest.raises(ValidationError):
        GREET.result.dump(3)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_any_json_value_travels_both_ways(value: Any) -> None:
    # What is not finite is text on the wire, which only an annotation turns back.
    wanted = json.loads(json.dumps(value), parse_constant=lambda name: name)
    assert _both_ways(ANYTHING, value) == wanted


def _both_ways(each: Endpoint, value: Any) -> Any:
    there = each.load_arguments(each.dump_arguments([value], {}))["value"]
    return each.load_result(each.result.dump(there))
