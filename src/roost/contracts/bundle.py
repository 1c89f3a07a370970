"""What a model's bundle holds, and why."""

from __future__ import annotations

from pydantic import Field

from roost.contracts.base import Wire


class BundleFile(Wire):
    """One file of a bundle.

    Attributes:
        path: Where it lies in the bundle; a module at its import path.
        size: Bytes.
        reason: Why it is there: `imported by pkg/model.py line 3`, `package of pkg.model`, `include`.
            Empty in bundles of versions that did not note it.
    """

    path: str
    size: int
    reason: str = ""


class BundlePin(Wire):
    """A distribution the replica must have installed.

    Attributes:
        requirement: `name==version`.
        reason: As of a file.
    """

    requirement: str
    reason: str = ""


class BundleInfo(Wire):
    """A bundle as people look at it.

    Attributes:
        fingerprint: Over the files, the class path and the pins; not over reasons and notes.
        class_path: `package.module:Qual.name`; `__main__:Qual.name` when the class ships by value.
        files: In the order of their paths.
        pins: Sorted.
        notes: What the owner of the code should know, a sentence each.
    """

    fingerprint: str
    class_path: str
    files: list[BundleFile] = Field(default_factory=list)
    pins: list[BundlePin] = Field(default_factory=list)
    notes: list[str] = Field(default_factory=list)
