"""The leader collects garbage once an hour."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.reconcile.garbage import FIRST_S, PERIOD_S, GarbageLoop
from roost.records.leases import take_lease
from roost.services.garbage_turn import LEASE
from roost.testing.small_registry import DAY_S, SmallRegistry


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[SmallRegistry]:
    registry = SmallRegistry(tmp_path, "memory:///")
    registry.upload("a")
    registry.clock.advance(DAY_S)
    yield registry
    registry.close()


def test_not_right_after_the_start_and_then_every_hour(registry: SmallRegistry) -> None:
    loop = GarbageLoop(registry.garbage, leads=lambda: True)
    assert loop.cycle() == FIRST_S
    assert registry.trashed() == set()
    assert loop.cycle() == PERIOD_S
    assert len(registry.trashed()) == 2
    registry.clock.advance(DAY_S)
    assert loop.cycle() == PERIOD_S
    assert registry.trashed() == registry.stored() == set()


def test_only_the_leader_collects(registry: SmallRegistry) -> None:
    loop = GarbageLoop(registry.garbage, leads=lambda: False)
    assert [loop.cycle(), loop.cycle()] == [FIRST_S, PERIOD_S]
    assert registry.trashed() == set()


def test_a_run_that_somebody_asked_for_is_left_alone(registry: SmallRegistry) -> None:
    with registry.db.write() as session:
        take_lease(session, LEASE, "another/1", now=registry.clock.now(), lease_s=60)
    loop = GarbageLoop(registry.garbage, leads=lambda: True)
    assert [loop.cycle(), loop.cycle()] == [FIRST_S, PERIOD_S]
    assert registry.trashed() == set()


def test_it_starts_and_stops(registry: SmallRegistry) -> None:
    loop = GarbageLoop(registry.garbage, leads=lambda: True)
    loop.start()
    loop.stop()
    assert registry.trashed() == set()
