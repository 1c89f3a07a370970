"""One keep-alive HTTP/1.1 connection to an upstream; one exchange at a time.

Own code, because every inference passes here: docs/decisions/0003-gateway-upstream.md has the numbers.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Sequence
from typing import Final, cast

import httptools

from roost.asgi.types import Header
from roost.gateway.headers import HOP_BY_HOP

_PAUSE_BYTES: Final = 256 * 1024
_RESUME_BYTES: Final = 64 * 1024

# Our own server writes `server` and `date` itself.
_NOT_PASSED_ON: Final = HOP_BY_HOP | {b"server", b"date"}


class UpstreamLost(Exception):
    """The connection ended, or spoke no HTTP, before the exchange was complete."""


class Upstream(asyncio.Protocol):
    """A connection. Made by `UpstreamPool`.

    An exchange is `start`, for a streamed body `write`/`end`/`drain`, then `answered`, then `piece`
    until the last one. `fail` ends it from outside. `finish` closes it or says that the
    connection can carry another one.

    Attributes:
        status: Of the final response; 0 until its head is there. Interim ones (1xx) are skipped.
        headers: Of the response, lower case, without those that concern one hop only.
        content_type: Value of that header, or empty.
        loop: The event loop it belongs to.
        touched_s: Loop time at which something last moved; kept once it is not 0.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport | None = None
        self._poll = select.poll()
        self._lost = False
        self._busy = False
        self._write_paused = False
        self._writable: asyncio.Future[None] | None = None
        self.idle_since_s = 0.0  # of time.monotonic(), kept by the pool
        self._clear()

    def _clear(self) -> None:
        self.status = 0
        self.headers: list[Header] = []
        self.content_type = b""
        self.touched_s = 0.0
        self._pieces: list[bytes] = []
        self._held = 0
        self._reading_paused = False
        self._interim = False
        self._framed = False
        self._keep_alive = False
        self._complete = False
        self._sent = False
        self._chunked = False
        self._error: BaseException | None = None
        self._waiter: asyncio.Future[None] | None = None

    # The exchange

    def start(self, head: bytes, body: Sequence[bytes], *, complete: bool, chunked: bool = False) -> None:
        """Send the head and what there is of the body; `complete` when that is all of it.

        `chunked` frames each piece of a streamed body, as the head must have said.
        """
        self._clear()
        self._busy = True
        self._sent = complete
        self._chunked = chunked
        if self._transport is None or self._lost:
            self._error = UpstreamLost("it closed the connection")
        elif chunked:
            self._transport.write(head)
            for piece in body:
                self.write(piece)
        else:
            self._transport.writelines((head, *body))

    def write(self, piece: bytes) -> None:
        """Send more of a streamed body."""
        if piece and self._transport is not None and not self._lost:
            self.touched_s = self.loop.time()
            if self._chunked:
                self._transport.writelines((b"%x\r\n" % len(piece), piece, b"\r\n"))
            else:
                self._transport.write(piece)

    def end(self) -> None:
        """The streamed body is complete."""
        self._sent = True
        if self._chunked and self._transport is not None and not self._lost:
            self._transport.write(b"0\r\n\r\n")

    async def drain(self) -> None:
        """Wait until the upstream takes more of the body, or the connection is lost."""
        while self._write_paused and not self._lost:
            self._writable = self.loop.create_future()
            await self._writable

    async def answered(self) -> None:
        """Wait for the response's head.

        Raises:
            UpstreamLost: when the connection ends first.
        """
        while self.status == 0:
            if self._error is not None:
                raise self._error
            await self._wait()

    async def piece(self) -> tuple[bytes, bool]:
        """The next bytes of the response's body, and whether they are the last.

        Raises:
            UpstreamLost: when the connection ends before the body does. What came before is given out first.
        """
        while True:
            if self._pieces:
                found = self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)
                self._pieces = []
                self._held = 0
                self._resume_reading()
                return found, self._complete
            if self._complete:
                return b"", True
            if self._error is not None:
                raise self._error
            await self._wait()

    def fail(self, error: BaseException) -> None:
        """End the exchange with `error`, which `answered` or `piece` raises, and close the connection."""
        if not self._complete and self._error is None:
            self._error = error
            self._pieces = []
        self.abort()
        self._wake()

    def finish(self) -> bool:
        """End the exchange; True when the connection can carry another one, else it is closed."""
        self._busy = False
        if self._complete and self._sent and self._keep_alive and not self._lost:
            self._resume_reading()
            return True
        self.abort()
        return False

    def abort(self) -> None:
        """Close at once; what is not sent yet is dropped."""
        self._lost = True
        if self._transport is not None:
            self._transport.abort()

    @property
    def has_begun(self) -> bool:
        """Whether the response's head is there."""
        return self.status != 0

    def is_fresh(self) -> bool:
        """Whether an idle connection still stands: the peer has neither closed it nor sent anything.

        Asks the kernel, since the peer's close may be there before the loop has seen it.
        """
        return not self._lost and not self._poll.poll(0)

    async def _wait(self) -> None:
        self._waiter = self.loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def _resume_reading(self) -> None:
        if self._reading_paused and self._transport is not None and not self._lost:
            self._reading_paused = False
            self._transport.resume_reading()

    # asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one only by its methods
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)

    def data_received(self, data: bytes) -> None:
        if not self._busy or self._complete:
            self._keep_alive = False  # nobody asked for this
            self.abort()
            return
        if self.touched_s:
            self.touched_s = self.loop.time()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade) as error:
            if not self._complete:
                self._error = UpstreamLost(
                    f"it answered with something that is not HTTP/1.1 ({error.__context__ or error})"
                )
            self._keep_alive = False
            self.abort()
        self._wake()

    def eof_received(self) -> bool:
        self._ended()
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended(exc)

    def _ended(self, cause: Exception | None = None) -> None:
        self._lost = True
        if self._busy and not self._complete and self._error is None:
            if self.has_begun and not self._framed and cause is None:
                self._complete = True  # such a body ends with the connection
            else:
                self._error = UpstreamLost(f"it closed the connection ({cause or 'end of stream'})")
        self._wake()
        self.resume_writing()

    def pause_writing(self) -> None:
        self._write_paused = True

    def resume_writing(self) -> None:
        self._write_paused = False
        if self._writable is not None and not self._writable.done():
            self._writable.set_result(None)

    # httptools

    def on_message_begin(self) -> None:
        if self._complete:
            raise UpstreamLost("it answered twice")

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name in _NOT_PASSED_ON:
            if name == b"transfer-encoding":
                self._framed = True
                if value.strip().lower() != b"chunked":
                    raise UpstreamLost(f"its transfer encoding {value[:40]!r} is not chunked")
            return
        if name == b"content-length":
            self._framed = True
        elif name == b"content-type":
            self.content_type = value
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._interim = 100 <= status < 200
        if self._interim or status >= 600:
            if status == 101 or status >= 600:
                raise UpstreamLost(f"it answered with status {status}")
            self.headers = []
            self._framed = False
            return
        self.status = status
        self._keep_alive = self._parser.should_keep_alive()

    def on_body(self, body: bytes) -> None:
        self._pieces.append(body)
        self._held += len(body)
        if self._held > _PAUSE_BYTES and not self._reading_paused and self._transport is not None:
            self._reading_paused = True
            self._transport.pause_reading()

    def on_message_complete(self) -> None:
        if self._interim:
            self._interim = False
        else:
            self._complete = True
