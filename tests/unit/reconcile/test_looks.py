"""How often Ray is looked at while many changes come."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.fixture
def slow(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A look takes 100 ms, and one was just taken. While it is `busy`, changes come during a look, too."""
    get = house.ray.get
    house.busy = False

    def slow_get() -> Any:
        house.clock.advance(0.1)
        if house.busy:
            house.reconciler.wake()
        return get()

    monkeypatch.setattr(house.ray, "get", slow_get)
    house.deploy("a")
    house.reconciler.wake()
    house.reconciler.tick()
    assert (house.ray.gets, len(house.ray.puts)) == (1, 1)
    return house


def test_a_burst_leaves_ray_alone_longer_than_a_look_took(slow: Any) -> None:
    for after_s in (0.0, 0.04, 0.04):
        slow.clock.advance(after_s)
        slow.deploy(f"b{slow.clock.now().microsecond}")
        slow.reconciler.wake()
        assert 0 < slow.reconciler.tick() <= 0.05
    assert (slow.ray.gets, len(slow.ray.puts)) == (1, 1)
    slow.clock.advance(0.06)
    slow.reconciler.tick()
    assert (slow.ray.gets, len(slow.ray.puts)) == (2, 2)
    assert len(slow.ray.puts[-1]["applications"]) == 4


def test_in_a_long_burst_ray_is_looked_at_all_the_same(slow: Any) -> None:
    slow.busy = True
    for number in range(20):
        slow.clock.advance(0.04)
        slow.deploy(f"b{number}")
        slow.reconciler.wake()
        slow.reconciler.tick()
    assert (slow.ray.gets, len(slow.ray.puts)) == (3, 1)


def test_without_a_burst_no_look_is_left_out(slow: Any) -> None:
    for _ in range(3):
        slow.reconciler.tick()
    assert slow.ray.gets == 4
