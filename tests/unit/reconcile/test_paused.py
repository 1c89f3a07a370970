"""What is paused: woken, changed, lost, taken over; and paused because nobody asks."""

from __future__ import annotations

from typing import Any

from sqlalchemy import text

from roost.serving.usage import Usage

A, B = "f__s__a", "f__s__b"
WHY = "Paused to make room for f/s/b; the next request wakes it."
WOKEN = "A request woke it."


class TestPaused:
    def test_deployed_again_with_nothing_changed(self, house: Any) -> None:
        house.swapped()
        before, puts = house.show("a"), len(house.ray.puts)
        assert house.deploy("a", ram_gb=6) == before
        for _ in range(3):
            house.cycle(after_s=1)
        assert (house.show("a").version, len(house.ray.puts)) == (before.version, puts)

    def test_new_code_starts_it(self, house: Any) -> None:
        house.swapped()
        house.deploy("a", ram_gb=6, bundle="2" * 64)
        house.cycle()
        assert house.scale_of(A) == (1, 1, 1)
        house.ray.run(A)
        house.cycle()
        assert house.show("a").phase == "running"

    def test_another_count_starts_it(self, house: Any) -> None:
        house.swapped()
        house.deploy("a", ram_gb=6, num_replicas=3)
        house.cycle()
        assert house.scale_of(A) == (3, 3, 3)

    def test_undeployed(self, house: Any) -> None:
        house.swapped()
        house.deployments.undeploy(house.show("a").key)
        house.cycle()
        house.ray.forget(A)
        house.cycle()
        assert house.show("a").phase == "not_deployed"

    def test_a_ray_that_lost_everything_starts_only_what_was_awake(self, house: Any) -> None:
        house.swapped()
        house.ray.apps.clear()
        house.cycle()
        assert (house.scale_of(A), house.scale_of(B)) == ((0, 1, 0), (1, 1, 1))
        assert (house.show("a").phase, house.show("a").message) == ("paused", WHY)
        house.ray.sleep(A)
        house.cycle()
        assert (house.show("a").phase, house.show("a").message) == ("paused", WHY)

    def test_another_server_takes_over(self, house: Any) -> None:
        house.swapped()
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
        assert house.show("a").message == WOKEN

    def test_it_is_never_asked_for_its_usage(self, house: Any) -> None:
        house.swapped()
        house.ray.asked.clear()
        house.waiting("c", ram_gb=20)
        for _ in range(3):
            house.cycle(after_s=1)
        assert {prefix for prefix, _ in house.ray.asked} <= {"/r/f/s/b"}

    def test_it_counts_as_waking_until_it_is_routed(self, house: Any) -> None:
        house.swapped()
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
        house.running("a", idle_timeout_s=60)
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
        assert house.scale_of(A) == (0, 1, 0)

    def test_one_that_is_asked_or_does_not_say_goes_on(self, house: Any) -> None:
        house.running("a", idle_timeout_s=10)
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
        house.running("a", idle_timeout_s=10)
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
        house.running("a", idle_timeout_s=10, pinned=True)
        house.running("b")
        for _ in range(40):
            house.cycle(after_s=1)
        assert (house.show("a").phase, house.show("b").phase, house.ray.asked) == ("running", "running", [])


def test_a_quiet_round_asks_nobody(house: Any) -> None:
    for name in ("a", "b", "c"):
        house.running(name, ram_gb=3, idle_timeout_s=3600)
    house.ray.used_gib = 9
    for _ in range(30):
        house.cycle(after_s=1)
    assert (house.ray.asked, house.ray.looks) == ([], 0)
