"""Work that is only done for a caller who is still there."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from roost.asgi.body import ClientGone
from roost.asgi.types import Receive


async def while_present(receive: Receive, work: Coroutine[Any, Any, None]) -> None:
    """Run `work`, and cancel it when the caller leaves; it has ended when this returns or raises.

    The request's body has to be read already.

    Raises:
        ClientGone: when the caller left.
        Exception: what `work` raised.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_leave(receive))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.wait({working, leaving})


async def _leave(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
