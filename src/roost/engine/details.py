"""Ray's details of Serve, read again and again: most of it is as it was."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

_PARTS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])
_APPLICATIONS: Final = "applications"


class DetailsReader:
    """Decodes one answer after the other. Thread-safe.

    An application whose text did not change is the very same object as in the answer before, so that whoever
    compares by identity has nothing to do. What is returned must therefore not be changed.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[msgspec.Raw, Any]] = {}

    def read(self, body: bytes) -> Any:
        """The answer as plain values.

        Raises:
            ValueError: it is not JSON.
        """
        try:
            texts = _PARTS.decode(body)
            apps = _PARTS.decode(texts.pop(_APPLICATIONS))
        except (msgspec.DecodeError, KeyError):  # of another shape
            return json.loads(body)
        known = self._known
        # The text kept is always that of this answer: one of an earlier answer would keep all of it alive.
        self._known = {name: (text, _value(text, known.get(name))) for name, text in apps.items()}
        values = {name: json.loads(bytes(text)) for name, text in texts.items()}
        values[_APPLICATIONS] = {name: value for name, (_, value) in self._known.items()}
        return values


def _value(text: msgspec.Raw, before: tuple[msgspec.Raw, Any] | None) -> Any:
    if before is not None and before[0] == text:
        return before[1]
    # Not msgspec: whole numbers of any size must come back as they are, in what is PUT again unchanged.
    return json.loads(bytes(text))
