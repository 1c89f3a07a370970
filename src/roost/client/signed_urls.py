"""The signed URLs a process has at hand: asked for many at once, and anew before they run out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from roost.contracts.artifact import ArtifactKind, SignedUrls, UrlMethod

AT_ONCE: Final = 256
_MARGIN: Final = 0.5
"""A URL is used for this part of its time, so that a slow transfer still ends within it."""

Ask = Callable[[ArtifactKind, list[str], UrlMethod], SignedUrls]
_Place = tuple[ArtifactKind, UrlMethod]


@dataclass(frozen=True, slots=True)
class SignedUrl:
    """One URL and what must be sent with it."""

    url: str = field(repr=False)
    headers: dict[str, str]
    good_until: float


class UrlBook:
    """Finds the URL of an artifact. Thread-safe.

    Args:
        ask: Gets URLs from the server.
        clock: Seconds, as `time.monotonic`.
    """

    def __init__(self, ask: Ask, clock: Callable[[], float] = time.monotonic) -> None:
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[tuple[ArtifactKind, UrlMethod, str], SignedUrl] = {}
        self._expected: dict[str, None] = {}
        self._without: set[_Place] = set()

    def expect(self, names: Iterable[str]) -> None:
        """These chunks will be read: their URLs are asked for along with others."""
        with self._lock:
            self._expected.update(dict.fromkeys(names))

    def find(self, kind: ArtifactKind, method: UrlMethod, name: str) -> SignedUrl | None:
        """The URL of one artifact, for one use; None where there are none."""
        with self._lock:
            found = self._known.pop((kind, method, name), None)
            if found is not None and self._clock() < found.good_until:
                return found
            if (kind, method) in self._without:
                return None
            # Asked for under the lock: the others who wait here find theirs among what comes.
            self._fetch(kind, method, name)
            return self._known.pop((kind, method, name), None)

    def _fetch(self, kind: ArtifactKind, method: UrlMethod, name: str) -> None:
        self._expected.pop(name, None)
        more = list(self._expected)[: AT_ONCE - 1] if (kind, method) == ("chunks", "GET") else []
        for each in more:
            del self._expected[each]
        asked_at = self._clock()
        answer = self._ask(kind, [name, *more], method)
        if answer.urls is None:
            self._without.add((kind, method))
            return
        good_until = asked_at + answer.expires_s * _MARGIN
        for each, url in answer.urls.items():
            self._known[kind, method, each] = SignedUrl(url, answer.headers.get(each, {}), good_until)
