"""One round of each system that saves and loads a tree, for bench/registry.py."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from bench.setup_peers import python_of
from roost.storage.local_tree import remove_tree
from roost.storage.transfer import WORKERS
from roost.testing.seaweedfs import SeaweedServer, find_program

Taken = dict[str, Any]
ROOST: Final = "roost"
COPY: Final = "cp -r, then sha256sum of the copy"
COPY_SYNC: Final = "the same, then sync"
BOTO: Final = "boto3, default"
BOTO_SAME: Final = f"boto3, {WORKERS} threads"
RCLONE: Final = "rclone copy, default"
_BUCKET: Final = "roost"


class Runs:
    """What was taken, by system and action."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], list[Taken]] = {}

    def add(self, name: str, action: str, taken: Taken) -> None:
        """Note one run, and show it."""
        self._taken.setdefault((name, action), []).append(taken)
        print(f"  {action} by {name}: {taken['seconds']:.2f} s", flush=True)

    def names(self) -> list[str]:
        """The systems in the order in which they first ran."""
        return list(dict.fromkeys(name for name, _ in self._taken))

    def median(self, name: str, action: str, field: str) -> float | None:
        """The median; None when it was not taken."""
        found = [taken[field] for taken in self._taken.get((name, action), []) if field in taken]
        return statistics.median(found) if found else None

    def most(self, field: str) -> float:
        """The largest that Roost ever had."""
        return max(taken[field] for (name, _), runs in self._taken.items() if name == ROOST for taken in runs)


class Roost:
    """Roost's client over one storage, each transfer in a process of its own."""

    def __init__(self, url: str, environment: Mapping[str, str] | None = None) -> None:
        self._url = url
        self._environment = environment

    def save(self, tree: Path) -> Taken:
        """Store the tree."""
        return _clients([self._command("save", str(tree))], self._environment)[0]

    def load(self, digest: str, cache: Path, *, processes: int = 1) -> list[Taken]:
        """Bring it into a node's cache, by several processes that begin at once."""
        return _clients([self._command("load", digest, str(cache))] * processes, self._environment)

    def _command(self, action: str, what: str, *more: str) -> list[str]:
        return [sys.executable, "-m", "bench.registry_client", action, what, self._url, *more]


def on_disk(runs: Runs, tree: Path, folder: Path, at: int) -> None:
    """One round on disk; odd rounds the other way round."""
    for name in (COPY, ROOST) if at % 2 == 0 else (ROOST, COPY):
        with _fresh(folder):
            if name == COPY:
                copied, synced = _copy(tree, folder / "copy")
                for action in ("save", "load"):
                    runs.add(COPY, action, copied)
                    runs.add(COPY_SYNC, action, synced)
            else:
                ours = Roost((folder / "storage").as_uri())
                _save_and_load(runs, ours, tree, folder / "cache")


def on_bucket(runs: Runs, tree: Path, folder: Path, at: int) -> None:
    """One round on a fresh SeaweedFS; each begins with the next system."""
    systems = [BOTO, ROOST, BOTO_SAME, *([RCLONE] if shutil.which("rclone") else [])]
    with _fresh(folder), _seaweed() as server:
        for name in systems[at % len(systems) :] + systems[: at % len(systems)]:
            target = folder / "target"
            if name == ROOST:
                _save_and_load(runs, Roost(server.new_url(), server.environment), tree, target)
            elif name == RCLONE:
                _rclone(runs, server, tree, target)
            else:
                _boto(runs, name, server, tree, target)
            remove_tree(target)


def _save_and_load(runs: Runs, ours: Roost, tree: Path, cache: Path) -> None:
    saved = ours.save(tree)
    runs.add(ROOST, "save", saved)
    (loaded,) = ours.load(saved["result"], cache)
    runs.add(ROOST, "load", loaded)
    runs.add(ROOST, "warm load", ours.load(saved["result"], cache)[0])


def _boto(runs: Runs, name: str, server: SeaweedServer, tree: Path, target: Path) -> None:
    program = [str(python_of("boto3")), str(Path(__file__).parent / "peers" / "boto_client.py")]
    rest = [_BUCKET, f"boto-{time.time_ns()}", str(WORKERS if name == BOTO_SAME else 0)]
    for action, place in (("save", tree), ("load", target)):
        (taken,) = _clients([[*program, action, str(place), *rest]], server.environment)
        runs.add(name, action, taken)


def _rclone(runs: Runs, server: SeaweedServer, tree: Path, target: Path) -> None:
    options = ("provider=Other", "env_auth=true", f"endpoint='{server.endpoint}'")
    # rclone takes no bundle of certificates, and none is needed here.
    env = {name: value for name, value in os.environ.items() if name != "AWS_CA_BUNDLE"} | server.environment
    remote = f":s3,{','.join(options)}:{_BUCKET}/rclone-{time.time_ns()}"
    for action, source, to in (("save", str(tree), remote), ("load", remote, str(target))):
        command = ["rclone", "--config", "/dev/null", "copy", source, to]
        runs.add(RCLONE, action, _timed(command, env))


def _copy(tree: Path, copy: Path) -> tuple[Taken, Taken]:
    """`cp -r` and `sha256sum` of all; and what `sync` takes after that."""
    hashing = ["sh", "-c", 'find "$1" -type f -print0 | xargs -0 sha256sum', "hash", str(copy)]
    steps = [_timed(["cp", "-r", str(tree), str(copy)])["seconds"]]
    steps += [_timed(command, flush=False)["seconds"] for command in (hashing, ["sync", "-f", str(copy)])]
    return {"seconds": sum(steps[:2])}, {"seconds": sum(steps)}


def _timed(command: Sequence[str], env: Mapping[str, str] | None = None, *, flush: bool = True) -> Taken:
    if flush:
        os.sync()
    started = time.perf_counter()
    subprocess.run(command, check=True, env=env, stdout=subprocess.DEVNULL)
    return {"seconds": time.perf_counter() - started}


def _clients(commands: Sequence[Sequence[str]], environment: Mapping[str, str] | None) -> list[Taken]:
    """Start all, let them begin at once when all are ready, and take what they print."""
    env = {**os.environ, **(environment or {})}
    started = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
        for command in commands
    ]
    for process in started:
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            raise RuntimeError(f"{process.args!r} ended with {process.wait()}")
    os.sync()
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise RuntimeError(f"{started[0].args!r} failed")
    return [json.loads(output) for output in outputs]


@contextmanager
def _fresh(folder: Path) -> Iterator[None]:
    folder.mkdir(parents=True)
    try:
        yield
    finally:
        remove_tree(folder)


@contextmanager
def _seaweed() -> Iterator[SeaweedServer]:
    program = find_program()
    if program is None:
        raise SystemExit("weed is missing: run `make setup`")
    server = SeaweedServer(program).start()
    try:
        yield server
    finally:
        server.stop()
