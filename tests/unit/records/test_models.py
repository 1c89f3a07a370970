from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import get_args

import pytest
from sqlalchemy.exc import IntegrityError

from roost.contracts.model import ModelPhase
from roost.keys import ModelKey
from roost.records.claims import find_claim, put_claim
from roost.records.database import Database
from roost.records.models import ModelFilter, ModelRow, count_models, find_model, page_models

NOW = datetime(2026, 1, 1, tzinfo=UTC)
EVERY = ModelFilter()


def row(key: str, *, finished: bool = True) -> ModelRow:
    family, suffix, run_name = key.split("/")
    return ModelRow(family=family, suffix=suffix, run_name=run_name, created_at=NOW, finished=finished)


def add(database: Database, *rows: ModelRow) -> None:
    with database.write() as session:
        session.add_all(rows)


def claim(database: Database, key: str, *, left_s: float) -> None:
    with database.write() as session:
        put_claim(
            session,
            ModelKey.parse(key),
            token=f"of {key}",
            mode="save",
            writer="me",
            now=NOW,
            expires_at=NOW + timedelta(seconds=left_s),
        )


def page(
    database: Database, which: ModelFilter = EVERY, *, limit: int = 100, offset: int = 0
) -> tuple[list[str], int]:
    with database.read() as session:
        rows, total = page_models(session, which, now=NOW, limit=limit, offset=offset)
        return [str(model.key) for model, _ in rows], total


def test_pages_follow_the_key_whatever_the_order_of_writing(database: Database) -> None:
    keys = [f"{family}/{suffix}/{run}" for family in "ab" for suffix in "cde" for run in ("f", "g")]
    shuffled = random.Random(7).sample(keys, len(keys))
    add(database, *(row(key) for key in shuffled))
    assert page(database) == (keys, 12)
    assert page(database, limit=5) == (keys[:5], 12)
    assert page(database, limit=5, offset=5) == (keys[5:10], 12)
    assert page(database, limit=5, offset=10) == (keys[10:], 12)
    assert page(database, limit=5, offset=50) == ([], 12)


def test_filters(database: Database) -> None:
    add(database, row("a/c/r1"), row("a/d/r2"), row("b/c/r1"), row("b/c/r10"))
    assert page(database, ModelFilter(family="b")) == (["b/c/r1", "b/c/r10"], 2)
    assert page(database, ModelFilter(suffix="c")) == (["a/c/r1", "b/c/r1", "b/c/r10"], 3)
    assert page(database, ModelFilter(run_name="r1")) == (["a/c/r1", "b/c/r1"], 2)
    assert page(database, ModelFilter(family="a", run_name="r2")) == (["a/d/r2"], 1)
    assert page(database, ModelFilter(family="a", suffix="c", run_name="r2")) == ([], 0)


def test_every_phase_is_found_by_its_filter(database: Database) -> None:
    add(database, row("a/b/ready"), row("a/b/resaved"), row("a/b/relapsed"))
    for name in ("uploading", "broken", "just-lapsed", "failed"):
        add(database, row(f"a/b/{name}", finished=False))
    claim(database, "a/b/resaved", left_s=9)
    claim(database, "a/b/relapsed", left_s=-9)
    claim(database, "a/b/uploading", left_s=0.001)
    claim(database, "a/b/broken", left_s=-9)
    claim(database, "a/b/just-lapsed", left_s=0)
    expected: dict[ModelPhase, list[str]] = {
        "ready": ["a/b/ready", "a/b/relapsed", "a/b/resaved"],
        "uploading": ["a/b/uploading"],
        "broken": ["a/b/broken", "a/b/just-lapsed"],
        "upload_failed": ["a/b/failed"],
    }
    assert set(expected) == set(get_args(ModelPhase))
    for phase, keys in expected.items():
        assert page(database, ModelFilter(phase=phase)) == (keys, len(keys))
        assert page(database, ModelFilter(phase=phase), limit=1) == (keys[:1], len(keys))


def test_each_entry_comes_with_its_claim(database: Database) -> None:
    add(database, row("a/b/one"), row("a/b/two", finished=False))
    claim(database, "a/b/two", left_s=9)
    with database.read() as session:
        rows, _ = page_models(session, ModelFilter(), now=NOW, limit=9, offset=0)
    assert [(model.run_name, claim.token if claim else None) for model, claim in rows] == [
        ("one", None),
        ("two", "of a/b/two"),
    ]


def test_a_claim_replaces_the_one_before_and_goes_with_its_model(database: Database) -> None:
    key = ModelKey("a", "b", "c")
    add(database, row("a/b/c", finished=False))
    claim(database, "a/b/c", left_s=1)
    claim(database, "a/b/c", left_s=2)
    with database.read() as session:
        held = find_claim(session, key)
        assert held is not None
        assert held.expires_at == NOW + timedelta(seconds=2)
        assert count_models(session) == 1
    with database.write() as session:
        model = find_model(session, key)
        session.delete(model)
    with database.read() as session:
        assert find_claim(session, key) is None


def test_a_claim_needs_a_model(database: Database) -> None:
    with pytest.raises(IntegrityError):
        claim(database, "no/such/model", left_s=1)
