"""Bringing a stored tree to this machine: verified byte by byte, visible only when whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from roost.errors import (
    ArtifactNotFound,
    BadRequest,
    CorruptArtifact,
    InvalidWeights,
    RoostError,
    Unavailable,
)
from roost.storage.artifacts import ArtifactStore, check_name, forget_hashed, sha256
from roost.storage.durable import flush_file_system
from roost.storage.local_tree import partial_sibling, publish, remove_tree, seal
from roost.storage.manifest import Manifest
from roost.storage.placement import StoredChunk, chunks_of
from roost.storage.transfer import WORKERS, Meter, Progress, run_parallel
from roost.storage.writing import TreeWriter


def download_tree(
    digest: str,
    artifacts: ArtifactStore,
    target: Path,
    *,
    progress: Progress | None = None,
    workers: int = WORKERS,
) -> Manifest:
    """Write the weights `digest` to `target`, read-only; the parent of `target` is made when missing.

    `target` appears by one rename after every byte was verified and flushed to the disk. What was written
    when it was killed or storage failed stays beside it, hidden, and the next call goes on from there:
    one process at a time, for one target. Holds about 20 MiB a worker, whatever the size of the tree.

    Raises:
        ArtifactNotFound: the manifest or a chunk is not stored.
        CorruptArtifact: a manifest or chunk is altered or truncated, or leads outside of `target`.
        BadRequest: there is something at `target` already.
        Unavailable: storage does not answer, or the disk has no room.
    """
    manifest = fetch_manifest(digest, artifacts)
    if target.is_symlink() or target.exists():
        raise BadRequest(
            f"download target {str(target)!r} exists already.", hint="Remove it, or name another directory."
        )
    partial = partial_sibling(target)
    with disk_errors(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        fill_tree(manifest, artifacts, partial, progress=progress, workers=workers)
        publish(partial, target)
    return manifest


def fetch_manifest(digest: str, artifacts: ArtifactStore) -> Manifest:
    """The manifest of the weights `digest`, verified.

    Raises:
        ArtifactNotFound, CorruptArtifact, InvalidName: it is not stored, is altered, or cannot be.
    """
    data = artifacts.get("manifests", check_name("manifests", digest))
    if (found := sha256(data)) != digest:
        raise CorruptArtifact(f"manifest {digest!r} is corrupt: its bytes have the SHA-256 {found!r}.")
    try:
        return Manifest.decode(data)
    except InvalidWeights as error:
        raise CorruptArtifact(f"manifest {digest!r} cannot be used: {error.message}") from error


def fill_tree(
    manifest: Manifest,
    artifacts: ArtifactStore,
    root: Path,
    *,
    progress: Progress | None = None,
    workers: int = WORKERS,
) -> None:
    """Make the directory `root` hold exactly these weights, read-only and flushed to the disk.

    What an earlier call wrote there is read and verified, and not fetched again. `root` is removed when
    the weights cannot be had at all.

    Raises:
        ArtifactNotFound, CorruptArtifact, Unavailable: as `download_tree`.
    """
    writer = TreeWriter(root, manifest)
    meter = Meter(manifest.size_bytes, progress)
    _check_room(manifest, root, writer.written_bytes())
    try:
        resumed = writer.prepare()

        def bring(chunk: StoredChunk) -> None:
            if not (resumed and writer.holds(chunk)):
                writer.write(chunk, _fetch(chunk, artifacts))
            meter.add(chunk.placed_bytes)
            forget_hashed()

        run_parallel(bring, chunks_of(manifest), workers=workers)
    except (ArtifactNotFound, CorruptArtifact):
        remove_tree(root)
        raise
    # Links come last: while bytes are written there is nothing that could lead them elsewhere.
    writer.link()
    seal(root)
    flush_file_system(root)


@contextmanager
def disk_errors(target: Path) -> Iterator[None]:
    """Errors of the disk that holds `target`, as `Unavailable`."""
    try:
        yield
    except RoostError:
        raise  # some of them are OSErrors too
    except OSError as error:
        raise Unavailable(
            f"{str(target)!r} cannot be written: {error.strerror}.",
            hint="Free some space, or set ROOST_CACHE_DIR to a directory that can be written.",
        ) from error


def _check_room(manifest: Manifest, root: Path, written: int) -> None:
    free = shutil.disk_usage(root.parent).free
    needed = manifest.size_bytes - written
    if needed > free:
        raise Unavailable(
            f"weights {manifest.digest!r} need {needed} bytes, {free} are free in {str(root.parent)!r}.",
            hint="Free some space, or set ROOST_CACHE_DIR to a larger disk.",
        )


def _fetch(chunk: StoredChunk, artifacts: ArtifactStore) -> bytes:
    try:
        data = artifacts.get("chunks", chunk.sha256)
    except (ArtifactNotFound, CorruptArtifact) as error:
        raise type(error)(f"{error.message} It is part of {chunk.shown}.", hint=error.hint) from error
    if len(data) != chunk.size or sha256(data) != chunk.sha256:
        raise CorruptArtifact(
            f"chunk {chunk.sha256!r}, part of {chunk.shown}, is corrupt: "
            f"{len(data)} bytes came, {chunk.size} with this SHA-256 were expected.",
            hint="Save the model again to store it anew.",
        )
    return data
