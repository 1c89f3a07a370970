"""Storing a tree of weights: only the chunks that storage lacks are sent, the manifest last."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from roost.errors import InvalidWeights
from roost.storage.artifacts import ArtifactStore, sha256
from roost.storage.manifest import CHUNK_SIZE, Chunk, FileEntry, Manifest, check_manifest
from roost.storage.scan import TreeScan, scan_tree
from roost.storage.transfer import Meter, Progress, batches, run_parallel


def upload_tree(
    root: Path, artifacts: ArtifactStore, *, progress: Progress | None = None, workers: int = 4
) -> Manifest:
    """Store a copy of the tree below `root`.

    Every byte is read and hashed once. What was stored before (by an upload that was killed, or as part
    of other weights) is not sent again. Until the manifest is stored, last of all, nothing refers to the
    chunks. Holds about 40 MiB a worker, whatever the size of the tree.

    Raises:
        InvalidWeights: the directory is missing or empty, a link leaves it, it holds a socket or the
            like, or it changed while it was read.
    """
    scan = scan_tree(root)
    # Names and links are checked before hours of transfer, not after.
    check_manifest(Manifest(files=[], links=scan.links, directories=[*scan.directories, *scan.files]))
    sender = _Sender(scan, artifacts, Meter(sum(file.size for file in scan.files.values()), progress))
    sent = run_parallel(sender.send, batches(_pieces(scan)), workers=workers)
    if scan_tree(scan.root) != scan:
        raise _changed(str(scan.root))
    manifest = _manifest(scan, [chunk for batch in sent for chunk in batch])
    data = manifest.encode()
    if artifacts.missing("manifests", [manifest.digest]):
        artifacts.put("manifests", manifest.digest, data)
    return manifest


@dataclass(frozen=True, slots=True)
class _Piece:
    path: str
    offset: int
    size: int


def _pieces(scan: TreeScan) -> Iterator[_Piece]:
    for path, file in scan.files.items():
        for offset in range(0, file.size, CHUNK_SIZE):
            yield _Piece(path, offset, min(CHUNK_SIZE, file.size - offset))


class _Sender:
    def __init__(self, scan: TreeScan, artifacts: ArtifactStore, meter: Meter) -> None:
        self._root = scan.root
        self._artifacts = artifacts
        self._meter = meter
        self._lock = threading.Lock()
        self._claimed: set[str] = set()

    def send(self, batch: list[_Piece]) -> list[Chunk]:
        """Store what storage lacks of these pieces; their chunks in order."""
        chunks: list[Chunk] = []
        ours: dict[str, bytes] = {}
        for piece in batch:
            data = self._read(piece)
            name = sha256(data)
            chunks.append(Chunk(sha256=name, size=piece.size))
            if self._claim(name):
                ours[name] = data
        missing = self._artifacts.missing("chunks", list(ours)) if ours else set()
        for name in missing:
            self._artifacts.put("chunks", name, ours[name])
        self._meter.add(sum(piece.size for piece in batch))
        return chunks

    def _claim(self, name: str) -> bool:
        """Whether this worker is the one that sees to this chunk."""
        with self._lock:
            if name in self._claimed:
                return False
            self._claimed.add(name)
            return True

    def _read(self, piece: _Piece) -> bytes:
        path = self._root / piece.path
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(descriptor, "rb") as file:
                file.seek(piece.offset)
                data = file.read(piece.size)
        except FileNotFoundError as error:
            raise _changed(str(path)) from error
        except OSError as error:
            raise InvalidWeights(f"file {str(path)!r} cannot be read: {error.strerror}.") from error
        if len(data) != piece.size:
            raise _changed(str(path))
        return data


def _manifest(scan: TreeScan, chunks: list[Chunk]) -> Manifest:
    by_path: dict[str, list[Chunk]] = {path: [] for path in scan.files}
    for piece, chunk in zip(_pieces(scan), chunks, strict=True):
        by_path[piece.path].append(chunk)
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
