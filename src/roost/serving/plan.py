"""From all records, one look at Ray and the time to what is recorded and what is PUT."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from roost.serving.observed import ObservedApp, ObservedServe
from roost.serving.state import State, Wanted
from roost.serving.transition import Moved, move

Move = Callable[[Wanted, State, ObservedApp | None, dict[str, Any] | None, datetime], Moved]

FindConfig = Callable[[str, dict[str, Any] | None], dict[str, Any] | None]
"""The application Ray holds under a name, in our own terms: see `Echoes`."""


@dataclass(frozen=True, slots=True)
class IngressOptions:
    """Where Serve listens when the first PUT starts it; a Serve that runs keeps its own."""

    http_options: dict[str, Any] = field(default_factory=dict)
    proxy_location: str = "HeadOnly"


@dataclass(frozen=True, slots=True)
class Plan:
    """What one cycle does.

    Attributes:
        states: The next state of each record, by key; also of those that do not change.
        applications: What is wanted in Ray, by application name.
        changed: Names whose application is to be added or replaced, sorted.
        removed: Names that Ray still holds and that are not wanted, sorted.
        passed: Applications that are PUT as Ray has them: strangers' and those of broken records.
        broken: Records that could not be planned, by key; they neither move nor stop others.
    """

    states: dict[str, State]
    applications: dict[str, dict[str, Any]]
    changed: list[str]
    removed: list[str]
    passed: dict[str, dict[str, Any]]
    broken: dict[str, Exception]
    observed: ObservedServe

    @property
    def needs_put(self) -> bool:
        """Whether Ray holds anything else than is wanted."""
        return bool(self.changed or self.removed)

    def body(self, ingress: IngressOptions, without: Iterable[str] = ()) -> dict[str, Any]:
        """The whole set to PUT. The changed applications named in `without` stay as Ray has them."""
        applications = {**self.passed, **self.applications}
        for name in without:
            del applications[name]
            app = self.observed.apps.get(name)
            if app is not None and app.config is not None:
                applications[name] = app.config
        body: dict[str, Any] = {
            "proxy_location": self.observed.proxy_location or ingress.proxy_location,
            "http_options": self.observed.http_options or ingress.http_options,
            "applications": [applications[name] for name in sorted(applications)],
        }
        if self.observed.target_capacity is not None:
            body["target_capacity"] = self.observed.target_capacity
        return body


def plan(
    records: Iterable[tuple[Wanted, State]],
    observed: ObservedServe,
    now: datetime,
    find_config: FindConfig = lambda _name, config: config,
    decide: Move = move,
) -> Plan:
    """Decide one cycle. Records that Ray may hold must all be given: what is not is a stranger's."""
    states: dict[str, State] = {}
    applications: dict[str, dict[str, Any]] = {}
    broken: dict[str, Exception] = {}
    settled: set[str] = set()
    held = {name: find_config(name, app.config) for name, app in observed.apps.items()}
    for wanted, state in records:
        try:
            moved = decide(wanted, state, observed.apps.get(wanted.app_name), held.get(wanted.app_name), now)
        except Exception as error:  # noqa: BLE001  # whatever one record holds, the others are served
            broken[wanted.key] = error
            continue
        settled.add(wanted.app_name)
        states[wanted.key] = moved.state
        if moved.application is not None:
            applications[wanted.app_name] = moved.application
    configs = {name: app.config for name, app in observed.apps.items() if app.config is not None}
    return Plan(
        states=states,
        applications=applications,
        changed=sorted(name for name, app in applications.items() if held.get(name) != app),
        removed=sorted(name for name in configs if name in settled and name not in applications),
        passed={name: config for name, config in configs.items() if name not in settled},
        broken=broken,
        observed=observed,
    )


class Echoes:
    """What Ray answers for what it was given.

    Ray 2.60 repeats an application exactly. Should another version write it differently (a default
    filled in), its first answer after a PUT counts as what was PUT, so that nothing is PUT for ever.
    """

    def __init__(self) -> None:
        self._given: dict[str, dict[str, Any]] = {}
        self._echoed: dict[str, dict[str, Any]] = {}
        self._found: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}

    def gave(self, applications: Mapping[str, dict[str, Any]]) -> None:
        """Remember what was just PUT."""
        for name, app in applications.items():
            if self._given.get(name) != app:
                self._given[name] = app
                self._echoed.pop(name, None)
                self._found.pop(name, None)

    def find_config(self, name: str, config: dict[str, Any] | None) -> dict[str, Any] | None:
        """The application as it was given when `config` is Ray's answer to it, else `config`."""
        given = self._given.get(name)
        if config is None or given is None:
            return config
        asked, found = self._found.get(name, (None, config))
        if asked is not config:  # the very same answer is not compared again
            found = given if self._echoed.setdefault(name, config) == config else config
            self._found[name] = config, found
        return found
