"""Where requests go: from a model's name to its deployment's URL, in memory."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from roost.errors import ModelNotDeployed, RoostError, Unavailable, WrongCapability
from roost.keys import DeploymentKey
from roost.records.database import Database
from roost.records.deployments import DeploymentRow, list_active_versions, list_by_key
from roost.services.changes import Changes
from roost.services.deployment_rows import serves
from roost.serving.shortage import waits_for_a_node

_log = logging.getLogger("roost.routes")

RELOAD_S: Final = 1.0
RETRY_AFTER_S: Final = 2.0
_MAX_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Route:
    """One deployment that callers can name.

    Attributes:
        url: The deployment's own URL.
        capability: None for a serve-app.
        timeout_s: Longest time a request may take.
        answers: Whether a replica can take a request now, or Ray holds it until one can.
        holds: Whether Ray may be holding requests beyond their time: it is paused, woken by one, or replaced
            in place.
        lacks: What no node has that a replica needs; empty while one may start. A node may come, so Ray holds
            requests all the same, but no longer than their own time.
        ray_status: Ray's status of the application; `NOT_STARTED` when Ray has none.
    """

    name: str
    key: DeploymentKey
    url: str
    capability: str | None
    phase: str
    timeout_s: float
    answers: bool = True
    holds: bool = False
    lacks: str = ""
    ray_status: str = "RUNNING"


class RouteTable:
    """All live deployments by name and by key. It is replaced as a whole, so that readers need no lock.

    Args:
        serve_url: Address of Ray Serve's HTTP ingress, without a trailing slash.
    """

    def __init__(self, db: Database, changes: Changes, *, serve_url: str) -> None:
        self._db = db
        self._changes = changes
        self._serve_url = serve_url
        self._versions: dict[str, int] = {}
        self._by_key: dict[str, Route | None] = {}
        self._routes: dict[str, Route] = {}
        self._reloading = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def resolve(self, model: str, capability: str) -> Route:
        """The route of a deployment's name or full key.

        Raises:
            ModelNotDeployed: for an unknown name, listing close ones.
            WrongCapability: naming the right one.
            Unavailable: while no replica can take a request.
        """
        route = self._routes.get(model)
        if route is None:
            raise self._unknown(model)
        if route.capability != capability:
            raise _wrong_capability(route, capability)
        if not route.answers:
            raise _unavailable(route)
        return route

    def holds(self, key: DeploymentKey) -> bool:
        """Whether Ray may be holding requests to a deployment until a replica is up."""
        route = self._routes.get(str(key))
        return route is not None and route.holds

    def find_lack(self, key: DeploymentKey) -> str:
        """What no node has that a replica of a deployment needs; empty while one may start, or runs."""
        route = self._routes.get(str(key))
        return route.lacks if route is not None else ""

    def snapshot(self) -> list[Route]:
        """All routes, ordered by name."""
        routes = self._routes
        return sorted(set(routes.values()), key=lambda route: route.name)

    def start(self) -> None:
        """Load the table, then keep it fresh: at each change before others hear of it, and every second."""
        self.reload()
        self._changes.first(self._reload_if_possible)
        self._thread = threading.Thread(target=self._follow, name="roost-routes", daemon=True)
        self._thread.start()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End the thread; the table stays as it is."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout_s)

    def reload(self) -> None:
        """Read the records that changed since the last time; one light query when none did."""
        with self._reloading:
            with self._db.read() as session:
                versions = list_active_versions(session)
                if versions == self._versions:
                    return
                changed = [key for key, version in versions.items() if self._versions.get(key) != version]
                rows = {row.key: row for row in list_by_key(session, changed)}
            self._by_key = {
                key: _find_route(rows[key], self._serve_url) if key in rows else self._by_key.get(key)
                for key in versions
            }
            self._versions = versions
            self._routes = _table(self._by_key)

    def _follow(self) -> None:
        """Of changes that another server made nobody tells."""
        while not self._stopping.wait(RELOAD_S):
            self._reload_if_possible()

    def _reload_if_possible(self) -> None:
        try:
            self.reload()
        except RoostError as error:  # the records are out of reach: the last table serves on
            _log.warning("The routes could not be read again: %s", error)

    def _unknown(self, model: str) -> ModelNotDeployed:
        known = sorted({route.name for route in self._routes.values()})
        close = get_close_matches(model[:_MAX_SHOWN], known, n=3, cutoff=0.7)
        if close:
            hint = f"Did you mean {' or '.join(repr(name) for name in close)}?"
        elif known:
            hint = f"Deployed are {', '.join(known[:10])}{' and others' if len(known) > 10 else ''}."
        else:
            hint = "Nothing is deployed; deploy it with roost deploy or roost.deploy_model."
        return ModelNotDeployed(f"no model {model[:_MAX_SHOWN]!r} is deployed.", hint=hint)


def _table(routes: Mapping[str, Route | None]) -> dict[str, Route]:
    table: dict[str, Route] = {}
    for key, route in routes.items():
        if route is not None:
            table[key] = table[route.name] = route
    return table


def _find_route(row: DeploymentRow, serve_url: str) -> Route | None:
    if not row.present:
        return None
    try:
        key = row.deployment_key
    except RoostError as error:  # one bad record must not close the others' routes
        _log.error("deployment %r has no route: %s", row.key, error)
        return None
    lacks = row.message if not serves(row) and waits_for_a_node(row.message) else ""
    held = _holds(row)
    return Route(
        name=row.name,
        key=key,
        url=serve_url + key.route_prefix,
        capability=row.capability,
        phase=row.phase,
        timeout_s=row.timeout_s,
        answers=held or serves(row) or _is_replaced(row),
        holds=held and not lacks,
        lacks=lacks,
        ray_status=row.ray_status,
    )


def _holds(row: DeploymentRow) -> bool:
    if row.phase == "paused" or row.pause == "waking":
        return True
    # Where load decides, Ray puts to sleep and wakes by itself.
    sleeps = row.autoscaling is not None and row.autoscaling.get("min_replicas") == 0
    seen = row.observed_generation == row.generation and row.failures == 0
    return row.phase == "deploying" and row.step == "apply" and (row.in_place or (sleeps and seen))


def _is_replaced(row: DeploymentRow) -> bool:
    """Whether its last replica has died and Ray starts another: meanwhile Ray's own proxy holds requests."""
    return row.phase == "unhealthy" and row.step == "apply" and row.observed_generation == row.generation


def _wrong_capability(route: Route, capability: str) -> WrongCapability:
    if route.capability is None:
        return WrongCapability(
            f"{route.name!r} is an app of its own and does not serve {capability!r}.",
            hint=f"Call it at {route.url}",
        )
    return WrongCapability(
        f"{route.name!r} serves {route.capability!r}, not {capability!r}.",
        hint=f"POST to /v1/inference/{route.capability} instead.",
    )


def _unavailable(route: Route) -> Unavailable:
    if route.lacks:
        hint = f"{route.lacks} Join a node that has it (`roost node`)."
    elif route.phase == "failed":
        hint = f"`roost logs {route.key}` shows why; deploy it again when that is mended."
    else:
        hint = "Try again in a moment."
    return Unavailable(
        f"{route.name!r} cannot answer now: it is {route.phase}.", hint=hint, retry_after_s=RETRY_AFTER_S
    )
