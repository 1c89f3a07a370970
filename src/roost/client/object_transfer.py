"""Bytes from and to signed URLs of a storage: with retries, in bounded memory, without our API key.

Reading an object, and storing the same bytes again, change nothing; so unlike a call to the server both
are sent again after a time-out, too.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import urlsplit

import httpx2

from roost.errors import ArtifactNotFound, Forbidden, RoostError, Unavailable
from roost.hosts import is_loopback

TIMEOUT: Final = httpx2.Timeout(120.0, connect=5.0)
ATTEMPTS: Final = 4
MAX_BYTES: Final = 64 * 1024 * 1024
"""Of one object; the server takes no artifact that is larger."""

_FIRST_WAIT_S: Final = 0.2
_RETRIED: Final = frozenset({408, 425, 429, 500, 502, 503, 504})


class ObjectTransfer:
    """Reads and writes objects by their signed URLs. Safe to share between threads.

    Args:
        transport: Another HTTP transport, for tests.
        sleep: Waits so many seconds between attempts.
    """

    def __init__(
        self,
        transport: httpx2.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._transport = transport
        self._sleep = sleep
        self._lock = threading.Lock()
        self._clients: dict[bool, httpx2.Client] = {}

    def get(self, url: str) -> bytes:
        """The whole object.

        Raises:
            ArtifactNotFound: there is none.
            Forbidden: the storage refuses the URL, which may have run out, or sends more than `MAX_BYTES`.
            Unavailable: it does not answer.
        """
        return self._attempts("GET", url, None, {})

    def put(self, url: str, data: bytes, headers: Mapping[str, str]) -> None:
        """Store an object.

        Raises:
            Forbidden: the storage refuses the URL, which may have run out, or the bytes.
            Unavailable: it does not answer.
        """
        self._attempts("PUT", url, data, headers)

    def close(self) -> None:
        """Close the connections."""
        with self._lock:
            while self._clients:
                self._clients.popitem()[1].close()

    def _attempts(self, method: str, url: str, data: bytes | None, headers: Mapping[str, str]) -> bytes:
        for attempt in range(ATTEMPTS):
            try:
                return self._send(method, url, data, headers)
            except httpx2.ConnectError as error:
                # Where nothing listens, waiting for it only holds the caller up: there is another way.
                raise _unreachable(url, error) from error
            except httpx2.TransportError as error:
                failure: RoostError = _unreachable(url, error)
                cause: Exception = error
            except Unavailable as error:
                failure = cause = error
            if attempt + 1 < ATTEMPTS:
                self._sleep(_FIRST_WAIT_S * 3**attempt * random.uniform(0.5, 1.0))  # noqa: S311  # not a secret
        raise failure from cause

    def _send(self, method: str, url: str, data: bytes | None, headers: Mapping[str, str]) -> bytes:
        with self._http(url).stream(method, url, content=data, headers=headers) as answer:
            if answer.is_success:
                return _read(answer)
            raise _refusal(answer.status_code, url)

    def _http(self, url: str) -> httpx2.Client:
        # A proxy of the environment is for storage on other machines only.
        is_far = not is_loopback(urlsplit(url).hostname)
        with self._lock:
            if is_far not in self._clients:
                self._clients[is_far] = httpx2.Client(
                    transport=self._transport,
                    timeout=TIMEOUT,
                    headers={"User-Agent": "roost-client"},
                    trust_env=is_far,
                )
            return self._clients[is_far]


def _read(answer: httpx2.Response) -> bytes:
    body = bytearray()
    for piece in answer.iter_raw():
        body += piece
        if len(body) > MAX_BYTES:
            raise Forbidden(f"An object has more than {MAX_BYTES} bytes, the most that is read.")
    return bytes(body)


def _refusal(status: int, url: str) -> RoostError:
    where = _shown(url)
    if status == 404:
        return ArtifactNotFound(f"The storage has no object at {where!r}.")
    if status in _RETRIED:
        return Unavailable(f"The storage answers HTTP {status} at {where!r}.")
    return Forbidden(f"The storage refuses a signed URL with HTTP {status} at {where!r}.")


def _unreachable(url: str, error: httpx2.TransportError) -> Unavailable:
    reason = str(error) or type(error).__name__
    return Unavailable(f"The storage does not answer at {_shown(url)!r}: {reason}.")


def _shown(url: str) -> str:
    """Without its query: whoever has that may use the URL."""
    return urlsplit(url)._replace(query="").geturl()
