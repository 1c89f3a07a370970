"""Puts what is planned to Ray, so that one application it refuses does not keep out the others."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from roost.errors import EngineUnavailable, RoostError
from roost.reconcile.desired import Known
from roost.serving.observed import clean_message
from roost.serving.plan import Echoes, IngressOptions, Plan
from roost.serving.state import State

_log = logging.getLogger("roost.reconcile")


class ServeEngine(Protocol):
    """Ray Serve's declarative interface.

    Both raise EngineUnavailable when Ray does not answer, and another RoostError when it refuses.
    """

    def get(self) -> dict[str, Any]:
        """The details of all applications."""
        ...

    def put(self, body: dict[str, Any]) -> None:
        """Replace the whole set of applications."""
        ...


class Putter:
    """PUTs plans and remembers what Ray refused, so as not to offer it again every second."""

    def __init__(self, engine: ServeEngine, ingress: IngressOptions) -> None:
        self.echoes = Echoes()
        self._engine = engine
        self._ingress = ingress
        self._refused: dict[str, tuple[int, str]] = {}

    def refused(self, planned: Plan, generations: Mapping[str, int]) -> dict[str, str]:
        """Why Ray refuses changed applications that it was offered before at the same generation."""
        self._refused = {
            name: refusal for name, refusal in self._refused.items() if generations.get(name) == refusal[0]
        }
        return {name: self._refused[name][1] for name in planned.changed if name in self._refused}

    def forget(self) -> None:
        """Another server PUTs now: what was given before and what was refused says nothing any more."""
        self.echoes = Echoes()
        self._refused = {}

    def put(self, planned: Plan, generations: Mapping[str, int]) -> dict[str, str]:
        """PUT the plan when Ray holds anything else; the reasons of what is newly refused, by name.

        Raises:
            EngineUnavailable: when Ray does not answer.
            RoostError: when it refuses even the set without any change.
        """
        held_back = self.refused(planned, generations)
        offered = [name for name in planned.changed if name not in held_back]
        if not offered and not planned.removed:
            return {}
        try:
            self._put(planned, held_back)
        except EngineUnavailable:
            raise
        except RoostError as error:
            _log.warning("Ray refused a set of applications; each change is offered by itself: %s", error)
            refusals = self._put_one_by_one(planned, held_back, offered)
            self._refused.update({name: (generations[name], reason) for name, reason in refusals.items()})
            return refusals
        return {}

    def _put_one_by_one(self, planned: Plan, held_back: Iterable[str], offered: list[str]) -> dict[str, str]:
        out = {*held_back, *offered}
        self._put(planned, out)
        refusals: dict[str, str] = {}
        for name in offered:
            try:
                self._put(planned, out - {name})
            except EngineUnavailable:
                raise
            except RoostError as error:
                refusals[name] = clean_message(error.message)
            else:
                out.remove(name)
        return refusals

    def _put(self, planned: Plan, without: Iterable[str]) -> None:
        left_out = set(without)
        self._engine.put(planned.body(self._ingress, left_out))
        self.echoes.gave({name: app for name, app in planned.applications.items() if name not in left_out})


def with_refusals(
    known: Sequence[Known], states: Mapping[str, State], refusals: Mapping[str, str]
) -> dict[str, State]:
    """The states, where what Ray refuses has failed with its reason; by key."""
    result = dict(states)
    for item in known:
        reason = refusals.get(item.wanted.app_name) if item.wanted else None
        if reason is not None and item.key in result:
            result[item.key] = replace(
                result[item.key],
                phase="failed",
                message=f"Ray refused the application: {reason}",
                observed_generation=item.generation,
            )
    return result
