"""Waiting for room and making it, round by round."""

from __future__ import annotations

from typing import Any

from roost.serving.usage import Usage

A, B = "f__s__a", "f__s__b"
WHY = "Paused to make room for f/s/b; the next request wakes it."
WOKEN = "A request woke it."


class TestWaiting:
    def test_it_says_what_is_needed_and_what_there_is(self, house: Any) -> None:
        house.ray.used_gib = 8
        house.waiting("b", ram_gb=6)
        assert (house.show("b").phase, house.show("b").message) == (
            "deploying",
            "Waits for room: one replica needs 0.1 CPUs, 6 GiB of memory; no node has it free "
            "(largest: 'node-one' with 8 CPUs, 2 GiB of memory).",
        )
        version = house.show("b").version
        for _ in range(5):
            house.cycle(after_s=0.2)
        assert house.show("b").version == version

    def test_ray_is_asked_after_a_second_and_once_a_second(self, house: Any) -> None:
        house.ray.used_gib = 8
        house.deploy("b", ram_gb=6)
        house.cycle()
        house.ray.wait(B)
        looks = []
        for _ in range(20):
            house.cycle(after_s=0.2)
            looks.append(house.ray.looks)
        assert looks == [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5

    def test_a_replica_that_is_just_coming_up_does_not_wait(self, house: Any) -> None:
        house.running("a", ram_gb=6)
        house.ray.used_gib = 10
        house.deploy("b", ram_gb=6)
        house.cycle()
        house.ray.wait(B)
        house.ray.placed = {"r2"}
        for _ in range(5):
            house.cycle(after_s=1)
        assert (house.show("a").phase, house.show("b").message, house.ray.looks) == ("running", "", 0)

    def test_where_there_is_room_nobody_is_asked_or_paused(self, house: Any) -> None:
        house.running("a", ram_gb=2)
        house.ray.used_gib = 2
        house.waiting("b", ram_gb=6)
        assert (house.show("a").phase, house.show("b").message, house.ray.asked) == ("running", "", [])

    def test_a_ray_that_does_not_say_what_is_free_changes_nothing(self, house: Any) -> None:
        house.ray.used_gib = 8
        house.waiting("b", ram_gb=6)
        message = house.show("b").message
        get = house.ray.get

        def then_away() -> dict[str, Any]:
            details: dict[str, Any] = get()
            house.ray.away = True
            return details

        house.ray.get = then_away
        assert house.cycle(after_s=1.1) == 0.2
        assert (house.show("b").message, house.show("b").stale) == (message, False)


class TestMakingRoom:
    def test_the_idle_one_is_paused_at_once_and_nothing_else_while_it_drains(self, house: Any) -> None:
        house.running("a", ram_gb=6)
        house.running("c", ram_gb=3)
        house.ray.used_gib = 9
        house.clock.advance(100)
        house.deploy("b", ram_gb=6)
        house.cycle()
        house.ray.wait(B)
        house.cycle()
        assert house.cycle(after_s=1.1) == 0.0
        assert (house.show("a").phase, house.show("a").message) == ("paused", WHY)
        house.cycle()
        assert house.scale_of(A) == (0, 1, 0)
        house.ray.stop(A)
        for _ in range(10):
            house.cycle(after_s=1)
        assert house.show("b").message == (
            "Waits for room: one replica needs 0.1 CPUs, 6 GiB of memory; it is being made on 'node-one'."
        )
        assert (house.show("a").phase, house.show("c").phase) == ("paused", "running")
        house.ray.sleep(A)
        house.ray.used_gib = 3
        house.ray.run(B)
        house.cycle()
        assert (house.show("b").phase, house.show("b").message) == ("running", "")
        assert [event for event in house.told("a") if event[1] == WHY] == [("paused", WHY)]

    def test_the_wake_swaps_them_back(self, house: Any) -> None:
        house.swapped()
        house.clock.advance(5)
        house.ray.wait(A, status="RUNNING")
        house.cycle()
        assert (house.show("a").phase, house.show("a").message) == ("deploying", WOKEN)
        assert house.scale_of(A) == (1, 1, 1)
        house.cycle(after_s=1.1)
        assert house.show("b").phase == "paused"
        house.cycle()
        house.ray.sleep(B)
        house.ray.run(A)
        house.cycle(after_s=5)
        shown = house.show("a")
        assert (shown.phase, shown.message, shown.used_at) == ("running", "", house.clock.now())
        assert ("woken", WOKEN) in house.told("a")

    def test_nobody_busy_pinned_or_just_asked_is_paused(self, house: Any) -> None:
        house.running("a", ram_gb=3)
        house.running("c", ram_gb=3)
        house.running("d", ram_gb=3, pinned=True)
        house.ray.used_gib = 9
        house.ray.usage = {"/r/f/s/a": Usage(1, 0.0), "/r/f/s/c": Usage(0, 1.9)}
        house.clock.advance(100)
        house.waiting("b", ram_gb=4)
        assert {house.show(name).phase for name in "acd"} == {"running"}
        assert house.show("b").message.endswith(
            "Pausing idle models would not make room: 'f/s/a' is busy, 'f/s/c' is busy, 'f/s/d' is pinned."
        )
        assert sorted(set(house.ray.asked)) == [("/r/f/s/a", 1), ("/r/f/s/c", 1)]

    def test_one_that_does_not_say_is_not_paused(self, house: Any) -> None:
        house.running("a", ram_gb=6)
        house.ray.used_gib = 6
        house.ray.usage = {"/r/f/s/a": None}
        house.clock.advance(100)
        house.waiting("b", ram_gb=6)
        assert house.show("a").phase == "running"
        assert house.show("b").message.endswith(": 'f/s/a' does not say whether it is idle.")

    def test_a_just_deployed_one_is_not_the_victim(self, house: Any) -> None:
        house.running("a", ram_gb=3)
        house.clock.advance(100)
        house.running("c", ram_gb=6)
        house.ray.used_gib = 9
        house.clock.advance(10)
        house.waiting("b", ram_gb=4)
        assert (house.show("a").phase, house.show("c").phase) == ("paused", "running")

    def test_a_deploy_in_between_is_not_undone(self, house: Any) -> None:
        """Decided on what was read before, the pause must not hit the generation after."""
        house.running("a", ram_gb=6)
        house.ray.used_gib = 6
        house.clock.advance(100)
        house.deploy("b", ram_gb=6)
        house.cycle()
        house.ray.wait(B)
        house.cycle()
        ask = house.ray.ask_usage

        def deployed_meanwhile(prefix: str, replicas: int) -> Any:
            house.deploy("a", ram_gb=6, num_replicas=2)
            return ask(prefix, replicas)

        house.ray.ask_usage = deployed_meanwhile
        house.reconciler = house.another_reconciler("first")
        house.cycle()
        house.cycle(after_s=1.1)
        assert (house.show("a").generation, house.show("a").phase) == (2, "deploying")
        house.cycle()
        assert house.scale_of(A) == (2, 2, 2)


class TestUpdates:
    def test_in_place_stops_its_own_first(self, house: Any) -> None:
        house.running("a", ram_gb=6, rollout="in_place")
        house.ray.used_gib = 6
        house.deploy("a", ram_gb=6, rollout="in_place", bundle="2" * 64)
        house.cycle()
        house.ray.wait(A)
        house.cycle()
        assert house.cycle(after_s=1.1) == 0.0
        house.cycle()
        assert house.ray.puts[-1]["applications"][0]["deployments"][0]["max_surge_percent"] == 0
        assert house.show("a").message == (
            "There was no room beside the version before, so that one was stopped first. "
            "Requests wait until it runs."
        )
        house.ray.apps[A]["deployments"]["App"]["replicas"][0]["state"] = "STOPPING"
        house.cycle(after_s=1.1)
        assert house.show("a").message.startswith("There was no room beside the version before")
        house.ray.run(A)
        house.cycle()
        assert (house.show("a").phase, house.show("a").message) == ("running", "")
        house.cycle()
        assert house.ray.puts[-1]["applications"][0]["deployments"][0]["max_surge_percent"] == 100

    def test_else_it_waits_and_says_what_would_help(self, house: Any) -> None:
        house.running("a", ram_gb=6)
        house.ray.used_gib = 6
        house.deploy("a", ram_gb=6, bundle="2" * 64)
        house.cycle()
        house.ray.wait(A)
        house.cycle()
        house.cycle(after_s=1.1)
        assert house.show("a").message.endswith(
            "The replicas of the version before go on serving; rollout='in_place' would replace them, "
            "with a gap."
        )
