"""Small GETs from a deployment, over the same connections as inference."""

from __future__ import annotations

import asyncio

from roost.gateway.headers import request_line
from roost.gateway.pool import Origin, UpstreamPool
from roost.gateway.upstream import UpstreamLost

_MAX_BYTES = 1024 * 1024


async def find_json(pool: UpstreamPool, url: str, path: str, *, timeout_s: float) -> bytes | None:
    """The body of a 200 answer to GET `path` below `url`, at most 1 MiB; None for anything else."""
    origin = Origin.of(url)
    try:
        async with asyncio.timeout(timeout_s):
            upstream = pool.take(origin) or await pool.connect(origin)
            try:
                upstream.start(request_line("GET", url, path) + b"\r\n", (), complete=True)
                await upstream.answered()
                body, last = b"", False
                while not last and len(body) <= _MAX_BYTES:
                    piece, last = await upstream.piece()
                    body += piece
            finally:
                pool.release(origin, upstream)
    except (OSError, UpstreamLost):
        return None
    return body if last and len(body) <= _MAX_BYTES and upstream.status == 200 else None
