"""Several servers on one database, at once: each thread has a connection of its own, as a server has."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

from roost.keys import DeploymentKey
from roost.records.database import Database
from roost.records.deployments import DeploymentRow, find_deployment, observe
from roost.records.leases import find_holder, take_lease
from roost.records.upgrade import find_revision, upgrade

NOW = datetime(2026, 1, 1, tzinfo=UTC)
KEY = DeploymentKey("f", "s", "r")
ROUNDS = 10

Result = TypeVar("Result")


def at_once(url: str, *works: Callable[[Database], Result]) -> list[Result]:
    """Run each of `works` in a thread, with a database of its own; all begin together."""
    together = threading.Barrier(len(works), timeout=60)

    def run(work: Callable[[Database], Result]) -> Result:
        database = Database(url, busy_timeout_s=60)
        try:
            together.wait()
            return work(database)
        finally:
            database.close()

    with ThreadPoolExecutor(len(works)) as pool:
        return list(pool.map(run, works))


def row() -> DeploymentRow:
    return DeploymentRow(
        key=str(KEY),
        family="f",
        suffix="s",
        run_name="r",
        config_fingerprint="",
        present=True,
        name="n",
        live_name="n",
        config={},
        num_replicas=1,
        rollout="wait",
        pinned=False,
        requirements={},
        application={},
        timeout_s=60,
        bundle_fingerprint="",
        replaced_bundle_fingerprint="",
        generation=1,
        created_at=NOW,
        deployed_at=NOW,
        step="apply",
        failures=0,
        restarts=0,
        pause="",
        in_place=False,
        phase="not_started",
        message="",
        ray_status="",
        replicas=[],
        observed_generation=0,
        stale=False,
        version=1,
    )


def test_of_several_takers_of_a_lease_one_gets_it(database: Database) -> None:
    def take(number: int, own: Database) -> list[bool]:
        taken = []
        for turn in range(ROUNDS):
            with own.write() as session:
                taken.append(take_lease(session, f"turn {turn}", f"server {number}", now=NOW, lease_s=6))
        return taken

    taken = at_once(database.url, *(partial(take, number) for number in range(4)))
    with database.read() as session:
        for turn in range(ROUNDS):
            (winner,) = [number for number in range(4) if taken[number][turn]]
            assert find_holder(session, f"turn {turn}", now=NOW) == f"server {winner}"


def test_observations_of_an_older_generation_are_never_written(database: Database) -> None:
    with database.write() as session:
        session.add(row())

    def deploy(own: Database) -> int:
        for _ in range(ROUNDS):
            with own.write() as session:
                found = find_deployment(session, KEY)
                assert found is not None
                found.generation += 1
                found.version += 1
                found.phase = "deploying"
        return 0

    def look(own: Database) -> int:
        written = 0
        for _ in range(ROUNDS):
            with own.read() as session:
                seen = find_deployment(session, KEY)
                assert seen is not None
            with own.write() as session:
                values = {"phase": "running", "observed_generation": seen.generation}
                if observe(session, str(KEY), seen.generation, values):
                    written += 1
                    now = find_deployment(session, KEY)
                    assert now is not None
                    assert now.generation == seen.generation
        return written

    written = sum(at_once(database.url, *[deploy] * 4, *[look] * 4))
    with database.read() as session:
        end = find_deployment(session, KEY)
    assert end is not None
    assert end.generation == 1 + 4 * ROUNDS
    assert end.version == 1 + 4 * ROUNDS + written
    assert end.phase == ("running" if end.observed_generation == end.generation else "deploying")


def test_servers_that_start_at_once_make_the_tables_once(empty_database: Database) -> None:
    at_once(empty_database.url, upgrade, upgrade, upgrade, upgrade)
    with empty_database.read() as session:
        assert find_revision(session.connection()) == "0003"
