"""Storing a tree of weights: only the chunks that storage lacks are sent, the manifest last."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

from roost.errors import InvalidWeights
from roost.storage.artifacts import ArtifactStore, forget_hashed, sha256
from roost.storage.manifest import Chunk, FileEntry, Manifest, check_manifest
from roost.storage.packing import Run, lay_out
from roost.storage.scan import TreeScan, check_scan, scan_tree
from roost.storage.transfer import WORKERS, Meter, Progress, run_parallel


def upload_tree(
    root: Path, artifacts: ArtifactStore, *, progress: Progress | None = None, workers: int = WORKERS
) -> Manifest:
    """Store a copy of the tree below `root`.

    Every byte is read and hashed once. What was stored before (by an upload that was killed, or as part
    of other weights) is not sent again. Until the manifest is stored, last of all, nothing refers to the
    chunks. Holds about 20 MiB a worker, whatever the size of the tree.

    Raises:
        InvalidWeights: the directory is missing or holds no file, a link leaves it, leads nowhere or to
            what holds it, it holds a socket or the like, or it changed while it was read.
    """
    scan = scan_tree(root)
    # Names and links are checked before hours of transfer, not after.
    check_manifest(Manifest(files=[], links=scan.links, directories=[*scan.directories, *scan.files]))
    check_scan(scan)
    sender = _Sender(scan, artifacts, Meter(sum(file.size for file in scan.files.values()), progress))
    names = run_parallel(sender.send, _chunks(scan), workers=workers)
    if scan_tree(scan.root) != scan:
        raise _changed(str(scan.root))
    manifest = _manifest(scan, names)
    data = manifest.encode()
    if artifacts.missing("manifests", [manifest.digest]):
        artifacts.put("manifests", manifest.digest, data)
    return manifest


def _chunks(scan: TreeScan) -> Iterator[tuple[Run, ...]]:
    return lay_out({path: file.size for path, file in scan.files.items()})


class _Sender:
    def __init__(self, scan: TreeScan, artifacts: ArtifactStore, meter: Meter) -> None:
        self._root = scan.root
        self._artifacts = artifacts
        self._meter = meter
        self._lock = threading.Lock()
        self._claimed: set[str] = set()

    def send(self, runs: tuple[Run, ...]) -> str:
        """Store the chunk that consists of these runs, unless it is stored; its name."""
        data = self._read(runs[0]) if len(runs) == 1 else b"".join(map(self._read, runs))
        name = sha256(data)
        if self._claim(name) and self._artifacts.missing("chunks", [name]):
            self._artifacts.put("chunks", name, data)
        self._meter.add(len(data))
        forget_hashed()
        return name

    def _claim(self, name: str) -> bool:
        """Whether this worker is the one that sees to this chunk."""
        with self._lock:
            if name in self._claimed:
                return False
            self._claimed.add(name)
            return True

    def _read(self, run: Run) -> bytes:
        path = self._root / run.path
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                data = os.pread(descriptor, run.size, run.offset)
            finally:
                os.close(descriptor)
        except FileNotFoundError as error:
            raise _changed(str(path)) from error
        except OSError as error:
            raise InvalidWeights(f"file {str(path)!r} cannot be read: {error.strerror}.") from error
        if len(data) != run.size:
            raise _changed(str(path))
        return data


def _manifest(scan: TreeScan, names: list[str]) -> Manifest:
    by_path: dict[str, list[Chunk]] = {path: [] for path in scan.files}
    for runs, name in zip(_chunks(scan), names, strict=True):
        offset = 0
        for run in runs:
            by_path[run.path].append(Chunk(sha256=name, offset=offset, size=run.size))
            offset += run.size
    files = [
        FileEntry(path=path, size=file.size, executable=file.executable, chunks=by_path[path])
        for path, file in sorted(scan.files.items())
    ]
    links = sorted(scan.links, key=lambda link: link.path)
    manifest = Manifest(files=files, links=links, directories=sorted(scan.directories))
    check_manifest(manifest)
    return manifest


def _changed(path: str) -> InvalidWeights:
    return InvalidWeights(
        f"{path!r} changed while it was read.", hint="Save again when nothing writes to it any more."
    )
