"""Plans cycle after cycle, and does again only what something new asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from operator import is_
from typing import Any

from roost.serving.observed import ObservedApp, Observer
from roost.serving.plan import FindConfig, Plan, plan
from roost.serving.state import State, Wanted
from roost.serving.transition import Moved, move

_Asked = tuple[Wanted, State, ObservedApp | None, dict[str, Any] | None]


class Planner:
    """As `parse_serve`, then `plan`. What is the same object as in the cycle before costs next to nothing."""

    def __init__(self) -> None:
        self._observer = Observer()
        self._settled: dict[str, tuple[_Asked, Moved]] = {}

    def plan(
        self,
        records: Iterable[tuple[Wanted, State]],
        details: Mapping[str, Any],
        now: datetime,
        find_config: FindConfig,
    ) -> Plan:
        """Decide one cycle from Ray's own details. A state that does not change is the same object."""
        before, settled = self._settled, dict[str, tuple[_Asked, Moved]]()

        def decide(
            wanted: Wanted,
            state: State,
            app: ObservedApp | None,
            config: dict[str, Any] | None,
            now: datetime,
        ) -> Moved:
            asked = wanted, state, app, config
            known = before.get(wanted.key)
            if known is not None and all(map(is_, known[0], asked)):
                settled[wanted.key] = known
                return known[1]
            moved = move(wanted, state, app, config, now)
            if moved.state != state:
                return moved
            moved = Moved(state, moved.application)
            # Of what is recorded, `move` compares only `retry_at` with the time.
            if state.retry_at is None:
                settled[wanted.key] = asked, moved
            return moved

        planned = plan(records, self._observer.parse(details), now, find_config, decide)
        self._settled = settled
        return planned
