"""The weights of one upload, wherever they come from, as a directory."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from roost.errors import InvalidWeights
from roost.sdk.sources.address import Address, BucketAddress, HubAddress, parse_source
from roost.sdk.sources.bucket import open_bucket
from roost.sdk.sources.hub import open_hub

SourceFunction = Callable[[], str | Path]


class WeightsSource:
    """A directory, a URL, or a function that returns one of the two and runs only when it is opened.

    Raises:
        InvalidWeights: for what is none of these.
    """

    def __init__(self, source: str | Path | SourceFunction) -> None:
        self._function = _checked_function(source) if callable(source) else None
        self._address = None if callable(source) else parse_source(source)

    def find_fault(self) -> InvalidWeights | None:
        """Why there is nothing to open, as far as can be seen from here."""
        if not isinstance(self._address, Path) or self._address.is_dir():
            return None
        what = "is not a directory" if self._address.exists() else "does not exist"
        return InvalidWeights(
            f"weights directory {str(self._address)!r} {what}.",
            hint="Pass the folder that holds the model's files.",
        )

    @contextmanager
    def opened(self) -> Iterator[Path]:
        """The directory to upload; what was fetched for it is removed at the end.

        Raises:
            InvalidWeights, NotFound, Unauthorized, Forbidden, Unavailable, CorruptArtifact: when it cannot
                be fetched.
        """
        address = self._address if self._function is None else _returned(self._function())
        assert address is not None
        with _open(address) as directory:
            yield directory


def _checked_function(function: SourceFunction) -> SourceFunction:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some written in C tell nothing
        return function
    try:
        signature.bind()
    except TypeError as error:
        raise InvalidWeights(
            f"the source of the weights {function!r:.80} cannot be called: {error}. "
            "A source is called without arguments.",
            hint="Pass a lambda or a functools.partial that gives it what it needs.",
        ) from error
    return function


def _returned(value: object) -> Address:
    if not isinstance(value, (str, Path)):
        raise InvalidWeights(
            f"the source of the weights returned {value!r:.80}, which is not a path.",
            hint="Return the folder that holds the model's files.",
        )
    return parse_source(value)


def _open(address: Address) -> AbstractContextManager[Path]:
    if isinstance(address, HubAddress):
        return open_hub(address)
    if isinstance(address, BucketAddress):
        return open_bucket(address)
    return nullcontext(address)
