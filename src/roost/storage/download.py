"""Bringing a stored tree to this machine: verified byte by byte, visible only when whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from roost.errors import (
    ArtifactNotFound,
    BadRequest,
    CorruptArtifact,
    InvalidWeights,
    RoostError,
    Unavailable,
)
from roost.storage.artifacts import ArtifactStore, check_name, sha256
from roost.storage.local_tree import partial_sibling, publish, remove_tree, seal
from roost.storage.manifest import Manifest
from roost.storage.transfer import Meter, Progress, batches, run_parallel


def download_tree(
    digest: str, artifacts: ArtifactStore, target: Path, *, progress: Progress | None = None, workers: int = 4
) -> Manifest:
    """Write the weights `digest` to `target`, read-only; the parent of `target` is made when missing.

    `target` appears by one rename after every byte was verified and flushed to the disk; an error
    leaves nothing behind. Holds about 40 MiB a worker, whatever the size of the tree.

    Raises:
        ArtifactNotFound: the manifest or a chunk is not stored.
        CorruptArtifact: a manifest or chunk is altered or truncated, or leads outside of `target`.
        BadRequest: there is something at `target` already.
        Unavailable: storage does not answer, or the disk has no room.
    """
    manifest = _fetch_manifest(digest, artifacts)
    if target.is_symlink() or target.exists():
        raise BadRequest(
            f"download target {str(target)!r} exists already.", hint="Remove it, or name another directory."
        )
    partial = partial_sibling(target)
    with _disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _check_room(manifest, target.parent)
        try:
            _write_tree(manifest, artifacts, partial, Meter(manifest.size_bytes, progress), workers)
            seal(partial, flush_files=False)
            publish(partial, target)
        except BaseException:
            remove_tree(partial)
            raise
    return manifest


@contextmanager
def _disk_errors(target: Path) -> Iterator[None]:
    try:
        yield
    except RoostError:
        raise  # some of them are OSErrors too
    except OSError as error:
        raise Unavailable(
            f"{str(target)!r} cannot be written: {error.strerror}.",
            hint="Free some space, or set ROOST_CACHE_DIR to a directory that can be written.",
        ) from error


def _fetch_manifest(digest: str, artifacts: ArtifactStore) -> Manifest:
    data = artifacts.get("manifests", check_name("manifests", digest))
    if (found := sha256(data)) != digest:
        raise CorruptArtifact(f"manifest {digest!r} is corrupt: its bytes have the SHA-256 {found!r}.")
    try:
        return Manifest.decode(data)
    except InvalidWeights as error:
        raise CorruptArtifact(f"manifest {digest!r} cannot be used: {error.message}") from error


def _check_room(manifest: Manifest, directory: Path) -> None:
    free = shutil.disk_usage(directory).free
    if manifest.size_bytes > free:
        raise Unavailable(
            f"weights {manifest.digest!r} need {manifest.size_bytes} bytes, "
            f"{free} are free in {str(directory)!r}.",
            hint="Free some space, or set ROOST_CACHE_DIR to a larger disk.",
        )


@dataclass(frozen=True, slots=True)
class _Piece:
    path: str
    offset: int
    size: int
    sha256: str


def _pieces(manifest: Manifest) -> Iterator[_Piece]:
    for file in manifest.files:
        offset = 0
        for chunk in file.chunks:
            yield _Piece(file.path, offset, chunk.size, chunk.sha256)
            offset += chunk.size


def _write_tree(manifest: Manifest, artifacts: ArtifactStore, root: Path, meter: Meter, workers: int) -> None:
    root.mkdir()
    for directory in manifest.directories:
        (root / directory).mkdir(parents=True, exist_ok=True)
    for file in manifest.files:
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o755 if file.executable else 0o644, exist_ok=False)

    def fetch(batch: list[_Piece]) -> None:
        for piece in batch:
            _write_piece(root / piece.path, piece.offset, _fetch_chunk(piece, artifacts))
            meter.add(piece.size)

    run_parallel(fetch, batches(_pieces(manifest)), workers=workers)
    # Links come last: while bytes are written there is nothing that could lead them elsewhere.
    for link in manifest.links:
        (root / link.path).parent.mkdir(parents=True, exist_ok=True)
        (root / link.path).symlink_to(link.target)


def _fetch_chunk(piece: _Piece, artifacts: ArtifactStore) -> bytes:
    try:
        data = artifacts.get("chunks", piece.sha256)
    except (ArtifactNotFound, CorruptArtifact) as error:
        raise type(error)(f"{error.message} It is part of {piece.path!r}.", hint=error.hint) from error
    if len(data) != piece.size or sha256(data) != piece.sha256:
        raise CorruptArtifact(
            f"chunk {piece.sha256!r}, part of {piece.path!r}, is corrupt: "
            f"{len(data)} bytes came, {piece.size} with this SHA-256 were expected.",
            hint="Save the model again to store it anew.",
        )
    return data


def _write_piece(path: Path, offset: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        file.seek(offset)
        view = memoryview(data)
        while view:
            view = view[file.write(view) :]
        os.fsync(descriptor)
