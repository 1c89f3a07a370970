"""Steady requests from a thread of their own, which keep what they heard."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final

import httpx2

_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Failure:
    """A request that was not answered well.

    Attributes:
        began_s, ended_s: Of `time.monotonic()`.
        status: HTTP status; 0 when there was no answer.
        what: Its body, or the error of the connection.
        retry_after: The answer's `Retry-After`; empty when it had none.
    """

    began_s: float
    ended_s: float
    status: int
    what: str
    retry_after: str = ""


class RequestLoop:
    """Calls one URL again and again, one request at a time, until the block ends; no request is tried twice.

    Args:
        body: POSTed as JSON; None sends GET.
        who: Reads from a good answer who gave it; default is its whole text.
        pause_s: Between an answer and the next request.
        timeout_s: Of one request.

    Attributes:
        answers: The good answers (2xx), counted by who gave them.
        failures: All others, in order.
        slowest_s: The longest time to a good answer.
    """

    def __init__(
        self,
        url: str,
        body: dict[str, Any] | None = None,
        *,
        who: Callable[[httpx2.Response], str] = lambda answer: answer.text,
        pause_s: float = 0.02,
        timeout_s: float = 30.0,
    ) -> None:
        self.answers: Counter[str] = Counter()
        self.failures: list[Failure] = []
        self.slowest_s = 0.0
        self._url = url
        self._body = body
        self._who = who
        self._pause_s = pause_s
        self._timeout_s = timeout_s
        self._last_s = time.monotonic()
        self._ended_s: float | None = None
        self._longest_gap_s = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="request-loop", daemon=True)

    @property
    def gap_s(self) -> float:
        """The longest time without a good answer, in seconds; also the one that is not over yet."""
        now_s = time.monotonic() if self._ended_s is None else self._ended_s
        return max(self._longest_gap_s, now_s - self._last_s)

    def __enter__(self) -> RequestLoop:
        self._last_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._ended_s = time.monotonic()

    def _run(self) -> None:
        # Loopback URLs only: a proxy of the environment would be in the way.
        with httpx2.Client(timeout=self._timeout_s, trust_env=False) as client:
            while not self._stopping.wait(self._pause_s):
                self._request(client)

    def _request(self, client: httpx2.Client) -> None:
        began_s = time.monotonic()
        try:
            method = "GET" if self._body is None else "POST"
            answer = client.request(method, self._url, json=self._body)
        except httpx2.HTTPError as error:
            self.failures.append(Failure(began_s, time.monotonic(), 0, repr(error)[:_SHOWN]))
            return
        ended_s = time.monotonic()
        if not answer.is_success:
            after = answer.headers.get("retry-after", "")
            what = answer.text[:_SHOWN]
            self.failures.append(Failure(began_s, ended_s, answer.status_code, what, after))
            return
        self.answers[self._who(answer)] += 1
        self.slowest_s = max(self.slowest_s, ended_s - began_s)
        self._longest_gap_s = max(self._longest_gap_s, ended_s - self._last_s)
        self._last_s = ended_s
