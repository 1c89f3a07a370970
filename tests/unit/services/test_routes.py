"""From names to URLs."""

from __future__ import annotations

import timeit
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.errors import ModelNotDeployed, Unavailable, WrongCapability
from roost.keys import DeploymentKey
from roost.records.database import Database
from roost.records.deployments import DeploymentRow, find_deployment
from roost.records.tables import METADATA
from roost.services.changes import Changes
from roost.services.routes import Route, RouteTable
from roost.testing.fake_clock import EPOCH

RUNNING = [{"replica_id": "r1", "state": "RUNNING", "node_id": None, "node_ip": None, "outdated": False}]
DETECTOR = DeploymentKey("det", "ssd", "run1")


def add(db: Database, key: DeploymentKey, **columns: Any) -> None:
    values: dict[str, Any] = {
        "key": str(key),
        "family": key.family,
        "suffix": key.suffix,
        "run_name": key.run_name,
        "config_fingerprint": key.config_fingerprint,
        "present": True,
        "name": key.default_name,
        "live_name": key.default_name,
        "config": {},
        "num_replicas": 1,
        "rollout": "wait",
        "pinned": False,
        "requirements": {},
        "pause": "",
        "in_place": False,
        "application": {},
        "capability": "detection",
        "timeout_s": 60.0,
        "bundle_fingerprint": "b",
        "replaced_bundle_fingerprint": "",
        "generation": 1,
        "created_at": EPOCH,
        "deployed_at": EPOCH,
        "step": "apply",
        "failures": 0,
        "restarts": 0,
        "phase": "running",
        "message": "",
        "ray_status": "RUNNING",
        "replicas": RUNNING,
        "observed_generation": 1,
        "stale": False,
        "version": 1,
    }
    with db.write() as session:
        session.add(DeploymentRow(**(values | columns)))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path}/roost.db")
    METADATA.create_all(database.engine)
    yield database
    database.close()


@pytest.fixture
def changes() -> Changes:
    return Changes()


@pytest.fixture
def table(db: Database, changes: Changes) -> RouteTable:
    add(db, DETECTOR)
    add(db, DeploymentKey("app", "hello", "run1"), capability=None)
    loaded = RouteTable(db, changes, serve_url="http://serve:8000")
    loaded.reload()
    return loaded


def test_by_name_and_by_key(table: RouteTable) -> None:
    route = Route(
        name="det/ssd",
        key=DETECTOR,
        url="http://serve:8000/r/det/ssd/run1",
        capability="detection",
        phase="running",
        timeout_s=60.0,
        answers=True,
        ray_status="RUNNING",
    )
    assert table.resolve("det/ssd", "detection") == route
    assert table.resolve("det/ssd/run1", "detection") == route
    assert [route.name for route in table.snapshot()] == ["app/hello", "det/ssd"]


def test_a_config_has_a_route_of_its_own(db: Database, table: RouteTable) -> None:
    add(db, DeploymentKey("det", "ssd", "run1", "a32291675798"))
    table.reload()
    url = "http://serve:8000/r/det/ssd/run1/a32291675798"
    assert table.resolve("det/ssd@a32291675798", "detection").url == url
    assert table.resolve("det/ssd/run1@a32291675798", "detection").url == url
    assert table.resolve("det/ssd", "detection").url == "http://serve:8000/r/det/ssd/run1"


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        ("det/sdd", "Did you mean 'det/ssd'?"),
        ("zzz", "Deployed are app/hello, det/ssd."),
        ("", "Deployed are app/hello, det/ssd."),
    ],
)
def test_an_unknown_name(table: RouteTable, model: str, hint: str) -> None:
    with pytest.raises(ModelNotDeployed) as raised:
        table.resolve(model, "detection")
    assert raised.value.message == f"no model {model!r} is deployed."
    assert raised.value.hint == hint


def test_a_hostile_name_is_cut(table: RouteTable) -> None:
    with pytest.raises(ModelNotDeployed) as raised:
        table.resolve("x" * 10_000_000, "detection")
    assert len(raised.value.message) < 300


