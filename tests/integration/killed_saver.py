"""Saves a model in one process a save, and kills it where it is told; `test_save_kills.py` leads it.

Argument: the folder of the records and the storage. Each line on stdin is one save: the directory of the
weights, the step at which it is killed (or -1) and what its clock says. It answers with one line: the steps
that were taken, or `killed`. A step is a file that is opened for writing, a flush, or a statement of SQL.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

from sqlalchemy import event

from roost.bundle import pack, trace
from roost.client import control_calls
from roost.contracts.servable import ServableRef
from roost.keys import ModelKey
from roost.sdk.publish import Entry, Publisher, Servable
from roost.sdk.sources.weights import WeightsSource
from roost.storage.store import ObjectStore
from roost.testing.in_process import InProcessServer

KEY = ModelKey("yolo", "coco", "run-1")


class Steps:
    """Counts the steps of this process, and ends it before the one at which it is to be killed."""

    def __init__(self, kill_at: int) -> None:
        self._kill_at = kill_at
        self._numbers = itertools.count()
        self.taken = 0

    def step(self, *_: object) -> None:
        """Another one."""
        number = next(self._numbers)
        self.taken = max(self.taken, number + 1)
        if number == self._kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(self, server: InProcessServer) -> None:
        """Begin to count."""
        fsync = os.fsync

        def flush(fd: Any) -> None:
            self.step()
            fsync(fd)

        os.fsync = flush
        sys.addaudithook(self._audit)
        for name in ("before_cursor_execute", "commit"):
            event.listen(server.db.engine, name, self.step)

    def _audit(self, name: str, arguments: tuple[Any, ...]) -> None:
        if name == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_CREAT):
            self.step()


def server_of(folder: Path, now: datetime) -> InProcessServer:
    """A server over the records and the storage in the folder, whose clock stands at `now`."""
    objects = ObjectStore.open((folder / "storage").as_uri())
    server = InProcessServer(folder, objects=objects)
    set_clock(server, now)
    return server


def set_clock(server: InProcessServer, now: datetime) -> None:
    """Let the server's clock say `now`."""
    server.clock.advance((now - server.clock.now()).total_seconds())


def entry_of(folder: Path) -> Entry:
    """What is saved beside the weights."""
    (folder / "code").mkdir(exist_ok=True)
    (folder / "code" / "saved_model.py").write_text("class Model:\n    pass\n")
    sys.path.insert(0, str(folder / "code"))
    module = __import__("saved_model")
    bundle = pack(trace(module.Model))
    ref = ServableRef(
        class_path=bundle.class_path, kind="serve_app", bundle_fingerprint=bundle.fingerprint, pins=[]
    )
    return Entry(Servable(ref, bundle), None, None)


def save(server: InProcessServer, entry: Entry, tree: Path) -> None:
    """Save as `roost.save_model` does."""
    publisher = Publisher(server.client())
    publisher.publish(KEY, publisher.claim(KEY, "save"), entry, WeightsSource(tree))


def warm_up(folder: Path) -> None:
    """Load here what each process would load by itself. No storage: its threads would not be forked."""
    (folder / "warm").mkdir()
    server = InProcessServer(folder / "warm")
    server.client().run(control_calls.info())
    server.close()


def main(folder: Path) -> None:
    """Fork a process for each line."""
    entry = entry_of(folder)
    warm_up(folder)
    assert threading.active_count() == 1
    for line in sys.stdin:
        order = json.loads(line)
        pid = os.fork()
        if pid == 0:
            server = server_of(folder, datetime.fromisoformat(order["now"]))
            steps = Steps(order["kill_at"])
            steps.watch(server)
            save(server, entry, Path(order["tree"]))
            print(steps.taken, flush=True)
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            print("killed", flush=True)
        elif status:
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
