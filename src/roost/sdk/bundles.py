"""What the bundle of a model holds, as `import roost` offers it."""

from __future__ import annotations

from roost.client import control_calls
from roost.contracts.bundle import BundleInfo
from roost.keys import ModelKey
from roost.sdk.connection import current_client


def model_bundle(family: str, suffix: str, run_name: str) -> BundleInfo:
    """What the model's bundle holds: its files and pins with why each is there, and notes.

    Raises:
        ModelNotFound, ModelNotReady: when there is no finished model.
        CorruptArtifact: when the stored bundle was altered.
    """
    return current_client().run(control_calls.get_bundle(ModelKey(family, suffix, run_name)))
