"""Verification of stored models, as `import roost` offers it."""

from __future__ import annotations

from roost.client import control_calls
from roost.contracts.model import SavedModel
from roost.contracts.verification import Verification
from roost.errors import ModelNotReady
from roost.keys import ModelKey
from roost.sdk.artifacts import open_artifacts
from roost.sdk.connection import current_client
from roost.sdk.progress import transfer
from roost.sdk.stored_bundle import check_bundle
from roost.storage.verify import Checked, verify_weights


def verify_model(family: str, suffix: str, run_name: str) -> Verification:
    """Read every stored byte of a model and compare it with what was saved.

    Each problem names the file and the chunk that are missing, altered or truncated. Saving the model again
    from the same directory stores anew what is named, and nothing else.

    Raises:
        ModelNotFound, ModelNotReady: when there is nothing to verify.
        Unavailable: when the storage does not answer.
    """
    client = current_client()
    return verify_saved(client.run(control_calls.get_model(ModelKey(family, suffix, run_name))))


def verify_saved(model: SavedModel) -> Verification:
    """As `verify_model`, of an entry as it was read.

    Raises:
        ModelNotReady, Unavailable: as `verify_model`.
    """
    if model.phase != "ready":
        raise ModelNotReady(
            f"model {str(model.key)!r} is {model.phase}.", hint=model.message or "Save or import it again."
        )
    client = current_client()
    artifacts = open_artifacts(client, client.run(control_calls.info()).storage)
    weights = Checked()
    if model.has_weights:
        with transfer(f"Verifying {model.key}") as progress:
            weights = verify_weights(model.digest, artifacts, progress=progress)
    bundle = check_bundle(model.bundle_fingerprint, artifacts)
    return Verification(
        model=str(model.key),
        digest=model.digest,
        checked_bytes=weights.size + bundle.size,
        problems=[*weights.problems, *bundle.problems],
    )
