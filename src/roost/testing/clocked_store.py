"""A real object store whose objects have the age that a test's clock gives them, and that can be killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from sqlalchemy.orm import Session

from roost.records.database import Database
from roost.storage.backends import Backend
from roost.storage.store import ObjectInfo, ObjectStore
from roost.testing.fake_clock import FakeClock


class Killed(BaseException):
    """The process died here; nothing it would have done afterwards happens."""


class Life:
    """Counts the writes of a process and ends it at one of them.

    Attributes:
        writes: How many there were.
        ends_at: The number of the write at which the process dies, counted from 0; None: never.
        before: Called before each write with its number.
    """

    def __init__(self) -> None:
        self.writes = 0
        self.ends_at: int | None = None
        self.before: Callable[[int], None] = lambda _number: None

    def write(self) -> None:
        """One write is about to happen.

        Raises:
            Killed: at the write it ends at, and at all that follow.
        """
        number, self.writes = self.writes, self.writes + 1
        if self.ends_at is not None and number >= self.ends_at:
            raise Killed
        self.before(number)


class ClockedStore(ObjectStore):
    """An `ObjectStore` with times by a clock. In a folder an object keeps its own when it is moved."""

    clock: FakeClock
    life: Life

    def __init__(self, url: str, backend: Backend, folder: Path | None) -> None:
        super().__init__(url, backend, folder)
        self._modified: dict[str, datetime] = {}

    @classmethod
    def at(cls, url: str, clock: FakeClock, life: Life) -> ClockedStore:
        """Open `file:///...`, or `memory:///` as a bucket."""
        store = cls.open(url)
        assert isinstance(store, cls)
        store.clock, store.life = clock, life
        return store

    def put(self, path: str, data: bytes) -> None:
        """As `ObjectStore.put`."""
        self.life.write()
        super().put(path, data)
        self._modified[path] = self.clock.now()

    def move(self, path: str, to: str) -> None:
        """As `ObjectStore.move`."""
        self.life.write()
        super().move(path, to)
        self._moved(path, to)

    def put_back(self, path: str, to: str) -> None:
        """As `ObjectStore.put_back`."""
        self.life.write()
        super().put_back(path, to)
        self._moved(path, to)

    def delete(self, path: str) -> None:
        """As `ObjectStore.delete`."""
        self.life.write()
        super().delete(path)

    def list_infos(self, prefix: str = "") -> Iterator[ObjectInfo]:
        """As `ObjectStore.list_infos`, with the clock's times."""
        for info in super().list_infos(prefix):
            yield replace(info, modified=self._modified.get(info.path, self.clock.now()))

    def _moved(self, path: str, to: str) -> None:
        kept = self._modified.get(path, self.clock.now())
        self._modified[to] = kept if self._folder is not None else self.clock.now()


class MortalDatabase(Database):
    """Records whose writer can be killed.

    Attributes:
        life: Shared with the store of the same process.
    """

    life: Life

    @contextmanager
    def write(self) -> Iterator[Session]:
        """As `Database.write`."""
        self.life.write()
        with super().write() as session:
            yield session
