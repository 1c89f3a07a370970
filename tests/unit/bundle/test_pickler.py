"""Pickles that do not tell one session from another."""

from __future__ import annotations

import dataclasses
import io
import pickle
from types import SimpleNamespace
from typing import Any

import pytest

from roost.bundle.pickler import Pickler


class Holder:
    """An ordinary object."""

    def __init__(self, **values: Any) -> None:
        vars(self).update(values)


class Own:
    """Says itself how it is pickled."""

    def __init__(self) -> None:
        self.names = {"a"}

    def __reduce__(self) -> tuple[Any, ...]:
        return Own, ()


def dumped(value: object) -> bytes:
    buffer = io.BytesIO()
    pickler = Pickler(buffer)
    pickler.dump(value)
    return pickler.without_addresses(buffer.getvalue())


def back(value: object) -> Any:
    return pickle.loads(dumped(value))


@pytest.mark.parametrize("kind", [set, frozenset])
def test_sets_of_strings_are_written_in_order(kind: Any) -> None:
    names = [f"name-{number}" for number in range(50)]
    data = dumped(Holder(names=kind(reversed(names))))
    places = [data.index(name.encode()) for name in sorted(names)]
    assert places == sorted(places)
    assert back(Holder(names=kind(names))).names == kind(names)
    assert type(back(Holder(names=kind(names))).names) is kind


def test_other_values_come_back_as_they_are() -> None:
    came = back(Holder(numbers={3, 1}, empty=set(), mixed={"a", 1}, nested={"x": {"b", "a"}}, word="w"))
    assert vars(came) == {
        "numbers": {3, 1},
        "empty": set(),
        "mixed": {"a", 1},
        "nested": {"x": {"b", "a"}},
        "word": "w",
    }
    assert back(Own()).names == {"a"}
    assert back(SimpleNamespace(names={"a", "b"})).names == {"a", "b"}


def test_a_set_that_is_shared_goes_on_being_shared() -> None:
    shared = {"a", "b"}
    one, other = back([Holder(names=shared), Holder(names=shared)])
    one.names.add("c")
    assert other.names == {"a", "b", "c"}


def test_classes_have_no_random_numbers_and_no_addresses() -> None:
    def made() -> type:
        class Local:
            ref = ""

        Local.ref = f"{Local.__module__}.{Local.__qualname__}:{id(Local)}"
        return Local

    kept = [made() for _ in range(3)]  # alive together, so that their addresses differ
    assert len({dumped(cls) for cls in kept}) == 1
    assert back(kept[0]).ref.endswith(f"{'0' * len(str(id(kept[0])))}")


def test_a_dataclass_by_value_keeps_what_has_no_default() -> None:
    cell = (
        "from dataclasses import dataclass, field\n"
        "@dataclass\nclass Pair:\n    left: int\n    right: list[int] = field(default_factory=list)\n"
    )
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(cell, namespace)
    came = back(namespace["Pair"])
    assert came is not namespace["Pair"]
    left, right = dataclasses.fields(came)
    assert left.default is left.default_factory is right.default is dataclasses.MISSING
    assert dataclasses.asdict(came(1)) == {"left": 1, "right": []}
    derived = dataclasses.make_dataclass("Derived", [], bases=(came,))
    assert [each.name for each in dataclasses.fields(derived)] == ["left", "right"]
