"""The first app of a bare Ray: answers nothing of interest."""

from __future__ import annotations

from typing import Any

from ray import serve


@serve.deployment
class First:
    """A Serve app."""

    async def __call__(self, _request: Any) -> str:
        """An answer."""
        return "ok"


def build(_args: dict[str, Any]) -> serve.Application:
    """The application."""
    return First.bind()
