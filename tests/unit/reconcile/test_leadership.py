"""One server leads; another follows within ten seconds of its end, and what it had begun does no harm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from roost.errors import EngineUnavailable, InternalError
from roost.reconcile.deployments import LEASE, Reconciler
from roost.reconcile.leadership import Leadership, LeaseLost
from roost.records.database import Database
from roost.records.leases import renewed_by
from roost.testing.fake_clock import FakeClock

APP = "f__s__r"


def leadership(house: Any, holder: str) -> Leadership:
    return Leadership(house.db, house.clock, name=LEASE, holder=holder)


def names(body: dict[str, Any]) -> list[str]:
    return [app["name"] for app in body["applications"]]


def during(house: Any, method: str, happens: Callable[[], object], error: Exception | None = None) -> None:
    """At the next call of `method` Ray takes half a minute, in which something happens; then it answers."""
    original = getattr(house.ray, method)

    def slow(*arguments: Any) -> Any:
        setattr(house.ray, method, original)
        house.clock.advance(30)
        happens()
        if error is not None:
            raise error
        return original(*arguments)

    setattr(house.ray, method, slow)


@pytest.fixture
def second(house: Any) -> Reconciler:
    other: Reconciler = house.another_reconciler("second")
    return other


@pytest.mark.parametrize("renewed_after_s", [0.0, 1.5, 2.0, 3.9])
def test_a_deploy_is_applied_within_ten_seconds_of_the_leaders_death(
    house: Any, second: Reconciler, renewed_after_s: float
) -> None:
    house.cycle()
    second.cycle()
    house.cycle(after_s=renewed_after_s)
    house.deploy()  # the leader is dead from here on
    waited_s = 0.0
    while not house.ray.puts:
        waited_s += second.cycle()
        house.clock.advance(1.0)
        assert waited_s <= 10
    assert names(house.ray.puts[0]) == [APP]


def test_who_leads_is_known_to_all(house: Any, second: Reconciler) -> None:
    assert second.find_leader() is None
    house.cycle()
    assert (house.reconciler.find_leader(), second.find_leader()) == ("first", "first")
    house.clock.advance(6)
    assert second.find_leader() is None
    second.cycle()
    assert house.reconciler.find_leader() == "second"


def test_who_lost_the_lease_while_ray_answered_puts_nothing(house: Any, second: Reconciler) -> None:
    house.deploy()
    during(house, "get", second.cycle)
    assert house.cycle() == 1.0
    assert len(house.ray.puts) == 1  # the second one's


def test_a_lease_that_another_had_and_gave_back_is_lost_all_the_same(house: Any, second: Reconciler) -> None:
    """Else what was read before would be PUT, without what the other has deployed since."""

    def meanwhile() -> None:
        house.deploy("later")
        second.cycle()
        second.stop()

    house.deploy()
    during(house, "get", meanwhile)
    house.cycle()
    assert [names(body) for body in house.ray.puts] == [["f__s__later", APP]]
    house.cycle()
    assert len(house.ray.puts) == 1


def test_who_lost_the_lease_during_a_put_writes_nothing_more(house: Any, second: Reconciler) -> None:
    house.deploy()
    seen: list[int] = []

    def meanwhile() -> None:
        second.cycle()
        house.ray.run(APP)
        second.cycle()
        seen.append(house.show().version)

    during(house, "put", meanwhile, error=InternalError("Ray refused: the set is odd."))
    assert house.cycle() == 1.0
    assert (house.show().phase, house.show().version) == ("running", seen[0])
    assert len(house.ray.puts) == 1


def test_who_lost_the_lease_marks_nothing_stale(house: Any, second: Reconciler) -> None:
    house.deploy()
    house.cycle()
    during(house, "get", second.cycle, error=EngineUnavailable("Ray is slow."))
    house.cycle()
    assert not house.show().stale


def test_a_new_deploy_during_a_long_put_is_not_overwritten(house: Any) -> None:
    house.deploy()
    during(house, "put", lambda: house.deploy(bundle="c" * 64))
    house.cycle()
    assert (house.show().generation, house.show().observed_generation) == (2, 0)
    house.cycle()
    assert house.ray.puts[-1]["applications"][0]["args"]["servable"]["bundleFingerprint"] == "c" * 64


def test_what_another_server_put_meanwhile_is_seen(house: Any, second: Reconciler) -> None:
    """Three versions, PUT by two servers in turn: each time Ray is brought to the records."""
    first = house.reconciler
    turns = [("b", first, second), ("c", second, first), ("b", first, second)]
    for turn, (bundle, reconciler, other) in enumerate(turns):
        house.clock.advance(7)
        house.deploy(bundle=bundle * 64)
        reconciler.cycle()
        other.cycle()
        held = house.ray.apps[APP]["deployed_app_config"]
        assert held["args"]["servable"]["bundleFingerprint"] == bundle * 64
        assert len(house.ray.puts) == turn + 1


def test_a_follower_knows_that_ray_answers(house: Any, second: Reconciler) -> None:
    house.cycle()
    renewed_at = house.clock.now()
    house.view.lost("Ray was away when this server led.")
    house.clock.advance(1)
    second.cycle()
    assert (house.view.last_seen, house.view.trouble) == (renewed_at, "")


def test_a_write_session_knows_whether_the_lease_is_anothers(house: Any) -> None:
    first, other = leadership(house, "first"), leadership(house, "other")
    assert first.hold()
    house.clock.advance(60)
    with house.db.write() as session:
        first.check(session)  # run out, but nobody else's: what is written now is in nobody's way
    assert other.hold()
    with pytest.raises(LeaseLost), house.db.write() as session:
        first.check(session)
    with pytest.raises(LeaseLost):
        first.require()
    assert not first.hold()


class Turns:
    """An event that is set after some waits, each of which takes its time on the clock."""

    def __init__(self, clock: FakeClock, turns: int) -> None:
        self._clock = clock
        self._left = turns

    def wait(self, timeout_s: float) -> bool:
        self._clock.advance(timeout_s)
        self._left -= 1
        return self._left < 0


def test_a_lease_is_kept_over_a_step_that_outlasts_it(house: Any) -> None:
    first, other = leadership(house, "first"), leadership(house, "other")
    assert first.hold()
    first._keep(Turns(house.clock, 20))  # type: ignore[arg-type]
    assert not other.hold()
    first.require()


def test_a_lost_lease_is_not_taken_back_by_keeping_it(house: Any) -> None:
    first, other = leadership(house, "first"), leadership(house, "other")
    assert first.hold()
    house.clock.advance(60)
    assert other.hold()
    first._keep(Turns(house.clock, 20))  # type: ignore[arg-type]
    with house.db.read() as session:
        assert renewed_by(session, LEASE, "other")


def test_the_lease_is_kept_from_the_look_at_ray_to_the_last_of_its_replicas(
    house: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two dozen replicas that take three seconds each to say that they are not routed to."""
    other = leadership(house, "other")
    for number in range(24):
        house.deploy(f"run{number}")
    house.cycle()
    for number in range(24):
        house.ray.run(f"f__s__run{number}")
    taken: list[bool] = []

    def slow(_route_prefix: str, _version: str) -> bool:
        house.clock.advance(3)
        taken.append(other.hold())
        return False

    monkeypatch.setattr(house.reconciler, "_is_routed", slow)
    house.cycle()
    assert taken == [False] * 24
    assert house.show("run23").message == "It runs; the ingress does not route all requests to it yet."


def test_records_that_are_away_do_not_end_the_keeping(house: Any, tmp_path: Any) -> None:
    (tmp_path / "folder").mkdir()
    away = Leadership(Database(f"sqlite:///{tmp_path}/folder"), house.clock, name=LEASE, holder="first")
    away._keep(Turns(house.clock, 3))  # type: ignore[arg-type]
    assert house.clock.now().second == 8
