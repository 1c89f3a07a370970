"""Reads every stored byte of weights and says what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field

from roost.contracts.verification import Problem
from roost.errors import ArtifactNotFound, CorruptArtifact
from roost.storage.artifacts import ArtifactStore, sha256
from roost.storage.download import fetch_manifest
from roost.storage.placement import StoredChunk, chunks_of
from roost.storage.transfer import WORKERS, Meter, Progress, run_parallel


@dataclass(slots=True)
class Checked:
    """What was read, and what is wrong with it."""

    size: int = 0
    problems: list[Problem] = field(default_factory=list)


def verify_weights(
    digest: str, artifacts: ArtifactStore, *, progress: Progress | None = None, workers: int = WORKERS
) -> Checked:
    """Read the manifest `digest` and every chunk of it, each once. Writes nothing to the disk here.

    A problem is one file and one chunk of it; a chunk that files share is a problem of each. What is found
    altered is set aside by the storage, so that saving the same weights again stores it anew.

    Raises:
        Unavailable: storage does not answer.
    """
    try:
        manifest = fetch_manifest(digest, artifacts)
    except (ArtifactNotFound, CorruptArtifact) as error:
        return Checked(problems=[Problem(what=error.message)])
    chunks = chunks_of(manifest)
    meter = Meter(sum(chunk.size for chunk in chunks), progress)

    def check(chunk: StoredChunk) -> Checked:
        checked = _check_chunk(chunk, artifacts)
        meter.add(chunk.size)
        return checked

    total = Checked(len(manifest.encode()))
    for checked in run_parallel(check, chunks, workers=workers):
        total.size += checked.size
        total.problems.extend(checked.problems)
    return total


def _check_chunk(chunk: StoredChunk, artifacts: ArtifactStore) -> Checked:
    try:
        data = artifacts.get("chunks", chunk.sha256)
    except (ArtifactNotFound, CorruptArtifact) as error:
        return Checked(problems=_in_every_file(chunk, error.message))
    if len(data) == chunk.size and sha256(data) == chunk.sha256:
        return Checked(len(data))
    expected = f"{chunk.size} with this SHA-256 were expected"
    what = f"chunk {chunk.sha256!r} is corrupt: {len(data)} bytes came, {expected}."
    return Checked(len(data), _in_every_file(chunk, what))


def _in_every_file(chunk: StoredChunk, what: str) -> list[Problem]:
    files = dict.fromkeys(place.path for place in chunk.places)
    return [Problem(file=file, chunk=chunk.sha256, what=what) for file in files]
