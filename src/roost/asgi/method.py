"""Which method a route answers."""

from __future__ import annotations

from roost.asgi.types import Scope
from roost.errors import MethodNotAllowed


def require_method(scope: Scope, path: str, method: str) -> None:
    """Let a request of this method pass.

    Args:
        path: The route, as the caller is told it.

    Raises:
        MethodNotAllowed: naming the method that the route answers.
    """
    if scope["method"] != method:
        raise MethodNotAllowed(f"{path!r} does not answer {scope['method']}.", hint=f"Use {method}.")
