"""Storage under kill -9 and under many processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from roost.storage.artifacts import StoredArtifacts
from roost.storage.manifest import CHUNK_SIZE
from roost.storage.node_cache import NodeCache
from roost.storage.store import ObjectStore
from roost.storage.upload import upload_tree

CHUNKS = 8

# Each child writes one line a call, so that what it did is known whenever it is killed.
CHILD = """
import itertools
import sys
from pathlib import Path
from roost.storage.artifacts import StoredArtifacts
from roost.storage.node_cache import NodeCache
from roost.storage.store import ObjectStore
from roost.storage.upload import upload_tree

def tell(*words):
    # One write: several threads tell at once.
    sys.stdout.write(" ".join(words) + "\\n")
    sys.stdout.flush()

class Told(StoredArtifacts):
    def put(self, kind, name, data):
        super().put(kind, name, data)
        tell("put", kind, name)
        self.pause()

    def get(self, kind, name):
        data = super().get(kind, name)
        tell("get", kind, name)
        if kind == "chunks":
            self.pause()
        return data

    def pause(self):
        if mode == "pause" or mode == "stall" and next(turns) == 0:
            sys.stdin.read(1)

def written(done, total):
    if mode == "stall":
        tell("written", str(done))

turns = itertools.count()
url, action, argument, place, mode = sys.argv[1:6]
artifacts = Told(ObjectStore.open(url))
if action == "upload":
    print("done", upload_tree(Path(place), artifacts, workers=1).digest, flush=True)
else:
    print("done", NodeCache(Path(place)).weights(argument, artifacts, written), flush=True)
