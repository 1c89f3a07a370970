"""The only writer to Ray Serve: brings it to the records, and writes down what it shows."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final, Protocol

from roost.contracts.replica import ReplicaSpec
from roost.errors import RoostError
from roost.reconcile.burst import Burst
from roost.reconcile.desired import Desired, Known, Observation, changed_values
from roost.reconcile.leadership import Leadership, LeaseLost, LedEngine
from roost.reconcile.loop import Loop
from roost.reconcile.put import Putter, ServeEngine, with_refusals
from roost.reconcile.scheduling import Scheduling
from roost.records.database import Database
from roost.records.events import Happening
from roost.services.changes import Changes
from roost.services.clock import Clock
from roost.serving.history import told
from roost.serving.observed import clean_message
from roost.serving.plan import IngressOptions, Plan
from roost.serving.planner import Planner
from roost.serving.state import State, Wanted

_log = logging.getLogger("roost.reconcile")

LEASE: Final = "deployments"

PERIOD_S: Final = 1.0
IN_FLIGHT_S: Final = 0.2
"""From one look at Ray to the next while something is under way: waiters hear of it at the next look."""

LONGEST_SETTLE_S: Final = IN_FLIGHT_S
"""A burst of changes is PUT at once (`Burst`), but what Ray shows is looked at during one, too."""

REST: Final = 3.0
"""While changes come and are held back, Ray is left alone so many times longer than a look took."""

LONGEST_IN_FLIGHT_S: Final = 120.0
"""After this long without a change, what is under way is looked at once a period."""

LONGEST_PAUSE_S: Final = 5.0
"""Between two tries to reach Ray."""

_RESTING: Final = frozenset({"running", "failed", "not_deployed", "paused"})


class EngineSightings(Protocol):
    """Is told whenever Ray was seen or was out of reach."""

    def saw(self, at: datetime) -> None:
        """Ray answered at `at`."""
        ...

    def lost(self, reason: str) -> datetime | None:
        """Ray does not answer; returns when it last did."""
        ...


class Reconciler:
    """Runs in a thread of its own, woken by changes and every second, while it holds the lease.

    Args:
        holder: Names this server among the servers of one database.
        ingress: Where Serve listens when the first PUT starts it.
        scheduling: Makes room and pauses what is idle; None does neither.
        is_routed: Whether the ingress routes a route prefix to a version of the replicas, and to no
            other; Ray may say RUNNING before it does.
        ingress_name: What the ingress is called in messages.
    """

    def __init__(
        self,
        db: Database,
        engine: ServeEngine,
        sightings: EngineSightings,
        changes: Changes,
        clock: Clock,
        *,
        holder: str,
        ingress: IngressOptions,
        scheduling: Scheduling | None = None,
        is_routed: Callable[[str, str], bool] = lambda _route_prefix, _version: True,
        ingress_name: str = "the ingress",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._leadership = Leadership(db, clock, name=LEASE, holder=holder)
        self._desired = Desired(db, self._leadership.check)
        self._engine = LedEngine(engine, self._leadership)
        self._planner = Planner()
        self._putter = Putter(self._engine, ingress)
        self._sightings = sightings
        self._changes = changes
        self._clock = clock
        self._scheduling = scheduling
        self._is_routed = is_routed
        self._not_routed = f"It runs; {ingress_name} does not route all requests to it yet."
        self._monotonic = monotonic
        self._moved_at = monotonic()
        self._misses = 0
        self._put_is_due = False
        self._burst = Burst(monotonic)
        self._rest_until = monotonic()
        self._loop = Loop(self.tick, name="roost-reconciler", longest_settle_s=LONGEST_SETTLE_S)

    def start(self) -> None:
        """Start the thread."""
        self._loop.start()

    def find_leader(self) -> str | None:
        """The holder that leads now, of all servers of these records."""
        return self._leadership.find_leader()

    def wake(self) -> None:
        """The records changed: look at once. From any thread."""
        self._burst.change()
        self._loop.wake()

    def stop(self, timeout_s: float = 5.0) -> None:
        """End after the present round and give the lease back. What runs on Ray goes on."""
        if self._loop.stop(timeout_s):
            self._leadership.release()

    def tick(self) -> float:
        """What the thread does: a round, unless changes come and Ray is to be left alone meanwhile."""
        held_s, rest_s = self._burst.left_s(), self._rest_until - self._monotonic()
        if held_s > 0 and rest_s > 0:
            return min(held_s, rest_s)
        began = self._monotonic()
        try:
            return self.cycle()
        finally:
            now = self._monotonic()
            self._rest_until = now + REST * (now - began)

    def cycle(self) -> float:
        """One round: the records, one look at Ray, what follows. Returns the seconds until the next."""
        if not self._leadership.hold():
            return self._follow()
        try:
            return self._lead()
        except LeaseLost:
            _log.warning("Another server took over in the middle of a round, which ends here")
            return self._follow()

    def _follow(self) -> float:
        """Another server leads: what it PUTs is not known here, that Ray answers it is."""
        self._putter.forget()
        renewed_at = self._leadership.find_renewal()
        if renewed_at is not None:
            self._sightings.saw(renewed_at)
        return PERIOD_S

    def _lead(self) -> float:
        began = self._monotonic()
        known = self._desired.load()
        try:
            details = self._engine.get()
        except RoostError as error:
            return self._out_of_reach(known, error)
        now = self._clock.now()
        self._sightings.saw(now)
        self._leadership.require()  # the look may have taken longer than the lease
        pairs = [(item.wanted, item.state) for item in known if item.wanted and item.state]
        planned = self._planner.plan(pairs, details, now, self._putter.echoes.find_config)
        try:
            states = self._act(known, planned, now)
        except RoostError as error:
            _log.warning("Ray was not brought to the records; it is tried again: %s", error)
            return self._longer_pause_s()
        self._misses = 0
        return min(self._burst.left_s(), IN_FLIGHT_S) if self._put_is_due else self._pause_s(states, began)

    def _act(self, known: list[Known], planned: Plan, now: datetime) -> dict[str, State]:
        """Write first, then PUT: a kill in between is repaired by the next round."""
        generations = {item.wanted.app_name: item.generation for item in known if item.wanted}
        before = {item.key: item.state for item in known if item.state}
        states = self._with_routes(known, before, planned.states, planned.broken)
        states = with_refusals(known, states, self._putter.refused(planned, generations))
        states = self._scheduled(known, states, now)
        self._save(known, before, states, planned.broken, now)
        if planned.needs_put:
            self._moved_at = self._monotonic()
            if self._burst.left_s():
                self._put_is_due = True
                return states
        refusals = self._putter.put(planned, generations)
        if refusals:
            refused = with_refusals(known, states, refusals)
            self._save(known, states, refused, {}, now)
            return refused
        return states

    def _scheduled(self, known: list[Known], states: dict[str, State], now: datetime) -> dict[str, State]:
        """What is to be paused or replaced in place is written now and PUT in the next round, at once."""
        self._put_is_due = False
        if self._scheduling is None:
            return states
        pairs = {
            item.key: (item.wanted, states[item.key]) for item in known if item.wanted and item.key in states
        }
        decided = self._scheduling.decide(pairs, now)
        self._put_is_due = any(
            (state.pause, state.in_place) != (states[key].pause, states[key].in_place)
            for key, state in decided.items()
        )
        return {**states, **decided}

    def _save(
        self,
        known: list[Known],
        before: Mapping[str, State],
        after: Mapping[str, State],
        broken: Mapping[str, Exception],
        now: datetime,
    ) -> None:
        observations = []
        for item in known:
            values: dict[str, Any] = {}
            events: tuple[Happening, ...] = ()
            if item.key in after:
                values = changed_values(before[item.key], after[item.key])
                events = tuple(
                    Happening(kind, item.key, message, data)
                    for kind, message, data in told(before[item.key], after[item.key])
                )
            fault = item.fault or (repr(broken[item.key]) if item.key in broken else "")
            if fault and item.phase != "failed":
                _log.error("deployment %s cannot be planned: %s", item.key, fault)
                reason = clean_message(f"The record cannot be used: {fault}")
                values = {"phase": "failed", "message": reason}
                data = {"phase": "failed", "before": item.phase}
                events = (Happening("phase", item.key, reason, data),)
            if values or item.stale:
                observations.append(Observation(item.key, item.generation, values, events))
        if observations and self._desired.save(observations, now):
            self._moved_at = self._monotonic()
            self._changes.notify()

    def _with_routes(
        self,
        known: list[Known],
        before: Mapping[str, State],
        states: Mapping[str, State],
        broken: dict[str, Exception],
    ) -> dict[str, State]:
        """What has just come up counts as running once callers reach it; which is not known of the broken."""
        result = dict(states)
        for item in known:
            state = states.get(item.key)
            if state is None or item.wanted is None or state.phase != "running":
                continue
            if before[item.key].phase == "running":
                continue
            try:
                route = _route(item.wanted)
            except (KeyError, ValueError) as error:
                broken[item.key] = error
                del result[item.key]
                continue
            self._leadership.require()  # each may take seconds to answer
            if not self._is_routed(*route):
                pause = before[item.key].pause
                result[item.key] = replace(state, phase="deploying", pause=pause, message=self._not_routed)
        return result

    def _out_of_reach(self, known: list[Known], error: RoostError) -> float:
        last_seen = self._sightings.lost(str(error))
        if self._misses == 0:
            # Before Ray was ever seen it is only starting, which is nothing to warn of.
            level = logging.INFO if last_seen is None else logging.WARNING
            _log.log(level, "Ray is out of reach: %s", error.message)
        if any(not item.stale for item in known) and self._desired.mark_stale(last_seen):
            self._changes.notify()
        return self._longer_pause_s()

    def _longer_pause_s(self) -> float:
        self._misses += 1
        return min(LONGEST_PAUSE_S, PERIOD_S * 2.0 ** min(self._misses - 1, 8))

    def _pause_s(self, states: Mapping[str, State], began: float) -> float:
        in_flight = any(state.phase not in _RESTING or state.step == "clear" for state in states.values())
        if in_flight and self._monotonic() - self._moved_at < LONGEST_IN_FLIGHT_S:
            took_s = self._monotonic() - began
            # Ray is asked no more than half of the time.
            return max(IN_FLIGHT_S - took_s, min(took_s, IN_FLIGHT_S))
        return PERIOD_S


def _route(wanted: Wanted) -> tuple[str, str]:
    """Route prefix and version of the replicas that are wanted."""
    # Read and written again, so that a record of an older version names what its replicas call themselves.
    return wanted.application["route_prefix"], ReplicaSpec.model_validate(wanted.application["args"]).version
