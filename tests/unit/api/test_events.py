"""The route of events."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from roost.api.errors import install_error_handlers
from roost.api.events import events_router
from roost.records.database import Database
from roost.records.events import Happening, add_event
from roost.records.tables import METADATA
from roost.services.changes import Changes
from roost.services.events import Events
from roost.testing.fake_clock import EPOCH


class WatchedChanges(Changes):
    """Says when a coroutine begins to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = asyncio.Event()

    async def wait(self, seen: int, timeout_s: float) -> int:
        self.waiting.set()
        return await super().wait(seen, timeout_s)


class Api:
    """The app over real records."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.changes = WatchedChanges()
        self.app = FastAPI()
        install_error_handlers(self.app)
        self.app.include_router(events_router(Events(db), self.changes))

    def write(self, *subjects: str) -> None:
        with self._db.write() as session:
            for subject in subjects:
                add_event(session, Happening("deployed", subject, "m", {"generation": 1}), EPOCH)
        self.changes.notify()

    def get(self, **params: Any) -> httpx2.Response:
        async def send() -> httpx2.Response:
            async with self.client() as client:
                return await client.get("/api/events", params=params)

        return asyncio.run(send())

    def ids(self, **params: Any) -> list[int]:
        return [item["id"] for item in self.get(**params).json()["items"]]

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=self.app), base_url="http://roost")


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    db = Database(f"sqlite:///{tmp_path}/roost.db")
    METADATA.create_all(db.engine)
    yield Api(db)
    db.close()


def test_an_event_on_the_wire(api: Api) -> None:
    api.write("f/s/r")
    assert api.get().json() == {
        "items": [
            {
                "id": 1,
                "at": "2026-01-01T00:00:00Z",
                "kind": "deployed",
                "subject": "f/s/r",
                "message": "m",
                "data": {"generation": 1},
            }
        ]
    }


def test_the_last_or_those_after_one(api: Api) -> None:
    api.write("f/s/a", "f/s/b", "f/s/a@0123456789ab", "f/s/a")
    assert api.ids(limit=2) == [3, 4]
    assert api.ids(afterId=1, limit=2) == [2, 3]
    assert api.ids(subject="f/s/a") == [1, 4]
    assert api.ids(subject="f/s/a@0123456789ab") == [3]
    assert api.ids(afterId=4) == []
    assert api.ids(afterId=2**63 - 1) == []


@pytest.mark.parametrize(
    "params",
    [{"limit": 0}, {"limit": 1001}, {"afterId": -1}, {"afterId": 2**63}, {"waitS": 31}, {"waitS": -1}],
)
def test_what_is_out_of_range_is_refused(api: Api, params: dict[str, Any]) -> None:
    answer = api.get(**params)
    assert answer.status_code == 422
    assert next(iter(params)) in answer.text


def test_a_subject_that_is_no_key_is_refused_by_name(api: Api) -> None:
    answer = api.get(subject="f/s")
    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "bad_request"
    assert "'f/s'" in answer.json()["error"]["message"]


def test_who_waits_hears_of_the_next_of_its_own(api: Api) -> None:
    api.write("f/s/a")

    async def wait() -> httpx2.Response:
        async with api.client() as client:
            asked = asyncio.create_task(
                client.get("/api/events", params={"subject": "f/s/a", "afterId": 1, "waitS": 30})
            )
            await api.changes.waiting.wait()
            api.changes.waiting.clear()
            await asyncio.to_thread(api.write, "f/s/b")
            await api.changes.waiting.wait()
            assert not asked.done()
            await asyncio.to_thread(api.write, "f/s/a")
            return await asked

    assert [item["id"] for item in asyncio.run(wait()).json()["items"]] == [3]


def test_without_an_id_nobody_waits(api: Api) -> None:
    assert api.ids(waitS=30) == []
    assert not api.changes.waiting.is_set()


def test_a_server_that_ends_lets_waiters_go(api: Api) -> None:
    api.changes.close()
    assert api.ids(afterId=0, waitS=30) == []