def test_nothing_deployed(db: Database, changes: Changes) -> None:
    with pytest.raises(ModelNotDeployed) as raised:
        RouteTable(db, changes, serve_url="http://s").resolve("a", "detection")
    assert raised.value.hint is not None
    assert raised.value.hint.startswith("Nothing is deployed")


def test_another_capability(table: RouteTable) -> None:
    with pytest.raises(WrongCapability, match="'det/ssd' serves 'detection', not 'ner'"):
        table.resolve("det/ssd", "ner")
    with pytest.raises(WrongCapability, match="'app/hello' is an app of its own"):
        table.resolve("app/hello", "detection")


@pytest.mark.parametrize(
    ("phase", "replicas", "answers"),
    [
        ("running", RUNNING, True),
        ("running", [{**RUNNING[0], "state": "UPDATING"}], True),
        ("paused", [], True),
        ("deploying", RUNNING, True),
        ("failed", RUNNING, True),
        ("unhealthy", RUNNING, True),
        ("not_started", [], False),
        ("deploying", [], False),
        ("failed", [], False),
        ("unhealthy", [{**RUNNING[0], "state": "STOPPING"}], True),
    ],
)
def test_what_answers(
    db: Database, changes: Changes, phase: str, replicas: list[dict[str, Any]], answers: bool
) -> None:
    add(db, DETECTOR, phase=phase, replicas=replicas)
    table = RouteTable(db, changes, serve_url="http://s")
    table.reload()
    if answers:
        assert table.resolve("det/ssd", "detection").phase == phase
    else:
        with pytest.raises(Unavailable, match=f"'det/ssd' cannot answer now: it is {phase}") as raised:
            table.resolve("det/ssd", "detection")
        assert raised.value.retry_after_s == 2.0


@pytest.mark.parametrize(
    ("columns", "holds"),
    [
        ({"phase": "running"}, False),
        ({"phase": "paused", "pause": "paused"}, True),
        ({"phase": "deploying", "pause": "waking", "replicas": []}, True),
        ({"phase": "paused"}, True),
        ({"phase": "deploying", "in_place": True, "replicas": []}, True),
        ({"phase": "failed", "in_place": True, "replicas": []}, False),
        ({"phase": "deploying", "in_place": True, "replicas": [], "step": "clear"}, False),
        ({"phase": "deploying", "autoscaling": {"min_replicas": 0}, "replicas": []}, True),
        ({"phase": "deploying", "autoscaling": {"min_replicas": 0}, "replicas": [], "generation": 2}, False),
        ({"phase": "deploying", "autoscaling": {"min_replicas": 0}, "replicas": [], "failures": 1}, False),
        ({"phase": "deploying", "autoscaling": {"min_replicas": 1}, "replicas": []}, False),
        ({"phase": "deploying", "replicas": []}, False),
    ],
)
def test_where_ray_holds_requests(
    db: Database, changes: Changes, columns: dict[str, Any], holds: bool
) -> None:
    add(db, DETECTOR, **columns)
    table = RouteTable(db, changes, serve_url="http://s")
    table.reload()
    assert table.holds(DETECTOR) is holds
    if holds:
        assert table.resolve("det/ssd", "detection").answers


NEEDS = "Waits for room: one replica needs 0.1 CPUs, 1 GPUs"


@pytest.mark.parametrize(
    "columns",
    [
        {"phase": "deploying", "pause": "waking"},
        {"phase": "deploying", "in_place": True},
        {"phase": "deploying", "autoscaling": {"min_replicas": 0}},
        {"phase": "unhealthy"},
    ],
)
@pytest.mark.parametrize("lack", ["no node is alive.", "no node has that much, also when empty."])
def test_nothing_is_held_beyond_its_time_for_what_no_node_can_hold(
    db: Database, changes: Changes, columns: dict[str, Any], lack: str
) -> None:
    message = f"{NEEDS}; {lack}"
    add(db, DETECTOR, replicas=[], message=message, **columns)
    table = RouteTable(db, changes, serve_url="http://s")
    table.reload()
    assert (table.holds(DETECTOR), table.find_lack(DETECTOR)) == (False, message)
    assert table.resolve("det/ssd", "detection").answers, "the node may come back in time"


