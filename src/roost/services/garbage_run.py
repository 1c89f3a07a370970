"""One collection, step by step. Killed between any two of them, it leaves all that is needed in reach.

1. What nothing refers to is noted in the records, moved to the trash, and noted as moved.
2. In one transaction the records say that the trash is emptied, and are read again: an upload that was
   finished meanwhile, or is still under way, is seen.
3. What is needed after all is brought back; what has lain in the trash for the grace, and was moved there
   before every upload under way began, is deleted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypeVar

from roost.contracts.garbage import GarbageReason, GarbageReport
from roost.records.database import Database
from roost.records.trash import (
    forget_trash,
    note_emptying,
    note_moved,
    note_moving,
    read_trash,
    settle_moves,
)
from roost.services.clock import Clock
from roost.services.garbage_tally import GarbageTally
from roost.services.garbage_turn import GarbageTurn
from roost.services.references import References, read_references
from roost.storage.garbage import KINDS, Judge, Needed, Stored, list_stored, list_trash
from roost.storage.needed_chunks import NeededChunks
from roost.storage.store import ObjectStore
from roost.storage.trash import bring_back, throw_away, trash_path

_BATCH: Final = 200
"""Objects that are noted, then moved or deleted, together."""

_MOVERS: Final = 8
_KEEP_EVERY: Final = 500

Result = TypeVar("Result")


class GarbageRun:
    """See the module.

    Args:
        turn: Held for the whole run.
        always: Names that are needed whatever the records refer to.
    """

    def __init__(
        self,
        db: Database,
        store: ObjectStore,
        clock: Clock,
        turn: GarbageTurn,
        *,
        grace: timedelta,
        dry_run: bool,
        always: frozenset[str],
    ) -> None:
        self._db = db
        self._store = store
        self._clock = clock
        self._turn = turn
        self._grace = grace
        self._dry_run = dry_run
        self._always = always
        self._chunks = NeededChunks(store)
        self._tally = GarbageTally()
        self._pool = ThreadPoolExecutor(_MOVERS, thread_name_prefix="roost-garbage")

    def perform(self) -> GarbageReport:
        """Do it; what was done."""
        with self._pool:
            self._turn.keep()
            with self._db.read() as session:
                references = read_references(session, self._clock.now())
            judge = self._judge(references)
            moved = list(self._move(judge))
            self._empty(moved if self._dry_run else [])
            self._clear_incoming(judge)
        return GarbageReport(
            dry_run=self._dry_run,
            grace_s=self._grace.total_seconds(),
            lines=self._tally.lines(),
            notes=self._notes(references),
        )

    def _judge(self, references: References) -> Judge:
        chunks = self._chunks.of(references.weights, self._turn.keep)
        needed = Needed(
            names=references.names | chunks | self._always,
            chunks_known=not references.notes and not self._unreadable(references),
            uploading_since=references.uploading_since,
        )
        return Judge(needed, self._clock.now(), self._grace, self._store.exists)

    def _move(self, judge: Judge) -> Iterator[Stored]:
        """Yields what was moved."""
        for kind in KINDS:
            if kind == "incoming":
                continue
            reason: GarbageReason = "set aside as corrupt" if kind == "corrupt" else "nothing refers to it"
            for batch in self._garbage(list_stored(self._store, kind), judge.stored):
                for item in batch if self._dry_run else self._throw_away(batch):
                    self._tally.add(item, "moved", reason)
                    yield replace(item, modified=judge.now)

    def _throw_away(self, batch: list[Stored]) -> list[Stored]:
        with self._db.write() as session:
            self._turn.require(session)
            note_moving(session, [(item.path, item.size) for item in batch])
        done = self._each(lambda path: throw_away(self._store, path), batch)
        moved = [item for item, was_there in zip(batch, done, strict=True) if was_there]
        with self._db.write() as session:
            self._turn.require(session)
            # Only from now on it is certain that no upload that begins can still have seen it in its place.
            note_moved(session, [item.path for item in moved], self._clock.now())
            forget_trash(session, [item.path for item in batch if item not in moved])
        return moved

    def _empty(self, simulated: list[Stored]) -> None:
        references, noted = self._begin_emptying()
        judge = self._judge(references)
        found = (*_since(list_trash(self._store), noted, judge.now), *simulated)
        self._note_unnoted([item for item in found if item.path not in noted])
        for batch in self._garbage(found, judge.trashed, in_trash=True):
            for item in batch:
                self._tally.add(item, "freed", "in the trash for the grace")
            if not self._dry_run:
                self._each(lambda path: self._store.delete(trash_path(path)), batch)
                self._forget([item.path for item in batch])
        self._forget(sorted(noted.keys() - {item.path for item in found}))

    def _begin_emptying(self) -> tuple[References, dict[str, datetime]]:
        """From the moment of this transaction on, what is written refers to nothing that is deleted below."""
        now = self._clock.now()
        if self._dry_run:
            with self._db.read() as session:
                return read_references(session, now), read_trash(session)
        with self._db.write() as session:
            self._turn.require(session)
            settle_moves(session, now)
            note_emptying(session)
            return read_references(session, now), read_trash(session)

    def _clear_incoming(self, judge: Judge) -> None:
        for batch in self._garbage(list_stored(self._store, "incoming"), judge.stored):
            for item in batch:
                self._tally.add(item, "freed", "its writer has died")
            if not self._dry_run:
                self._each(self._store.delete, batch)

    def _garbage(
        self,
        items: Iterable[Stored],
        why_kept: Callable[[Stored], GarbageReason | None],
        *,
        in_trash: bool = False,
    ) -> Iterator[list[Stored]]:
        """Batches of what is not kept. What is needed and lies in the trash is brought back."""
        batch: list[Stored] = []
        for number, item in enumerate(items):
            if number % _KEEP_EVERY == 0:
                self._turn.keep()
            reason = why_kept(item)
            if reason is None:
                batch.append(item)
                if len(batch) == _BATCH:
                    yield batch
                    batch = []
            elif in_trash and reason == "in use":
                if self._dry_run or bring_back(self._store, item.path):
                    self._tally.add(item, "restored", reason)
            else:
                self._tally.add(item, "kept", "waits in the trash" if in_trash else reason)
        if batch:
            yield batch

    def _note_unnoted(self, items: list[Stored]) -> None:
        """Records of an earlier day were put back: what lies in the trash unknown to them counts as new."""
        if items and not self._dry_run:
            with self._db.write() as session:
                self._turn.require(session)
                note_moving(session, [(item.path, item.size) for item in items])
                note_moved(session, [item.path for item in items], self._clock.now())

    def _forget(self, paths: list[str]) -> None:
        if paths and not self._dry_run:
            with self._db.write() as session:
                self._turn.require(session)
                forget_trash(session, paths)

    def _each(self, work: Callable[[str], Result], batch: list[Stored]) -> list[Result]:
        return list(self._pool.map(work, [item.path for item in batch]))

    def _unreadable(self, references: References) -> set[str]:
        return self._chunks.unreadable & references.weights.keys()

    def _notes(self, references: References) -> list[str]:
        notes = [
            f"The manifest {digest!r} of {references.weights[digest]} cannot be read; "
            "`roost models verify` tells more. No chunk is collected until it is saved again or removed."
            for digest in sorted(self._unreadable(references))
        ]
        return [*(f"{note} No chunk is collected." for note in references.notes), *notes]


def _since(items: Iterable[Stored], noted: dict[str, datetime], now: datetime) -> Iterator[Stored]:
    """With the moment from which each lies in the trash."""
    return (replace(item, modified=noted.get(item.path, now)) for item in items)
