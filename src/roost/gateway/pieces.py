"""The part of a request's body that has been read so far."""

from __future__ import annotations

from roost.asgi.body import ClientGone
from roost.asgi.types import Receive


class Pieces:
    """Collects a body's pieces.

    Attributes:
        chunks: What was read, in order.
        size: Bytes read.
        more: Whether the body goes on.
    """

    __slots__ = ("chunks", "more", "size")

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.size = 0
        self.more = True

    async def read(self, receive: Receive) -> bytes:
        """Read one piece more.

        Raises:
            ClientGone: when the caller has left.
        """
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        piece: bytes = message.get("body", b"")
        self.more = message.get("more_body", False)
        self.size += len(piece)
        self.chunks.append(piece)
        return piece

    def joined(self) -> bytes:
        """All that was read, as one."""
        if len(self.chunks) != 1:
            self.chunks = [b"".join(self.chunks)]
        return self.chunks[0]
