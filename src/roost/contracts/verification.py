"""What reading every stored byte of a model showed."""

from __future__ import annotations

from roost.contracts.base import Wire


class Problem(Wire):
    """A part of a model that is missing, altered or truncated in storage.

    Attributes:
        file: Path in the tree of weights; empty where the manifest or the bundle is at fault.
        chunk: SHA-256 of the chunk; empty likewise.
        what: What is wrong, in a sentence that names the part.
    """

    file: str = ""
    chunk: str = ""
    what: str


class Verification(Wire):
    """The result for one model.

    Attributes:
        model: Its key, `family/suffix/run_name`.
        digest: SHA-256 of the weights' manifest; empty without weights.
        checked_bytes: Bytes that were read: manifest, chunks and bundle.
        problems: Empty when all is as it was stored.
    """

    model: str
    digest: str
    checked_bytes: int
    problems: list[Problem]