"""


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    root = tmp_path / "weights"
    root.mkdir()
    # No chunk is of zeros: that is what a file has where nothing was written yet.
    (root / "model.bin").write_bytes(b"".join(bytes([i + 1]) * CHUNK_SIZE for i in range(CHUNKS)))
    (root / "small.txt").write_bytes(b"small")
    return root


@pytest.fixture
def url(tmp_path: Path) -> str:
    return (tmp_path / "storage").as_uri()


Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(url: str) -> Start:
    def run(action: str, argument: str, place: Path, *, mode: str = "run") -> subprocess.Popen[str]:
        """`pause`: each call waits for a byte of stdin. `stall`: one chunk does, all others pass."""
        command = [sys.executable, "-c", CHILD, url, action, argument, str(place), mode]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    return run


def kill_after(child: subprocess.Popen[str], lines: int) -> list[list[str]]:
    """Let `lines` calls happen, kill -9 in the middle of the next one, and say what had happened."""
    assert child.stdin is not None
    assert child.stdout is not None
    told = []
    for left in range(lines, 0, -1):
        told.append(child.stdout.readline().split())
        if left > 1:
            child.stdin.write(".")
            child.stdin.flush()
    child.send_signal(signal.SIGKILL)
    rest, _ = child.communicate()
    return told + [line.split() for line in rest.splitlines() if line]


def finish(child: subprocess.Popen[str]) -> list[list[str]]:
    out, _ = child.communicate(timeout=60)
    assert child.returncode == 0
    return [line.split() for line in out.splitlines()]


def test_a_killed_upload_is_retried_with_only_what_is_missing(
    start: Start, weights: Path, url: str, tmp_path: Path
) -> None:
    before = kill_after(start("upload", "-", weights, mode="pause"), lines=4)
    stored = ObjectStore.open(url)
    assert [line[:2] for line in before] == [["put", "chunks"]] * 4
    assert list(stored.list("manifests")) == []

    *after, done = finish(start("upload", "-", weights))
    assert [line[1] for line in after] == ["chunks"] * (CHUNKS + 1 - 4) + ["manifests"]
    assert not {line[2] for line in before} & {line[2] for line in after}
    path = NodeCache(tmp_path / "cache").weights(done[1], StoredArtifacts(stored))
    assert (path / "model.bin").read_bytes() == (weights / "model.bin").read_bytes()


@pytest.mark.parametrize("delay_ms", [0, 3, 10, 20, 40])
def test_whenever_an_upload_is_killed_every_object_is_whole(
    start: Start, weights: Path, url: str, delay_ms: int
) -> None:
    child = start("upload", "-", weights)
    assert child.stdout is not None
    child.stdout.readline()
    time.sleep(delay_ms / 1000)  # not for a condition: it picks the moment of the kill
    child.kill()
    child.communicate()
    stored = ObjectStore.open(url)
    artifacts = StoredArtifacts(stored)
    chunks = list(stored.list("chunks"))
    assert chunks
    for chunk in chunks:
        artifacts.get("chunks", chunk.rsplit("/", 1)[1])
    upload_tree(weights, artifacts)


def test_a_killed_download_leaves_no_half_tree(start: Start, weights: Path, url: str, tmp_path: Path) -> None:
    digest = upload_tree(weights, StoredArtifacts(ObjectStore.open(url))).digest
    cache = tmp_path / "cache"
    child = start("download", digest, cache, mode="pause")
    assert child.stdout is not None
    assert child.stdout.readline().split()[:2] == ["get", "manifests"]
    told = kill_after(child, lines=4)
    assert {line[1] for line in told} == {"chunks"}
    # The leftover is hidden; nothing has the name a reader looks for.
    (leftover,) = (cache / "manifests").iterdir()
    assert leftover.name.startswith(f".{digest}.")

    done = finish(start("download", digest, cache))[-1]
    path = Path(done[1])
    assert (path / "model.bin").read_bytes() == (weights / "model.bin").read_bytes()
    assert [entry.name for entry in (cache / "manifests").iterdir()] == [digest]


def test_a_waiting_loader_goes_on_where_a_killed_one_stopped(
    start: Start, weights: Path, url: str, tmp_path: Path
) -> None:
    digest = upload_tree(weights, StoredArtifacts(ObjectStore.open(url))).digest
    first = start("download", digest, tmp_path / "cache", mode="stall")
    assert first.stdout is not None
    lines: list[str] = []
    while len(lines) < 1 + CHUNKS:  # the first says 0; one of all CHUNKS + 1 chunks stalls
        lines += [line for line in [first.stdout.readline()] if line.startswith("written")]
    second = start("download", digest, tmp_path / "cache")
    first.kill()
    first.communicate()
    *calls, done = finish(second)
    assert [call[1] for call in calls] == ["manifests", "chunks"]
    assert (Path(done[1]) / "model.bin").read_bytes() == (weights / "model.bin").read_bytes()


def test_eight_loaders_download_once(start: Start, weights: Path, url: str, tmp_path: Path) -> None:
    digest = upload_tree(weights, StoredArtifacts(ObjectStore.open(url))).digest
    children = [start("download", digest, tmp_path / "cache") for _ in range(8)]
    told = [finish(child) for child in children]
    assert len({lines[-1][1] for lines in told}) == 1
    calls = [call for lines in told for call in lines[:-1]]
    assert len(calls) == 1 + CHUNKS + 1
    assert os.access(Path(told[0][-1][1]) / "small.txt", os.R_OK)


def test_what_a_live_process_uses_is_not_removed(
    start: Start, weights: Path, url: str, tmp_path: Path
) -> None:
    artifacts = StoredArtifacts(ObjectStore.open(url))
    used = upload_tree(weights, artifacts).digest
    (weights / "small.txt").write_bytes(b"other")
    other = upload_tree(weights, artifacts).digest
    (weights / "small.txt").write_bytes(b"third")
    third = upload_tree(weights, artifacts).digest
    finish(start("download", other, tmp_path / "cache"))
    cache = NodeCache(tmp_path / "cache", max_bytes=1)
    cache.weights(used, artifacts)
    cache.weights(third, artifacts)
    # The process that used `other` has ended; this one still uses the two.
    assert {entry.name for entry in (tmp_path / "cache" / "manifests").iterdir()} == {used, third}
