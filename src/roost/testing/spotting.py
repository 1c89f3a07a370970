"""Steady detection requests to one deployment, by both routes; its model says in its classes who answers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import httpx2

from roost.contracts.deployment import Deployment
from roost.testing.request_loop import Failure, RequestLoop

ROUTE: Final = "/v1/inference/detection"
_PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@dataclass(frozen=True, slots=True)
class Spotting:
    """Requests to the deployment's own URL, and the same through the gateway."""

    own: RequestLoop
    gateway: RequestLoop

    @property
    def failures(self) -> list[Failure]:
        """Of both."""
        return [*self.own.failures, *self.gateway.failures]

    @property
    def answered(self) -> set[str]:
        """Who answered either."""
        return {*self.own.answers, *self.gateway.answers}


def detection_body(model: str) -> dict[str, Any]:
    """A request with a picture of one pixel."""
    return {"model": model, "image": _PIXEL}


def said(answer: httpx2.Response) -> str:
    """The classes of an answer, in one line."""
    return " ".join(answer.json()["data"]["classes"])


@contextmanager
def spotting(deployment: Deployment, server_url: str, *, timeout_s: float = 60.0) -> Iterator[Spotting]:
    """Ask both routes until the block ends."""
    body = detection_body(deployment.name)
    with (
        RequestLoop(f"{deployment.url}{ROUTE}", body, who=said, timeout_s=timeout_s) as own,
        RequestLoop(f"{server_url}{ROUTE}", body, who=said, timeout_s=timeout_s) as gateway,
    ):
        yield Spotting(own, gateway)
