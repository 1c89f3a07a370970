"""The class a bundle serves, as the records and the replica know it."""

from __future__ import annotations

from pydantic import Field

from roost.contracts.base import Wire
from roost.serve import ServableKind


class ServableRef(Wire):
    """Where the servable is found inside its bundle.

    Attributes:
        class_path: `package.module:Qual.name`; `__main__:Qual.name` when the bundle holds it pickled.
        kind: `serve_app`, `inference_model` or `endpoint`.
        capability: Of an inference model, the capability it serves.
        bundle_fingerprint: Names the bundle; covers its files, `class_path` and `pins`.
        pins: Requirement lines the worker must have installed, sorted (`name==version`).
    """

    class_path: str
    kind: ServableKind
    capability: str | None = None
    bundle_fingerprint: str
    pins: list[str] = Field(default_factory=list)
