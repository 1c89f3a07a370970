"""Five hundred deployments on a fake dashboard: what a round costs, and that none holds up the others."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from roost.contracts.deployment import Deployment
from roost.keys import DeploymentKey
from roost.records.database import Database
from roost.records.deployments import DeploymentRow, find_deployment
from roost.testing.deploying_server import DeployingServer, open_records
from roost.testing.fake_serve import FakeServe

COUNT = 500
GET, PUT = ("GET", "/api/serve/applications/"), ("PUT", "/api/serve/applications/")

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


class Fleet:
    """A server and the Ray it deploys to; the test takes each step."""

    def __init__(self, db: Database, ray: FakeServe) -> None:
        self.ray = ray
        self.server = DeployingServer(db, ray.url)

    def cycle(self, times: int = 1) -> list[tuple[str, str]]:
        """The calls of so many rounds."""
        before = len(self.ray.requests)
        for _ in range(times):
            self.server.reconciler.cycle()
        return self.ray.requests[before:]

    def spoil(self, run_name: str, how: Callable[[DeploymentRow], None]) -> None:
        """Write into a record what no service would."""
        with self.server.db.write() as session:
            row = find_deployment(session, key(run_name))
            assert row is not None
            how(row)
            row.version += 1

    def last_put(self) -> dict[str, Any]:
        return {app["name"]: app for app in self.ray.puts[-1]["applications"]}

    def stands(self) -> dict[str, Deployment]:
        return {item.run_name: item for item in self.server.deployments.list().items}


def key(run_name: str) -> DeploymentKey:
    return DeploymentKey("f", "s", run_name)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Records with `run0` to `run499` deployed, and no Ray that was told."""
    path = tmp_path_factory.mktemp("records") / "roost.db"
    db = open_records(path)
    server = DeployingServer(db, "http://127.0.0.1:9")
    for number in range(COUNT):
        server.deploy(f"run{number}")
    server.stop()
    db.close()
    return path


@contextmanager
def a_fleet(recorded: Path, folder: Path, strangers: dict[str, Any] | None = None) -> Iterator[Fleet]:
    """All of them running, beside strangers' applications."""
    shutil.copy(recorded, folder / "roost.db")
    db = open_records(folder / "roost.db")
    with FakeServe() as ray:
        fleet = Fleet(db, ray)
        if strangers:
            fleet.server.api.put({"applications": list(strangers.values())})
        fleet.cycle(3)
        yield fleet
        fleet.server.stop()
    db.close()


@pytest.fixture
def fleet(recorded: Path, tmp_path: Path) -> Iterator[Fleet]:
    with a_fleet(recorded, tmp_path) as fleet:
        assert {item.phase for item in fleet.stands().values()} == {"running"}
        assert [len(body["applications"]) for body in fleet.ray.puts] == [COUNT]
        yield fleet


def test_a_quiet_round_is_one_look_and_writes_nothing(fleet: Fleet) -> None:
    version, before = fleet.server.changes.version, fleet.stands()
    assert fleet.cycle(10) == [GET] * 10
    assert fleet.server.changes.version == version
    assert [item.version for item in fleet.stands().values()] == [item.version for item in before.values()]


