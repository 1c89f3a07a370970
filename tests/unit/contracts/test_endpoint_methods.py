"""Which methods can be endpoints, and what is said against the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import pytest
from pydantic import Field

from roost.contracts.endpoint_methods import endpoints_of
from roost.errors import InvalidServable
from roost.serve import endpoint

if TYPE_CHECKING:
    from fractions import Fraction


class Custom:
    """Nothing JSON knows."""


class Good:
    @endpoint(timeout_s=3)
    def add(self, left: int, right: Annotated[int, Field(ge=0)] = 1, *, exact: bool = False) -> int:
        """Adds."""
        return left + right

    @endpoint
    async def count(self, to: int) -> AsyncIterator[str]:
        yield str(to)

    @endpoint
    def steps(self) -> Generator[float, None, None]:
        yield 1.0

    @endpoint
    async def nothing(self) -> None:
        """Nothing comes back."""


def test_what_is_read_of_a_class() -> None:
    found = endpoints_of(Good)
    assert list(found) == ["add", "count", "steps", "nothing"]
    add = found["add"]
    assert (add.doc, add.timeout_s, add.is_stream) == ("Adds.", 3, False)
    assert list(add.signature.parameters) == ["left", "right", "exact"]
    assert [found[name].is_stream for name in ("count", "steps", "nothing")] == [True, True, False]
    assert found["count"].result.dump("7") == b'"7"'
    assert found["steps"].result.dump(7) == b"7.0"
    assert found["nothing"].result.dump(None) == b"null"


class Untyped:
    @endpoint
    def bad(self, one: int, two) -> int:  # type: ignore[no-untyped-def]
        return one


class Star:
    @endpoint
    def bad(self, *many: int) -> int:
        return 1


class StarStar:
    @endpoint
    def bad(self, **many: int) -> int:
        return 1


class PositionalOnly:
    @endpoint
    def bad(self, one: int, /) -> int:
        return one


class NoReturn:
    @endpoint
    def bad(self, one: int):  # type: ignore[no-untyped-def]
        return one


class Indescribable:
    @endpoint
    def bad(self) -> Custom:
        return Custom()


class Function:
    @endpoint
    def bad(self) -> Callable[[], int]:
        return lambda: 1


class Argument:
    @endpoint
    def bad(self, fine: int, custom: list[Custom]) -> int:
        return fine


class Default:
    @endpoint
    def bad(self, one: int = "x") -> int:  # type: ignore[assignment]
        return one


class DefaultNone:
    @endpoint
    def bad(self, one: str = None) -> str:  # type: ignore[assignment]  # noqa: RUF013  # what is tested
        return one


class Hidden:
    @endpoint
    def _bad(self) -> int:
        return 1


class Reserved:
    @endpoint
    def unload(self) -> None:
        """Roost calls it."""


class NoSelf:
    @endpoint
    def bad() -> int:  # type: ignore[misc]
        return 1


class OnlyForTheChecker:
    @endpoint
    def bad(self, part: Fraction) -> int:
        return 1


class Returned:
    @endpoint
    def bad(self) -> Iterator[int]:
        return iter([1])


class Bare:
    @endpoint
    def bad(self) -> Iterator:  # type: ignore[type-arg]
        yield 1


class Static:
    @staticmethod
    @endpoint
    def bad() -> int:
        return 1


class Overridden(Good):
    add: Any = None


@pytest.mark.parametrize(
    ("cls", "why"),
    [
        (Untyped, "'Untyped.bad' has the parameter 'two' without a type"),
        (Star, "'Star.bad' has the parameter '*many', which takes any number of positional"),
        (StarStar, "has the parameter '**many', which takes arguments of any name"),
        (PositionalOnly, "has the parameter 'one', which can only be given by position"),
        (NoReturn, "'NoReturn.bad' has no return type"),
        (Indescribable, r"returns the type .*Custom, which JSON cannot describe"),
        (Function, r"returns the type .*Callable\[\[\], int\], which JSON cannot describe"),
        (Argument, r"takes 'custom' of the type list\[.*Custom\], which JSON cannot describe"),
        (Default, "'Default.bad' has the parameter 'one' of the type int with the default 'x', which is not"),
        (DefaultNone, "has the parameter 'one' of the type str with the default None, which is not one"),
        (Hidden, "'Hidden._bad' begins with an underscore"),
        (Reserved, "'Reserved.unload' has a name that Roost calls by itself"),
        (NoSelf, "'NoSelf.bad' has no `self`"),
        (OnlyForTheChecker, "has an annotation that cannot be read: NameError: name 'Fraction'"),
        (Returned, r"returns .*Iterator\[int\] but does not yield"),
        (Bare, "yields items of no known type"),
        (Static, "'Static.bad' is staticmethod, not a method of an instance"),
        (Overridden, "'Overridden.add' is NoneType, not a method"),
    ],
)
def test_what_cannot_be_an_endpoint_is_named_with_the_reason(cls: type, why: str) -> None:
    pattern = why if ".*" in why else why.replace("*", r"\*")
    with pytest.raises(InvalidServable, match=pattern) as caught:
        endpoints_of(cls)
    assert caught.value.hint
