"""The records and Ray, brought together round by round."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import text

APP = "f__s__r"


def names(body: dict[str, Any]) -> list[str]:
    return [app["name"] for app in body["applications"]]


def test_the_record_comes_first_then_the_app_then_the_phase(house: Any) -> None:
    assert house.deploy().phase == "not_started"
    assert house.ray.apps == {}
    house.cycle()
    assert names(house.ray.puts[0]) == [APP]
    house.cycle()
    assert house.show().phase == "deploying"
    house.ray.run(APP)
    house.cycle()
    shown = house.show()
    assert (shown.phase, shown.generation, shown.observed_generation) == ("running", 1, 1)
    assert [(replica.replica_id, replica.state) for replica in shown.replicas] == [("r1", "RUNNING")]
    assert len(house.ray.puts) == 1


def test_it_counts_as_running_once_the_ingress_routes_to_it(house: Any) -> None:
    house.deploy()
    house.cycle()
    house.ray.run(APP)
    house.ray.unrouted = {"/r/f/s/r"}
    house.cycle()
    assert (house.show().phase, house.show().message) == (
        "deploying",
        "It runs; the ingress does not route all requests to it yet.",
    )
    house.ray.unrouted = set()
    house.cycle()
    assert (house.show().phase, house.show().message) == ("running", "")


def test_an_ingress_that_hiccups_takes_nothing_down(house: Any) -> None:
    house.deploy()
    house.cycle()
    house.ray.run(APP)
    house.cycle()
    house.ray.unrouted = {"/r/f/s/r"}
    house.cycle()
    assert house.show().phase == "running"


def test_a_quiet_round_is_one_get_and_writes_nothing(house: Any) -> None:
    for name in ("a", "b", "c"):
        house.deploy(name)
    house.cycle()
    for name in ("a", "b", "c"):
        house.ray.run(f"f__s__{name}")
    house.cycle()
    versions = [item.version for item in house.deployments.list().items]
    seen, gets = house.changes.version, house.ray.gets
    assert house.cycle(after_s=1) == 1.0
    assert [item.version for item in house.deployments.list().items] == versions
    assert (house.changes.version, house.ray.gets, len(house.ray.puts)) == (seen, gets + 1, 1)
    assert house.show("a").observed_at == house.clock.now()


def test_one_put_for_a_burst(house: Any) -> None:
    for number in range(20):
        house.deploy(f"run{number}")
    house.cycle()
    house.cycle()
    assert len(house.ray.puts) == 1
    assert len(house.ray.apps) == 20


def test_it_looks_often_only_while_something_is_under_way(house: Any) -> None:
    assert house.cycle() == 1.0
    house.deploy()
    assert house.cycle() == 0.2
    assert house.cycle() == 0.2
    assert house.cycle(after_s=121) == 1.0
    house.ray.run(APP)
    assert house.cycle() == 1.0
    house.ray.apps[APP].update(status="UNHEALTHY")
    assert house.cycle() == 0.2, "a replica died; callers wait for the next"


def test_deploying_b_leaves_a_as_it_was(house: Any) -> None:
    house.deploy("a")
    house.cycle()
    before = house.ray.puts[0]["applications"][0]
    house.deploy("b")
    house.cycle()
    assert house.ray.puts[1]["applications"][0] == before


def test_strangers_apps_survive(house: Any) -> None:
    theirs = {"name": "theirs", "import_path": "their:app", "route_prefix": "/"}
    house.ray.apps["theirs"] = {"status": "RUNNING", "deployed_app_config": theirs, "deployments": {}}
    house.deploy()
    house.cycle()
    assert theirs in house.ray.puts[0]["applications"]
    house.deployments.undeploy(house.show().key)
    house.cycle()
    assert house.ray.puts[1]["applications"] == [theirs]


def test_undeploy_drops_it_and_is_done_when_ray_is(house: Any) -> None:
    house.deploy()
    house.cycle()
    house.ray.run(APP)
    house.cycle()
    key = house.show().key
    assert house.deployments.undeploy(key).phase == "deleting"
    house.cycle()
    assert names(house.ray.puts[-1]) == []
    house.cycle()
    assert house.show().phase == "deleting"
    house.ray.forget(APP)
    house.cycle()
    assert house.show().phase == "not_deployed"
    assert house.deployments.undeploy(key).phase == "not_deployed"
    assert house.deployments.list().items == []
    assert len(house.ray.puts) == 2


def test_a_broken_start_is_tried_three_times_then_said_then_undeployed(house: Any) -> None:
    house.deploy()
    house.cycle()
    for pause_s in (1.0, 2.0):
        house.ray.fail(APP, "ValueError: no such file")
        house.cycle()
        assert house.show().phase == "deploying"
        assert "ValueError: no such file" in house.show().message
        house.ray.forget(APP)
        house.cycle(after_s=pause_s)
    house.ray.fail(APP, "ValueError: no such file")
    house.cycle()
    house.cycle()
    assert (house.show().phase, house.show().message) == ("failed", "ValueError: no such file")
    assert [names(body) for body in house.ray.puts] == [[APP], [], [APP], [], [APP]]
    house.deployments.undeploy(house.show().key)
    house.cycle()
    house.ray.forget(APP)
    house.cycle()
    assert house.show().phase == "not_deployed"


def test_a_failed_deployment_is_tried_again_from_scratch(house: Any) -> None:
    house.deploy()
    house.cycle()
    for _ in range(3):
        house.ray.fail(APP, "ValueError: x")
        house.cycle()
        if house.show().phase != "failed":
            house.ray.forget(APP)
            house.cycle(after_s=10)
    assert house.show().phase == "failed"
    again = house.deploy()
    assert (again.phase, again.message, again.generation) == ("deploying", "", 2)
    house.cycle()
    assert names(house.ray.puts[-1]) == []
    house.ray.forget(APP)
    house.cycle()
    assert names(house.ray.puts[-1]) == [APP]
    house.ray.run(APP)
    house.cycle()
    assert house.show().phase == "running"


def test_v1_broken_v2_v1_never_removes_the_app(house: Any) -> None:
    house.deploy(bundle="1" * 64)
    house.cycle()
    house.ray.run(APP)
    house.cycle()

    updating = house.deploy(bundle="2" * 64)
    assert (updating.phase, updating.replaced_bundle_fingerprint) == ("deploying", "1" * 64)
    house.cycle()
    house.ray.fail(APP, "ValueError: broken v2")
    house.cycle()
    failed = house.show()
    assert failed.phase == "failed"
    assert failed.message == "The replicas of the version before go on serving. ValueError: broken v2"
    assert [replica.state for replica in failed.replicas] == ["RUNNING"]

    house.deploy(bundle="2" * 64)
    house.cycle()
    assert house.ray.puts[-1]["applications"][0]["args"]["restarts"] == 1
    house.ray.fail(APP, "ValueError: broken v2")
    house.cycle()
    assert house.show().phase == "failed"

    house.deploy(bundle="1" * 64)
    house.cycle()
    assert house.ray.puts[-1]["applications"] == house.ray.puts[0]["applications"]
    house.ray.run(APP)
    house.cycle()
    assert (house.show().phase, house.show().message, house.show().replaced_bundle_fingerprint) == (
        "running",
        "",
        "",
    )
    assert all(names(body) == [APP] for body in house.ray.puts)


def test_an_observation_never_overwrites_a_newer_deploy(house: Any) -> None:
    house.deploy()
    house.cycle()
    house.ray.run(APP)
    get = house.ray.get

    def deployed_meanwhile() -> dict[str, Any]:
        details: dict[str, Any] = get()
        house.ray.get = get
        house.deploy(num_replicas=2)
        return details

    house.ray.get = deployed_meanwhile
    house.cycle()
    shown = house.show()
    assert (shown.phase, shown.generation, shown.observed_generation) == ("deploying", 2, 0)
    house.cycle()
    scale = house.ray.puts[-1]["applications"][0]["deployments"][0]["autoscaling_config"]
    assert scale["initial_replicas"] == 2


def test_a_ray_that_comes_back_empty_is_filled_again(house: Any) -> None:
    for name in ("a", "b"):
        house.deploy(name)
    house.cycle()
    for name in ("a", "b"):
        house.ray.run(f"f__s__{name}")
    house.cycle()
    house.ray.apps.clear()
    house.cycle()
    assert names(house.ray.puts[-1]) == ["f__s__a", "f__s__b"]
    assert house.show("a").phase == "deploying"


def test_an_unreachable_ray_makes_observations_stale_and_nothing_else(house: Any) -> None:
    house.deploy()
    house.cycle()
    house.ray.run(APP)
    house.cycle(after_s=5)
    seen_at = house.clock.now()
    house.ray.away = True
    pauses = [house.cycle(after_s=10) for _ in range(5)]
    assert pauses == [1.0, 2.0, 4.0, 5.0, 5.0]
    shown = house.show()
    assert (shown.phase, shown.stale, shown.observed_at) == ("running", True, seen_at)
    version = shown.version
    house.deploy("later")
    house.ray.away = False
    house.cycle()
    assert (house.show().stale, house.show().version) == (False, version + 1)
    assert names(house.ray.puts[-1]) == ["f__s__later", APP]


def test_one_bad_record_stops_nobody(house: Any) -> None:
    house.deploy("bad")
    house.deploy("good")
    with house.db.write() as session:
        session.execute(text("UPDATE deployments SET application = '[]' WHERE run_name = 'bad'"))
    house.cycle()
    assert names(house.ray.puts[-1]) == ["f__s__good"]
    house.ray.run("f__s__good")
    house.cycle()
    assert house.show("good").phase == "running"
    assert house.show("bad").phase == "failed"
    assert house.show("bad").message.startswith("The record cannot be used: ")


def test_what_ray_refuses_keeps_out_nobody_and_is_not_offered_for_ever(house: Any) -> None:
    house.ray.refuses = {"f__s__bad"}
    for name in ("a", "bad", "c"):
        house.deploy(name)
    house.cycle()
    assert names(house.ray.puts[-1]) == ["f__s__a", "f__s__c"]
    assert (house.show("bad").phase, house.show("bad").message) == (
        "failed",
        "Ray refused the application: Ray refused: f__s__bad is odd.",
    )
    puts, version = len(house.ray.puts), house.show("bad").version
    house.cycle()
    house.cycle()
    assert (len(house.ray.puts), house.show("bad").version) == (puts, version)

    house.ray.refuses = set()
    house.deploy("bad")
    house.cycle()
    house.cycle()
    assert "f__s__bad" in house.ray.apps


def test_a_ray_that_refuses_everything_blames_no_deployment(house: Any) -> None:
    theirs = {"name": "theirs", "import_path": "their:app"}
    house.ray.apps["theirs"] = {"status": "RUNNING", "deployed_app_config": theirs, "deployments": {}}
    house.ray.refuses = {"theirs"}
    house.deploy()
    assert [house.cycle() for _ in range(3)] == [1.0, 2.0, 4.0]
    assert (house.show().phase, house.show().stale) == ("not_started", False)
    house.ray.refuses = set()
    assert house.cycle() == 0.2
    assert APP in house.ray.apps


def test_one_leader_and_another_within_ten_seconds(house: Any) -> None:
    second = house.another_reconciler("second")
    house.cycle()
    house.deploy()
    assert second.cycle() == 1.0
    assert house.ray.puts == []
    house.clock.advance(9)
    second.cycle()
    assert len(house.ray.puts) == 1
    house.cycle()
    assert house.ray.gets == 2


def test_a_leader_that_stops_hands_over_at_once(house: Any) -> None:
    house.cycle()
    house.reconciler.stop()
    house.deploy()
    house.another_reconciler("second").cycle()
    assert len(house.ray.puts) == 1


def test_a_killed_server_is_repaired_by_the_next(house: Any) -> None:
    """Killed after the record, after what is seen was written, or after the PUT: the end is the same."""
    house.deploy()
    put = house.ray.put

    def killed(body: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    house.ray.put = killed
    with pytest.raises(KeyboardInterrupt):
        house.cycle()
    house.ray.put = put
    house.clock.advance(60)
    house.reconciler = house.another_reconciler("next")
    house.cycle()
    house.ray.run(APP)
    house.clock.advance(60)
    house.reconciler = house.another_reconciler("the one after")
    house.cycle()
    assert house.show().phase == "running"
    assert len(house.ray.puts) == 1


def test_a_burst_is_put_once_it_is_over_and_ray_is_looked_at_meanwhile(house: Any) -> None:
    for number in range(3):
        house.deploy(f"r{number}")
        house.reconciler.wake()
        assert house.cycle() == pytest.approx(0.05)
    assert (house.ray.gets, house.ray.puts) == (3, [])
    assert house.show("r0").phase == "not_started"
    house.cycle(after_s=0.06)
    assert [len(body["applications"]) for body in house.ray.puts] == [3]


def test_a_look_that_took_long_is_followed_by_a_shorter_pause(house: Any) -> None:
    house.deploy()
    house.cycle()
    slow = house.ray.get

    def get() -> dict[str, Any]:
        house.clock.advance(0.08)
        found: dict[str, Any] = slow()
        return found

    house.ray.get = get
    assert house.cycle() == pytest.approx(0.12)
    house.ray.get = lambda: (house.clock.advance(3), slow())[1]
    assert house.cycle() == pytest.approx(0.2)
