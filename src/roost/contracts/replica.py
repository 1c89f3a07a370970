"""All a replica needs to start: the `args` of its Serve application."""

from __future__ import annotations

import hashlib
import json

from pydantic import Field

from roost.contracts.base import Wire
from roost.contracts.servable import ServableRef
from roost.keys import DeploymentKey


class ReplicaLimits(Wire):
    """Bounds a replica enforces by itself.

    Attributes:
        max_body_bytes: Largest request body, counted on bytes received; 0 = no limit.
        max_image_pixels: Largest image, checked before it is decoded.
        timeout_s: Longest time a request may take; None takes the capability's or the endpoint's default.
    """

    max_body_bytes: int = 100 * 1024 * 1024
    max_image_pixels: int = 64_000_000
    timeout_s: float | None = None


class ReplicaSpec(Wire):
    """All a replica needs to start, with no server in reach. It holds no secret and no name:
    a change here restarts every replica, and anyone who may read Ray's applications may read it.

    Attributes:
        weights_digest: Of the weights' manifest; None for a model without weights.
        config: The model's config with the deployment's laid over it.
        storage_url: Where bundles, manifests and chunks are read.
        cache_dir: The node's cache; None takes `ROOST_CACHE_DIR`, else `~/.roost/cache`.
        runtime_zip: What workers download to run the server's version of Roost; None where they have it.
    """

    key: DeploymentKey
    servable: ServableRef
    weights_digest: str | None = None
    config: dict[str, str] = Field(default_factory=dict)
    storage_url: str
    cache_dir: str | None = None
    limits: ReplicaLimits = Field(default_factory=ReplicaLimits)
    runtime_zip: str | None = None

    @property
    def version(self) -> str:
        """Names what a replica was made of: 16 hex digits over this spec's JSON form.

        What has its default is left out, so that versions of Roost agree on it that know different fields.
        """
        spec = self.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