def test_a_burst_of_changes_is_one_put_and_leaves_the_others_as_they_were(fleet: Fleet) -> None:
    before = fleet.last_put()

    def change(number: int) -> None:
        if number < 40:
            fleet.server.deploy(f"run{number}", num_replicas=2)
        elif number < 60:
            fleet.server.deploy(f"run{number}", bundle="c" * 64)
        elif number < 80:
            fleet.server.deployments.undeploy(key(f"run{number}"))
        else:
            fleet.server.deploy(f"new{number}")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(change, range(100)))
    assert fleet.cycle() == [GET, PUT]
    after = fleet.last_put()
    changed = {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    assert changed == {
        *(f"f__s__run{number}" for number in range(80)),
        *(f"f__s__new{number}" for number in range(80, 100)),
    }
    assert fleet.cycle(4) == [GET] * 4
    shown = fleet.stands()
    assert {item.phase for item in shown.values()} == {"running"}
    assert len(shown) == COUNT
    assert len(shown["run0"].replicas) == 2


def test_what_others_put_between_two_rounds_is_seen_and_mended(fleet: Fleet) -> None:
    fleet.ray.lose("f__s__run3", "f__s__run4")
    assert fleet.cycle(4) == [GET, PUT, GET, GET, GET]
    assert {item.phase for item in fleet.stands().values()} == {"running"}


def no_args(row: DeploymentRow) -> None:
    row.application = {"name": "odd"}


def no_deployments(row: DeploymentRow) -> None:
    row.application = {"args": {}}


def odd_args(row: DeploymentRow) -> None:
    row.application = {**row.application, "args": {"odd": 1}}


def odd_replicas(row: DeploymentRow) -> None:
    row.replicas = [{"odd": 1}]


def odd_name(row: DeploymentRow) -> None:
    row.run_name = "a__b"


SPOILS = [no_args, no_deployments, odd_args, odd_replicas, odd_name]
STRANGERS = st.dictionaries(
    st.from_regex(r"[a-z]{3,8}", fullmatch=True),
    st.dictionaries(st.text(max_size=5), JSON, max_size=4),
    max_size=3,
)


def stranger(name: str, more: dict[str, Any]) -> dict[str, Any]:
    return {**more, "name": name, "route_prefix": f"/{name}", "import_path": "their:app"}


@settings(
    max_examples=4,
    deadline=None,
    phases=(Phase.reuse, Phase.generate),  # each example is a second's work
    suppress_health_check=[HealthCheck.too_slow],
)
@given(
    spoiled=st.dictionaries(st.integers(0, COUNT - 1), st.sampled_from(SPOILS), min_size=3, max_size=20),
    others=STRANGERS,
)
def test_bad_records_and_strangers_hold_up_nobody(
    recorded: Path,
    tmp_path_factory: pytest.TempPathFactory,
    spoiled: dict[int, Callable[[DeploymentRow], None]],
    others: dict[str, dict[str, Any]],
) -> None:
    theirs = {name: stranger(name, more) for name, more in others.items()}
    with a_fleet(recorded, tmp_path_factory.mktemp("fleet"), theirs) as fleet:
        before = fleet.last_put()
        for number, how in spoiled.items():
            fleet.spoil(f"run{number}", how)
        sound = [f"run{number}" for number in range(COUNT) if number not in spoiled]
        for name in sound[:20]:
            fleet.server.deploy(name, num_replicas=2)
        fleet.server.deploy("late")
        fleet.cycle(6)
        after, shown = fleet.last_put(), fleet.stands()
        for name in sound:
            assert shown[name].phase == "running", shown[name]
            assert len(shown[name].replicas) == (2 if name in sound[:20] else 1)
        assert shown["late"].phase == "running"
        for name, app in theirs.items():
            assert json.dumps(after[name]) == json.dumps(app)
        for number, how in spoiled.items():
            name = f"f__s__run{number}"
            if how is not odd_args:  # to Ray that is an application like any other
                assert json.dumps(after[name]) == json.dumps(before[name])
            if how in (no_args, odd_args):
                assert "The record cannot be used" in shown[f"run{number}"].message


def test_one_that_ray_refuses_holds_up_nobody(fleet: Fleet) -> None:
    fleet.ray.refused["f__s__bad"] = "ValidationError: odd"
    for name in ("good0", "bad", "good1"):
        fleet.server.deploy(name)
    fleet.cycle(4)
    shown = fleet.stands()
    assert (shown["good0"].phase, shown["good1"].phase) == ("running", "running")
    assert shown["bad"].phase == "failed"
    assert "ValidationError: odd" in shown["bad"].message
    assert {item.phase for name, item in shown.items() if name != "bad"} == {"running"}
    assert fleet.cycle(3) == [GET] * 3