def test_a_first_deploy_that_no_node_can_hold_says_what_is_missing(db: Database, changes: Changes) -> None:
    message = f"{NEEDS}; no node is alive."
    add(db, DETECTOR, phase="deploying", replicas=[], message=message)
    table = RouteTable(db, changes, serve_url="http://s")
    table.reload()
    with pytest.raises(Unavailable) as raised:
        table.resolve("det/ssd", "detection")
    assert raised.value.hint == f"{message} Join a node that has it (`roost node`)."


@pytest.mark.parametrize(
    ("message", "replicas"),
    [
        (f"{NEEDS}; it is being made on 'n1'.", []),
        (f"{NEEDS}; no node has that much, also when empty.", RUNNING),
    ],
)
def test_room_that_may_come_and_replicas_that_run_are_no_lack(
    db: Database, changes: Changes, message: str, replicas: list[dict[str, Any]]
) -> None:
    add(db, DETECTOR, phase="deploying", pause="waking", replicas=replicas, message=message)
    table = RouteTable(db, changes, serve_url="http://s")
    table.reload()
    assert (table.holds(DETECTOR), table.find_lack(DETECTOR)) == (True, "")
    assert table.resolve("det/ssd", "detection").answers
    assert table.find_lack(DeploymentKey("not", "deployed", "run1")) == ""


def test_nothing_is_held_for_what_is_not_deployed(table: RouteTable) -> None:
    assert not table.holds(DeploymentKey("not", "deployed", "run1"))


def test_what_is_undeployed_has_no_route(db: Database, table: RouteTable) -> None:
    with db.write() as session:
        row = find_deployment(session, DETECTOR)
        assert row is not None
        row.present, row.live_name, row.version = False, None, 2
        row.phase = "deleting"
    table.reload()
    with pytest.raises(ModelNotDeployed):
        table.resolve("det/ssd", "detection")


def test_a_name_that_moves_leads_to_its_new_holder_and_the_rest_stays(
    db: Database, table: RouteTable
) -> None:
    other = DeploymentKey("det", "yolo", "run1")
    add(db, other)
    table.reload()
    app = table.resolve("det/yolo", "detection")
    with db.write() as session:
        loser, winner = find_deployment(session, DETECTOR), find_deployment(session, other)
        assert loser is not None
        assert winner is not None
        loser.name = loser.live_name = str(DETECTOR)
        session.flush()
        winner.name = winner.live_name = "det/ssd"
        loser.version = winner.version = 2
    table.reload()
    assert table.resolve("det/ssd", "detection").key == other
    assert table.resolve(str(DETECTOR), "detection").key == DETECTOR
    with pytest.raises(ModelNotDeployed):
        table.resolve("det/yolo", "detection")
    assert app.key == other
    assert [route.name for route in table.snapshot()] == ["app/hello", "det/ssd", str(DETECTOR)]


def test_one_bad_record_closes_no_other_route(db: Database, table: RouteTable) -> None:
    add(db, DeploymentKey("a", "b", "c"), family="not a segment")
    table.reload()
    assert table.resolve("det/ssd", "detection").key == DETECTOR


def test_the_thread_follows_changes(db: Database, changes: Changes, table: RouteTable) -> None:
    table.start()
    seen = changes.version
    add(db, DeploymentKey("new", "model", "run1"))
    changes.notify()
    assert changes.wait_blocking(seen, timeout_s=5) > seen
    table.stop()
    table.reload()
    assert table.resolve("new/model", "detection").name == "new/model"


def test_a_hit_costs_less_than_five_microseconds(db: Database, table: RouteTable) -> None:
    for number in range(100):
        add(db, DeploymentKey("many", f"m{number}", "run1"))
    table.reload()
    best_s = min(timeit.repeat(lambda: table.resolve("det/ssd", "detection"), number=1000, repeat=5)) / 1000
    assert best_s < 5e-6


def test_whoever_was_told_of_a_change_finds_it_in_the_table(db: Database, changes: Changes) -> None:
    table = RouteTable(db, changes, serve_url="http://serve:8000")
    table.start()
    add(db, DETECTOR)
    changes.notify()
    assert table.resolve("det/ssd", "detection").key == DETECTOR
    changes.close()
    table.stop()
