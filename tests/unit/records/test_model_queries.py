"""How SQLite answers the registry's queries."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import event

from roost.records.database import Database
from roost.records.models import ModelFilter, page_models

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "which",
    [
        ModelFilter(),
        ModelFilter(family="f"),
        ModelFilter(family="f", suffix="s"),
        ModelFilter(suffix="s"),
        ModelFilter(run_name="r"),
        ModelFilter(phase="ready"),
        ModelFilter(phase="broken"),
    ],
)
def test_no_page_is_sorted_by_hand_and_no_table_read_whole(database: Database, which: ModelFilter) -> None:
    statements: list[tuple[str, Any]] = []
    event.listen(database.engine, "before_cursor_execute", lambda _c, _k, sql, values, *_: note(sql, values))

    def note(sql: str, values: Any) -> None:
        if sql.startswith("SELECT"):
            statements.append((sql, values))

    with database.read() as session:
        page_models(session, which, now=NOW, limit=100, offset=0)
    plans = [line for sql, values in statements for line in explain(database, sql, values)]
    assert len(statements) == 2
    assert not [line for line in plans if "TEMP B-TREE" in line]
    assert not [line for line in plans if line in ("SCAN models", "SCAN claims")]


def explain(database: Database, sql: str, values: Any) -> list[str]:
    with database.engine.connect() as connection:
        return [str(line[3]) for line in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql}", values)]
