"""Collects garbage: what is stored and nothing refers to goes to the trash, and later from there."""

from __future__ import annotations

import logging
import secrets
import threading
from collections.abc import Sequence
from datetime import timedelta

from roost.contracts.garbage import GarbageReport
from roost.records.database import Database
from roost.services.clock import Clock
from roost.services.garbage_run import GarbageRun
from roost.services.garbage_turn import GarbageTurn
from roost.services.references import names_in
from roost.storage.store import ObjectStore

_log = logging.getLogger("roost.garbage")


class Garbage:
    """Collections of one server.

    Args:
        holder: Names this server among the servers of one database.
        grace_s: What is younger is left alone, unless a collection is asked for with another grace.
        runtimes: Names or URIs of what replicas run besides bundles; never garbage.
    """

    def __init__(
        self,
        db: Database,
        store: ObjectStore,
        clock: Clock,
        *,
        holder: str,
        grace_s: float,
        runtimes: Sequence[str] = (),
    ) -> None:
        self._db = db
        self._store = store
        self._clock = clock
        self._holder = holder
        self._grace_s = grace_s
        self._always = frozenset(name for text in runtimes for name in names_in(text))
        self._stopping = threading.Event()

    def collect(self, *, dry_run: bool = False, grace_s: float | None = None) -> GarbageReport:
        """Move garbage to the trash, bring back what is needed after all, delete what has lain there enough.

        A run that is killed leaves nothing broken; the next one goes on. With `dry_run` nothing is changed.

        Raises:
            Conflict: while another run is under way, on any server.
            Unavailable: the storage or the records do not answer.
        """
        grace_s = self._grace_s if grace_s is None else grace_s
        holder = f"{self._holder}/{secrets.token_hex(4)}"
        with GarbageTurn(self._db, self._clock, holder=holder, stopping=self._stopping) as turn:
            run = GarbageRun(
                self._db,
                self._store,
                self._clock,
                turn,
                grace=timedelta(seconds=grace_s),
                dry_run=dry_run,
                always=self._always,
            )
            report = run.perform()
        _say(report)
        return report

    def close(self) -> None:
        """End the run under way at its next step."""
        self._stopping.set()


def _say(report: GarbageReport) -> None:
    (moved, moved_bytes), (freed, freed_bytes) = report.total("moved"), report.total("freed")
    if not report.dry_run and (moved or freed):
        _log.info(
            "Garbage: %d objects (%d bytes) moved to the trash, %d (%d bytes) deleted",
            moved,
            moved_bytes,
            freed,
            freed_bytes,
        )
    for note in report.notes:
        _log.warning("Garbage: %s", note)
