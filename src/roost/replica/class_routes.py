"""Gives routes that are methods of a class the one instance that serves them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from types import MethodType
from typing import Any

from fastapi.routing import APIRoute, APIWebSocketRoute
from starlette.routing import BaseRoute, Route, WebSocketRoute

_API_ROUTE_ARGUMENTS = tuple(inspect.signature(APIRoute.__init__).parameters)[3:]
_API_WEBSOCKET_ARGUMENTS = tuple(inspect.signature(APIWebSocketRoute.__init__).parameters)[3:]


def bind_routes(app: object, instance: object) -> None:
    """Bind every route of `app` that is a method of `instance`'s class to `instance`.

    FastAPI reads an endpoint's parameters when its route is made, while `self` still is one of
    them; so each such route is made again, in place, around the bound method. Sub-routers and
    mounted apps are followed. To be called once, before the app has answered anything.
    """
    for route in _routes_of(app):
        endpoint = getattr(route, "endpoint", None)
        bound = None if endpoint is None else _bound(endpoint, instance)
        if bound is not None:
            _remake(route, bound)


def _routes_of(app: object) -> Iterator[BaseRoute]:
    seen: set[int] = set()

    def walk(routes: Iterable[BaseRoute]) -> Iterator[BaseRoute]:
        for route in routes:
            if id(route) in seen:
                continue
            seen.add(id(route))
            yield route
            # FastAPI keeps an included router as one node; Starlette has `routes` on mounts and hosts.
            inner = getattr(route, "original_router", route)
            yield from walk(getattr(inner, "routes", None) or ())

    yield from walk(getattr(app, "routes", None) or ())


def _bound(endpoint: Callable[..., Any], instance: object) -> Callable[..., Any] | None:
    """`endpoint` as a method of `instance`; None when it is not a method of its class.

    A subclass that overrides the method is served by its own.
    """
    qualname = getattr(endpoint, "__qualname__", None)
    name = getattr(endpoint, "__name__", None)
    if qualname is None or name is None or inspect.ismethod(endpoint):
        return None
    classes = type(instance).__mro__
    for owner in classes:
        if qualname != f"{owner.__qualname__}.{name}" or endpoint.__module__ != owner.__module__:
            continue
        definer = next((cls for cls in classes if name in vars(cls)), owner)
        attribute = vars(definer).get(name)
        if isinstance(attribute, staticmethod):
            return None
        if isinstance(attribute, classmethod):
            return MethodType(endpoint, type(instance))
        if definer is not owner:
            overriding: Callable[..., Any] = getattr(instance, name)
            return overriding
        return MethodType(endpoint, instance)
    return None


def _remake(route: BaseRoute, endpoint: Callable[..., Any]) -> None:
    if isinstance(route, APIRoute):
        arguments = {name: getattr(route, name) for name in _API_ROUTE_ARGUMENTS}
        if route.stream_item_type is not None:
            # It was inferred from the return annotation, and is only inferred without a model.
            del arguments["response_model"]
        APIRoute.__init__(route, route.path, endpoint, **arguments)
    elif isinstance(route, APIWebSocketRoute):
        arguments = {name: getattr(route, name, None) for name in _API_WEBSOCKET_ARGUMENTS}
        APIWebSocketRoute.__init__(route, route.path, endpoint, **arguments)
    elif isinstance(route, Route):
        Route.__init__(
            route,
            route.path,
            endpoint,
            methods=list(route.methods or ()) or None,
            name=route.name,
            include_in_schema=route.include_in_schema,
        )
    elif isinstance(route, WebSocketRoute):
        WebSocketRoute.__init__(route, route.path, endpoint, name=route.name)
