"""Waiting for room, making it, waking, and the idle limit, round by round."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text

from roost.records.events import list_events
from roost.serving.usage import Usage

A, B, C = "f__s__a", "f__s__b", "f__s__c"
WOKEN_BY_REQUEST = "A request woke it."
WHY = "Paused to make room for f/s/b; the next request wakes it."


def running(house: Any, run_name: str, **request: Any) -> None:
    """A deployment that runs."""
    house.deploy(run_name, **request)
    house.cycle()
    house.ray.run(f"f__s__{run_name}")
    house.cycle()
    assert house.show(run_name).phase == "running"


def waiting(house: Any, run_name: str, **request: Any) -> None:
    """A deployment whose first replica has waited for room for a while."""
    house.deploy(run_name, **request)
    house.cycle()
    house.ray.wait(f"f__s__{run_name}")
    house.cycle()
    house.cycle(after_s=1.1)


def told(house: Any, run_name: str) -> list[tuple[str, str]]:
    with house.db.read() as session:
        return [(event.kind, event.message) for event in list_events(session, subject=f"f/s/{run_name}")]


def scale_of(house: Any, name: str) -> tuple[int, int, int]:
    """Fewest, most and first replicas that Ray was last told."""
    app = next(app for app in house.ray.puts[-1]["applications"] if app["name"] == name)
    scale = app["deployments"][0]["autoscaling_config"]
    return scale["min_replicas"], scale["max_replicas"], scale["initial_replicas"]


def swapped(house: Any) -> None:
    """`a` is paused for `b`, which runs."""
    running(house, "a", ram_gb=6)
    house.ray.used_gib = 6
    house.clock.advance(100)
    waiting(house, "b", ram_gb=6)
    house.cycle()
    house.ray.sleep(A)
    house.ray.run(B)
    house.cycle(after_s=10)
    assert (house.show("a").phase, house.show("b").phase) == ("paused", "running")


class TestWaiting:
    def test_it_says_what_is_needed_and_what_there_is(self, house: Any) -> None:
        house.ray.used_gib = 8
        waiting(house, "b", ram_gb=6)
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
        running(house, "a", ram_gb=6)
        house.ray.used_gib = 10
        house.deploy("b", ram_gb=6)
        house.cycle()
        house.ray.wait(B)
        house.ray.placed = {"r2"}
        for _ in range(5):
            house.cycle(after_s=1)
        assert (house.show("a").phase, house.show("b").message, house.ray.looks) == ("running", "", 0)

    def test_where_there_is_room_nobody_is_asked_or_paused(self, house: Any) -> None:
        running(house, "a", ram_gb=2)
        house.ray.used_gib = 2
        waiting(house, "b", ram_gb=6)
        assert (house.show("a").phase, house.show("b").message, house.ray.asked) == ("running", "", [])

    def test_a_ray_that_does_not_say_what_is_free_changes_nothing(self, house: Any) -> None:
        house.ray.used_gib = 8
        waiting(house, "b", ram_gb=6)
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
        running(house, "a", ram_gb=6)
        running(house, "c", ram_gb=3)
        house.ray.used_gib = 9
        house.clock.advance(100)
        house.deploy("b", ram_gb=6)
        house.cycle()
        house.ray.wait(B)
        house.cycle()
        assert house.cycle(after_s=1.1) == 0.0
        assert (house.show("a").phase, house.show("a").message) == ("paused", WHY)
        house.cycle()
        assert scale_of(house, A) == (0, 1, 0)
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
        assert told(house, "a")[-2:] == [("paused", WHY), ("phase", WHY)]

    def test_the_wake_swaps_them_back(self, house: Any) -> None:
        swapped(house)
        house.clock.advance(5)
        house.ray.wait(A, status="RUNNING")
        house.cycle()
        assert (house.show("a").phase, house.show("a").message) == ("deploying", WOKEN_BY_REQUEST)
        assert scale_of(house, A) == (1, 1, 1)
        house.cycle(after_s=1.1)
        assert house.show("b").phase == "paused"
        house.cycle()
        house.ray.sleep(B)
        house.ray.run(A)
        house.cycle(after_s=5)
        shown = house.show("a")
        assert (shown.phase, shown.message, shown.used_at) == ("running", "", house.clock.now())
        assert ("woken", WOKEN_BY_REQUEST) in told(house, "a")

    def test_nobody_busy_pinned_or_just_asked_is_paused(self, house: Any) -> None:
        running(house, "a", ram_gb=3)
        running(house, "c", ram_gb=3)
        running(house, "d", ram_gb=3, pinned=True)
        house.ray.used_gib = 9
        house.ray.usage = {"/r/f/s/a": Usage(1, 0.0), "/r/f/s/c": Usage(0, 1.9)}
        house.clock.advance(100)
        waiting(house, "b", ram_gb=4)
        assert {house.show(name).phase for name in "acd"} == {"running"}
        assert house.show("b").message.endswith(
            "Pausing idle models would not make room: 'f/s/a' is busy, 'f/s/c' is busy, 'f/s/d' is pinned."
        )
        assert sorted(set(house.ray.asked)) == [("/r/f/s/a", 1), ("/r/f/s/c", 1)]

    def test_one_that_does_not_say_is_not_paused(self, house: Any) -> None:
        running(house, "a", ram_gb=6)
        house.ray.used_gib = 6
        house.ray.usage = {"/r/f/s/a": None}
        house.clock.advance(100)
        waiting(house, "b", ram_gb=6)
        assert house.show("a").phase == "running"
        assert house.show("b").message.endswith(": 'f/s/a' does not say whether it is idle.")

    def test_a_just_deployed_one_is_not_the_victim(self, house: Any) -> None:
        running(house, "a", ram_gb=3)
        house.clock.advance(100)
        running(house, "c", ram_gb=6)
        house.ray.used_gib = 9
        house.clock.advance(10)
        waiting(house, "b", ram_gb=4)
        assert (house.show("a").phase, house.show("c").phase) == ("paused", "running")

    def test_a_deploy_in_between_is_not_undone(self, house: Any) -> None:
        """Decided on what was read before, the pause must not hit the generation after."""
        running(house, "a", ram_gb=6)
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
        assert scale_of(house, A) == (2, 2, 2)


class TestUpdates:
    def test_in_place_stops_its_own_first(self, house: Any) -> None:
        running(house, "a", ram_gb=6, rollout="in_place")
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
        running(house, "a", ram_gb=6)
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


class TestPaused:
    def test_deployed_again_with_nothing_changed(self, house: Any) -> None:
        swapped(house)
        before, puts = house.show("a"), len(house.ray.puts)
        assert house.deploy("a", ram_gb=6) == before
        for _ in range(3):
            house.cycle(after_s=1)
        assert (house.show("a").version, len(house.ray.puts)) == (before.version, puts)

    def test_new_code_starts_it(self, house: Any) -> None:
        swapped(house)
        house.deploy("a", ram_gb=6, bundle="2" * 64)
        house.cycle()
        assert scale_of(house, A) == (1, 1, 1)
        house.ray.run(A)
        house.cycle()
        assert house.show("a").phase == "running"

    def test_another_count_starts_it(self, house: Any) -> None:
        swapped(house)
        house.deploy("a", ram_gb=6, num_replicas=3)
        house.cycle()
        assert scale_of(house, A) == (3, 3, 3)

    def test_undeployed(self, house: Any) -> None:
        swapped(house)
        house.deployments.undeploy(house.show("a").key)
        house.cycle()
        house.ray.forget(A)
        house.cycle()
        assert house.show("a").phase == "not_deployed"

    def test_a_ray_that_lost_everything_starts_only_what_was_awake(self, house: Any) -> None:
        swapped(house)
        house.ray.apps.clear()
        house.cycle()
        assert (scale_of(house, A), scale_of(house, B)) == ((0, 1, 0), (1, 1, 1))
        assert (house.show("a").phase, house.show("a").message) == ("paused", WHY)
        house.ray.sleep(A)
        house.cycle()
        assert (house.show("a").phase, house.show("a").message) == ("paused", WHY)

    def test_another_server_takes_over(self, house: Any) -> None:
        swapped(house)
        puts, version = len(house.ray.puts), house.show("a").version
        house.clock.advance(60)
        house.reconciler = house.another_reconciler("second")
        house.cycle()
        assert (len(house.ray.puts), house.show("a").version, house.show("a").phase) == (
            puts,
            version,
            "paused",
        )
        house.ray.wait(A, status="RUNNING")
        house.cycle()
        assert house.show("a").message == WOKEN_BY_REQUEST

    def test_it_is_never_asked_for_its_usage(self, house: Any) -> None:
        swapped(house)
        house.ray.asked.clear()
        waiting(house, "c", ram_gb=20)
        for _ in range(3):
            house.cycle(after_s=1)
        assert {prefix for prefix, _ in house.ray.asked} <= {"/r/f/s/b"}

    def test_it_counts_as_waking_until_it_is_routed(self, house: Any) -> None:
        swapped(house)
        house.ray.wait(A, status="RUNNING")
        house.cycle()
        house.ray.run(A)
        house.ray.unrouted = {"/r/f/s/a"}
        house.cycle(after_s=5)
        assert house.show("a").phase == "deploying"
        house.ray.unrouted = set()
        house.cycle(after_s=5)
        assert (house.show("a").phase, house.show("a").used_at) == ("running", house.clock.now())


class TestIdleLimit:
    def test_paused_after_so_long_without_a_request(self, house: Any) -> None:
        running(house, "a", idle_timeout_s=60)
        house.ray.usage["/r/f/s/a"] = Usage(0, 30.0)
        for _ in range(60):
            house.cycle(after_s=1)
        assert (house.show("a").phase, house.ray.asked) == ("running", [("/r/f/s/a", 1)])
        house.ray.usage["/r/f/s/a"] = Usage(0, 60.5)
        for _ in range(31):
            house.cycle(after_s=1)
        assert (house.show("a").phase, house.show("a").message) == (
            "paused",
            "Paused after 60 s without a request; the next one wakes it.",
        )
        assert len(house.ray.asked) == 2
        assert scale_of(house, A) == (0, 1, 0)

    def test_one_that_is_asked_or_does_not_say_goes_on(self, house: Any) -> None:
        running(house, "a", idle_timeout_s=10)
        house.ray.usage["/r/f/s/a"] = Usage(1, 0.0)
        for _ in range(15):
            house.cycle(after_s=1)
        house.ray.usage["/r/f/s/a"] = None
        for _ in range(15):
            house.cycle(after_s=1)
        assert house.show("a").phase == "running"
        assert len(house.ray.asked) <= 7

    def test_a_record_that_does_not_say_when_it_was_used(self, house: Any) -> None:
        """As the version before wrote it: its replicas know."""
        running(house, "a", idle_timeout_s=10)
        with house.db.write() as session:
            session.execute(text("UPDATE deployments SET used_at = NULL, version = version + 1"))
        house.ray.usage["/r/f/s/a"] = Usage(0, 4.0)
        house.cycle(after_s=1)
        assert house.show("a").phase == "running"
        house.ray.usage["/r/f/s/a"] = Usage(0, 11.0)
        for _ in range(12):
            house.cycle(after_s=1)
        assert house.show("a").phase == "paused"

    def test_pinned_ones_and_those_without_a_limit_are_not_even_asked(self, house: Any) -> None:
        running(house, "a", idle_timeout_s=10, pinned=True)
        running(house, "b")
        for _ in range(40):
            house.cycle(after_s=1)
        assert (house.show("a").phase, house.show("b").phase, house.ray.asked) == ("running", "running", [])


def test_a_quiet_round_asks_nobody(house: Any) -> None:
    for name in ("a", "b", "c"):
        running(house, name, ram_gb=3, idle_timeout_s=3600)
    house.ray.used_gib = 9
    for _ in range(30):
        house.cycle(after_s=1)
    assert (house.ray.asked, house.ray.looks) == ([], 0)
