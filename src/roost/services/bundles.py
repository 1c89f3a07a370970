"""What the bundles of models hold."""

from __future__ import annotations

from roost.bundle import describe
from roost.contracts.bundle import BundleInfo
from roost.keys import ModelKey
from roost.services.models import Models
from roost.storage.artifacts import ArtifactStore


class Bundles:
    """Shows the code of models; nothing of it is run."""

    def __init__(self, models: Models, artifacts: ArtifactStore) -> None:
        self._models = models
        self._artifacts = artifacts

    def get(self, key: ModelKey) -> BundleInfo:
        """What the model's current bundle holds, and why.

        Raises:
            ModelNotFound: naming the key.
            ModelNotReady: saying why there is no finished content.
            ArtifactNotFound: when the bundle is not in storage.
            CorruptArtifact: when its stored bytes were altered.
        """
        fingerprint = self._models.get_ready(key).servable.bundle_fingerprint
        return describe(self._artifacts.get("bundles", fingerprint), fingerprint)
