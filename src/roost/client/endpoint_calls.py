"""Calls of a deployment with endpoints, at its own URL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from roost.client.call import Call
from roost.contracts.endpoint import Endpoint
from roost.contracts.endpoint_document import read_document

Endpoints = Mapping[str, Endpoint]


def describe(*, timeout_s: float | None = None) -> Call[Endpoints]:
    """`GET /openapi.json`: the endpoints, with values of any type."""
    return Call("GET", "/openapi.json", read_document, timeout_s=timeout_s)


def invoke(
    endpoint: Endpoint, given: Sequence[Any], named: Mapping[str, Any], *, timeout_s: float | None = None
) -> Call[Any]:
    """`POST /{endpoint}`.

    Raises:
        ValidationFailed: when the arguments do not fit its parameters.
    """
    return Call(
        "POST",
        f"/{quote(endpoint.name, safe='')}",
        endpoint.load_result,
        content=endpoint.dump_arguments(given, named),
        timeout_s=timeout_s,
    )


def find_endpoint(endpoints: Endpoints, name: str) -> Endpoint:
    """The endpoint that a client's attribute names.

    Raises:
        AttributeError: when there is none.
    """
    endpoint = endpoints.get(name)
    if endpoint is None:
        raise AttributeError(f"There is no endpoint {name!r}; there are {', '.join(map(repr, endpoints))}.")
    return endpoint


def as_method(function: Any, endpoint: Endpoint) -> Any:
    """`function` with the endpoint's name, text and signature, for `help()`."""
    function.__name__ = function.__qualname__ = endpoint.name
    function.__doc__ = endpoint.doc or None
    function.__signature__ = endpoint.signature
    return function
