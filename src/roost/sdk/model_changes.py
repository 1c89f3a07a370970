"""Changing and removing registry entries, as `import roost` offers it."""

from __future__ import annotations

from collections.abc import Mapping

from roost.client import control_calls
from roost.contracts.model import ConfigUpdate, RequirementsUpdate, SavedModel
from roost.contracts.requirements import ModelRequirements, check_requirements
from roost.keys import ModelKey, check_config
from roost.sdk.connection import current_client


def set_model_requirements(
    family: str, suffix: str, run_name: str, requirements: ModelRequirements
) -> SavedModel:
    """Replace the hardware one replica needs; it takes effect at the next deploy.

    Raises:
        ModelNotFound: naming the key.
        InvalidRequirements: for anything but `ModelRequirements`.
    """
    key = ModelKey(family, suffix, run_name)
    update = RequirementsUpdate(requirements=check_requirements(requirements))
    return current_client().run(control_calls.set_requirements(key, update))


def set_model_config(family: str, suffix: str, run_name: str, config: Mapping[str, str]) -> SavedModel:
    """Replace the whole config, an empty one clears it; it takes effect at the next deploy.

    Raises:
        ModelNotFound: naming the key.
        InvalidConfig: for a blank key, or a key or value that is no string.
    """
    key = ModelKey(family, suffix, run_name)
    return current_client().run(control_calls.set_config(key, ConfigUpdate(config=check_config(config))))


def delete_model(family: str, suffix: str, run_name: str) -> None:
    """Remove the registry entry; the same key can be saved again.

    Files that no other model and no deployment uses are removed later, by garbage collection.

    Raises:
        ModelNotFound: naming the key; so also when it was deleted before.
        ModelInUse: while deployments of it are wanted; naming them.
        ModelBusy: while a live writer uploads it; naming the writer.
    """
    current_client().run(control_calls.delete_model(ModelKey(family, suffix, run_name)))
