"""What the gateway needs to know of deployments and capabilities; the owners satisfy it by shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from roost.keys import DeploymentKey


class RouteView(Protocol):
    """One deployment as callers reach it.

    `timeout_s` is the longest time one request may take; `ray_status` is Ray's application status.
    """

    @property
    def name(self) -> str: ...
    @property
    def key(self) -> DeploymentKey: ...
    @property
    def url(self) -> str: ...
    @property
    def capability(self) -> str | None: ...
    @property
    def phase(self) -> str: ...
    @property
    def timeout_s(self) -> float: ...
    @property
    def ray_status(self) -> str: ...


class Routes(Protocol):
    """Names to deployments, in memory."""

    def resolve(self, model: str, capability: str) -> RouteView:
        """The deployment with this name or full key, when it can answer.

        Raises:
            ModelNotDeployed: listing close names.
            WrongCapability: naming the right one.
            Unavailable: when its phase is not one that can answer.
        """
        ...

    def snapshot(self) -> Sequence[RouteView]:
        """All deployments, ordered by name."""
        ...


class CapabilityView(Protocol):
    """One row of the capability table, as far as routes and their description need it."""

    @property
    def name(self) -> str: ...
    @property
    def request_type(self) -> type[Any]: ...
    @property
    def response_type(self) -> type[Any]: ...
    @property
    def upload_field(self) -> str | None: ...
    @property
    def upload_many(self) -> bool: ...
    @property
    def example(self) -> dict[str, Any]: ...
