"""10,000 entries: each page is two queries, answered by an index, whatever the filter and however far in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import event, insert, text

from roost.contracts.model import ModelPhase
from roost.keys import ModelKey
from roost.records.claims import ClaimRow
from roost.records.database import Database
from roost.records.models import ModelFilter, ModelRow, page_models
from roost.records.upgrade import upgrade
from roost.services.models import Models
from roost.testing.fake_clock import FakeClock
from roost.testing.memory_store import MemoryStore
from roost.testing.postgres import PostgresServer

NOW = datetime(2026, 1, 1, tzinfo=UTC)
FAMILIES, SUFFIXES, RUNS = 20, 25, 20
LAST = ModelKey("f19", "s24", "r17")
MOST_READ = 1000
"""Most rows that may be read for one page."""

FILTERS = [
    ModelFilter(),
    ModelFilter(family="f7"),
    ModelFilter(family="f7", suffix="s3"),
    ModelFilter(suffix="s3"),
    ModelFilter(run_name="r5"),
    ModelFilter(phase="ready"),
    ModelFilter(phase="uploading"),
    ModelFilter(phase="broken"),
    ModelFilter(phase="upload_failed"),
]


@dataclass(frozen=True)
class Many:
    """10,000 models in a database that knows how many there are."""

    db: Database
    models: Models

    @contextmanager
    def queries(self) -> Iterator[list[tuple[str, Any]]]:
        """The SELECT statements that are sent meanwhile, with their parameters."""
        seen: list[tuple[str, Any]] = []

        def note(_connection: Any, _cursor: Any, sql: str, values: Any, *_: Any) -> None:
            if sql.startswith("SELECT"):
                seen.append((sql, values))

        event.listen(self.db.engine, "before_cursor_execute", note)
        try:
            yield seen
        finally:
            event.remove(self.db.engine, "before_cursor_execute", note)

    def assert_answered_by_an_index(self, sql: str, values: Any) -> None:
        """No table is read whole, and neither is all of an index sorted."""
        with self.db.engine.connect() as connection:
            if self.db.engine.name == "sqlite":
                found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)
                lines = [str(line[3]) for line in found]
                assert not {"SCAN models", "SCAN claims", "USE TEMP B-TREE FOR ORDER BY"} & set(lines), lines
                assert any("models USING" in line for line in lines), lines
                return
            plan = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", values).scalar_one()
        scans = list(_scans(plan[0]["Plan"], "models"))
        assert "Seq Scan" not in {scan["Node Type"] for scan in scans}, scans
        assert 0 <= sum(map(_rows_read, scans)) <= MOST_READ, scans


def _scans(plan: dict[str, Any], table: str) -> Iterator[dict[str, Any]]:
    if plan.get("Relation Name") == table:
        yield plan
    for child in plan.get("Plans", ()):
        yield from _scans(child, table)


def _rows_read(scan: dict[str, Any]) -> int:
    each = scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)
    return int(each * scan["Actual Loops"])


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def many(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Many]:
    if request.param == "sqlite":
        url = f"sqlite:///{tmp_path_factory.mktemp('many')}/records.db"
    else:
        postgres: PostgresServer = request.getfixturevalue("postgres")
        url = postgres.new_database()
    database = Database(url)
    upgrade(database)
    with database.write() as session:
        session.execute(insert(ModelRow), list(_rows()))
        session.execute(insert(ClaimRow), list(_claims()))
    with database.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("ANALYZE"))
    yield Many(database, Models(database, MemoryStore(), FakeClock()))
    database.close()


def _rows() -> Iterator[dict[str, Any]]:
    for family in range(FAMILIES):
        for suffix in range(SUFFIXES):
            for run in range(RUNS):
                key = {"family": f"f{family}", "suffix": f"s{suffix}", "run_name": f"r{run}"}
                # A few of the last are being written.
                yield {**key, "created_at": NOW, "finished": not (family == 19 and run > 17), "pins": []}


def _claims() -> Iterator[dict[str, Any]]:
    for suffix in range(SUFFIXES):
        key = {"family": "f19", "suffix": f"s{suffix}", "run_name": "r19"}
        ends = NOW.replace(year=2027 if suffix % 2 else 2025)
        yield {**key, "token": "t", "mode": "save", "writer": "w", "started_at": NOW, "expires_at": ends}


@pytest.mark.parametrize("after", [None, ModelKey("f7", "s3", "r2"), LAST], ids=["first", "middle", "last"])
def test_a_page_is_two_queries_and_read_by_an_index(many: Many, after: ModelKey | None) -> None:
    for which in FILTERS:
        with many.queries() as seen, many.db.read() as session:
            page_models(session, which, now=NOW, limit=100, after=after)
        assert len(seen) == 2
        many.assert_answered_by_an_index(*seen[0])


def test_counts_of_all_phases(many: Many) -> None:
    counted: dict[ModelPhase, int] = {"ready": 9950, "uploading": 12, "broken": 13, "upload_failed": 25}
    for phase, count in counted.items():
        with many.queries() as seen:
            page = many.models.list(phase=phase, limit=1000)
        assert (page.total, len(page.items), len(seen)) == (count, min(count, 1000), 2)


def test_paging_through_all_of_them_meets_each_once(many: Many) -> None:
    with many.queries() as seen:
        found: list[ModelKey] = []
        while items := many.models.list(limit=1000, after=found[-1] if found else None).items:
            found += [item.key for item in items]
    assert len(seen) == 2 * 11
    assert len(found) == len(set(found)) == 10_000
    assert found == sorted(found)


def test_showing_and_missing_one_is_a_bounded_number_of_queries(many: Many) -> None:
    with many.queries() as seen:
        many.models.get(LAST)
    assert len(seen) == 1
    with many.queries() as seen:
        assert many.models.find(ModelKey("f", "s", "r")) is None
    assert len(seen) == 1
