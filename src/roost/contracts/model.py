"""Registry entries and the claims under which they are written."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from roost.contracts.base import Wire
from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.keys import ModelKey

ModelPhase = Literal["uploading", "ready", "upload_failed", "broken"]
ClaimMode = Literal["save", "import", "register"]


class SavedModel(Wire):
    """A registry entry.

    Attributes:
        data_blob_path: Where the weights' manifest is stored, or `NO_WEIGHTS`.
        size_bytes: Sum of the sizes of all files of the weights.
        phase: `broken` is derived: the writer's lease ran out before it finished.
        digest: SHA-256 of the weights' manifest; empty without weights.
        message: Why the upload failed, when it did.
    """

    family: str
    suffix: str
    run_name: str
    created_at: datetime
    data_blob_path: str
    size_bytes: int
    phase: ModelPhase
    requirements: ModelRequirements = Field(default_factory=ModelRequirements)
    config: dict[str, str] = Field(default_factory=dict)
    bundle_fingerprint: str = ""
    digest: str = ""
    has_weights: bool = True
    class_path: str = ""
    capability: str | None = None
    message: str = ""

    @property
    def key(self) -> ModelKey:
        """The entry's key."""
        return ModelKey(self.family, self.suffix, self.run_name)


class SavedModelPage(Wire):
    """One page of registry entries, ordered by key."""

    items: list[SavedModel]
    total: int


class ClaimRequest(Wire):
    """Asks to write a model. `writer` names who asks, for messages (`user@host pid 12`)."""

    mode: ClaimMode
    writer: str


class Claim(Wire):
    """The answer: a claim to write under, or (for imports) the entry that is ready already.

    Attributes:
        token: Names the claim; None when `ready` is given instead.
        lease_s: Seconds until the claim lapses unless it is renewed.
        ready: The finished entry, when the mode is import or register and it exists.
    """

    token: str | None = None
    lease_s: float = 0.0
    ready: SavedModel | None = None


class CommitRequest(Wire):
    """Finishes a claim: the entry is swapped in one write.

    Attributes:
        manifest_digest: Of the uploaded weights; None for a model without weights.
        size_bytes: Sum of the sizes of all files.
        requirements: None leaves what is stored (imports), else replaces it.
        config: None leaves what is stored (imports), else replaces it.
    """

    manifest_digest: str | None = None
    size_bytes: int = 0
    servable: ServableRef
    requirements: ModelRequirements | None = None
    config: dict[str, str] | None = None


class AbandonRequest(Wire):
    """Ends a claim without a result; the reason is kept on the entry."""

    reason: str


class ConfigUpdate(Wire):
    """The whole new config of a model."""

    config: dict[str, str]


class RequirementsUpdate(Wire):
    """The new requirements of a model."""

    requirements: ModelRequirements


class RefreshRequest(Wire):
    """The present code of a finished import.

    Attributes:
        requirements: Stored where there are none yet.
        config: Stored where there is none yet.
    """

    servable: ServableRef
    requirements: ModelRequirements | None = None
    config: dict[str, str] | None = None
