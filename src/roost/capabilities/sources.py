"""What of a request is an input's medium or array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from roost.contracts.array import NDArray
from roost.errors import BadRequest

if TYPE_CHECKING:
    import numpy.typing as npt


def listed(value: str | list[str] | None) -> list[str]:
    """A field that takes one or several, as a list; empty when it is not given."""
    return [value] if isinstance(value, str) else value or []


def one_image(capability: str, given: str | None, uploads: list[bytes] | None) -> str | bytes:
    """The only image of a request: its `image` field, or the upload of a binary request.

    Raises:
        BadRequest: when there is none, or more than one.
    """
    found = [given] if uploads is None and given is not None else uploads or []
    if len(found) == 1:
        return found[0]
    binary = uploads is not None
    raise BadRequest(
        f"{capability} takes exactly one image, got {len(found)}.",
        hint="Send the raw image in one part named 'image'." if binary else "Set the field 'image'.",
    )


@overload
def to_array(field: str, array: NDArray) -> npt.NDArray[Any]: ...
@overload
def to_array(field: str, array: NDArray | None) -> npt.NDArray[Any] | None: ...
def to_array(field: str, array: NDArray | None) -> npt.NDArray[Any] | None:
    """The array of a request's field.

    Raises:
        BadRequest: when its data is not base64.
    """
    if array is None:
        return None
    try:
        return array.to_numpy()
    except ValueError as error:
        raise BadRequest(
            f"{field} has data that is not base64: {error}.", hint="Send base64 of the array's bytes."
        ) from error
