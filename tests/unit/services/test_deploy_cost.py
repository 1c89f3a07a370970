"""What a deploy costs the records: statements are counted, since time depends on the machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from roost.contracts.deployment import DeployRequest
from roost.keys import ModelKey
from roost.records.database import Database
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

MODEL = ModelKey("f", "s", "r")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = InProcessServer(tmp_path)
    server.deployments._wake = lambda: None  # the reconciler's own statements do not count
    save_ready_model(server.db, MODEL)
    yield server
    server.close()


@contextmanager
def counted(db: Database) -> Iterator[list[str]]:
    """The statements that run meanwhile: their first word and table."""
    found: list[str] = []

    def note(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        words = statement.replace('"', "").split()
        after = {"SELECT": "FROM", "UPDATE": "UPDATE", "INSERT": "INTO"}.get(words[0])
        found.append(f"{words[0]} {words[words.index(after) + 1]}" if after else words[0])

    event.listen(db.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(db.engine, "before_cursor_execute", note)


def deploy(server: InProcessServer, **request: Any) -> None:
    server.deployments.deploy(MODEL, DeployRequest(**request))


def test_a_first_deploy_and_one_that_changes_the_code(server: InProcessServer) -> None:
    read = ["BEGIN", "SELECT emptyings", "SELECT deployments", "SELECT models"]
    checked = ["BEGIN", "SELECT emptyings", "SELECT models", "SELECT deployments"]
    with counted(server.db) as first:
        deploy(server)
    # Who has the name is asked once: a deployment that keeps its name has it.
    assert first == [*read, *checked, "SELECT deployments", "INSERT deployments", "INSERT events"]
    save_ready_model(server.db, MODEL, bundle="c" * 64)
    with counted(server.db) as update:
        deploy(server)
    assert update == [*read, *checked, "UPDATE deployments", "INSERT events"]


def test_one_that_changes_nothing_only_reads(server: InProcessServer) -> None:
    deploy(server)
    with counted(server.db) as again:
        deploy(server)
    assert again == ["BEGIN", "SELECT emptyings", "SELECT deployments", "SELECT models"]
