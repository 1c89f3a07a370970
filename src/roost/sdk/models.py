"""The registry, as `import roost` offers it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from roost.client import control_calls
from roost.contracts.model import ClaimMode, ModelPhase, SavedModel
from roost.contracts.requirements import ModelRequirements, check_requirements
from roost.errors import InvalidWeights, ModelNotFound, ModelNotReady
from roost.keys import IMPORTED, DeploymentKey, ModelKey, check_config
from roost.replica.context import find_current
from roost.sdk.arguments import check_limit, check_text
from roost.sdk.artifacts import open_artifacts
from roost.sdk.connection import current_client
from roost.sdk.progress import transfer
from roost.sdk.publish import Entry, Publisher, Servable
from roost.sdk.runs import active_run_name
from roost.sdk.sources.address import parse_directory
from roost.sdk.sources.weights import WeightsSource
from roost.storage.node_cache import NodeCache, default_cache_dir

Include = Sequence[str | Path]


def save_model(
    weights_dir: str | Path,
    servable: type,
    family: str,
    suffix: str,
    requirements: ModelRequirements | None = None,
    config: Mapping[str, str] | None = None,
    include: Include = (),
) -> SavedModel:
    """Store a copy of the weights and the class that serves them, under the active run's name.

    Saving again under the same key replaces the entry in one step: readers see the old or the
    new, and a save that fails leaves the old one as it was.

    Args:
        weights_dir: Any tree of files; Roost never looks into it.
        servable: A class marked with `roost.serve.ingress`, one with `roost.serve.endpoint` methods, or a
            capability's subclass.
        requirements: Hardware one replica needs; default none.
        config: Settings the servable reads, string to string.
        include: Data files, folders and dynamically imported modules to ship beside the class.

    Raises:
        InvalidName, InvalidConfig, InvalidRequirements, InvalidWeights, InvalidServable: before anything
            is written.
        ModelBusy: while another writer saves this key.
    """
    key = ModelKey(family, suffix, active_run_name())
    checked, needs = check_config(config), _checked(requirements)
    weights = WeightsSource(parse_directory(weights_dir))
    if (fault := weights.find_fault()) is not None:
        raise fault
    prepared = Servable.prepare(servable, include)
    publisher = Publisher(current_client())
    claim = publisher.claim(key, "save")
    return publisher.publish(key, claim, Entry(prepared, needs or ModelRequirements(), checked), weights)


def import_model(
    source: str | Path | Callable[[], str | Path],
    servable: type,
    family: str,
    suffix: str,
    requirements: ModelRequirements | None = None,
    config: Mapping[str, str] | None = None,
    include: Include = (),
) -> SavedModel:
    """Store weights from elsewhere once, under the run name `imported`.

    An entry that is ready is returned without touching `source`; its bundle is refreshed when the
    servable's code changed. `requirements` and `config` are stored only where there are none yet.
    An import that failed, or whose writer died, is begun anew.

    Args:
        source: A directory, a function that returns one, or a URL: `hf://org/name[@revision]`,
            `file:///absolute/dir`, `s3://bucket/prefix`, `gs://…`, `az://…`. A function runs, and a URL
            is fetched, only when an upload is needed, after the entry is marked `uploading`. What is
            fetched lies in a temporary directory until it is stored.

    Raises:
        InvalidName, InvalidConfig, InvalidRequirements, InvalidWeights, InvalidServable: before anything
            is written.
        ModelBusy: while a live writer imports this key.
        NotFound, Unauthorized, Forbidden, Unavailable, CorruptArtifact: when a URL cannot be fetched; the
            entry is then `upload_failed` with the reason, as with whatever `source` raises.
    """
    return _import(WeightsSource(source), servable, family, suffix, requirements, config, include)


def register_model(
    servable: type,
    family: str,
    suffix: str,
    requirements: ModelRequirements | None = None,
    config: Mapping[str, str] | None = None,
    include: Include = (),
) -> SavedModel:
    """Like `import_model`, for a model without weights."""
    return _import(None, servable, family, suffix, requirements, config, include)


def load_model(family: str, suffix: str, run_name: str) -> Path:
    """A read-only local directory with the model's weights, every byte verified.

    In a replica of this model it needs no server.

    Raises:
        ModelNotFound, ModelNotReady: when there is nothing to load.
        InvalidWeights: when the model has no weights.
        CorruptArtifact: naming the file whose stored bytes are wrong.
    """
    key = ModelKey(family, suffix, run_name)
    replica = find_current()
    if replica is not None and replica.spec.key.model == key:
        if replica.weights is None:
            raise _without_weights(key)
        return replica.weights
    client = current_client()
    model = client.run(control_calls.get_model(key))
    if model.phase != "ready":
        raise ModelNotReady(
            f"model {str(key)!r} is {model.phase}.", hint=model.message or "Save or import it again."
        )
    if not model.has_weights:
        raise _without_weights(key)
    artifacts = open_artifacts(client, client.run(control_calls.info()).storage)
    with transfer(f"Loading {key}") as progress:
        return NodeCache(default_cache_dir()).weights(model.digest, artifacts, progress)


def list_models(
    family: str | None = None,
    suffix: str | None = None,
    run_name: str | None = None,
    phase: ModelPhase | None = None,
    limit: int | None = None,
    after: ModelKey | None = None,
) -> list[SavedModel]:
    """Registry entries in the order of their keys, also those still uploading, failed or broken.

    Args:
        limit: The most entries to return; default all.
        after: Begin behind this key: `after=models[-1].key` gives the next page.

    What others write meanwhile moves nothing: an entry that is there all the time comes once.

    Raises:
        ValidationFailed: naming the argument that is of another type or out of its range.
    """
    check_text(family=family, suffix=suffix, run_name=run_name, phase=phase)
    check_limit(limit)
    client, found, page_size = current_client(), list[SavedModel](), 500
    while limit is None or len(found) < limit:
        wanted = page_size if limit is None else min(page_size, limit - len(found))
        page = client.run(
            control_calls.list_models(
                family=family, suffix=suffix, run_name=run_name, phase=phase, limit=wanted, after=after
            )
        )
        found.extend(page.items)
        if len(page.items) < wanted:
            break
        after = page.items[-1].key
    return found


def model_registry_status(family: str, suffix: str, run_name: str) -> SavedModel | None:
    """The registry entry, or None when there is none."""
    try:
        return current_client().run(control_calls.get_model(ModelKey(family, suffix, run_name)))
    except ModelNotFound:
        return None


def model_config(key: DeploymentKey) -> dict[str, str]:
    """The model's config with the deployment's laid over it.

    In the deployment's own replica this is what it was started with, and needs no server.

    Raises:
        ModelNotDeployed: when nothing is deployed under the key.
    """
    replica = find_current()
    if replica is not None and replica.spec.key == key:
        return dict(replica.spec.config)
    client = current_client()
    deployment = client.run(control_calls.get_deployment(key))
    return {**client.run(control_calls.get_model(key.model)).config, **deployment.config}


def _import(
    weights: WeightsSource | None,
    servable: type,
    family: str,
    suffix: str,
    requirements: ModelRequirements | None,
    config: Mapping[str, str] | None,
    include: Include,
) -> SavedModel:
    key = ModelKey(family, suffix, IMPORTED)
    checked = check_config(config) if config is not None else None
    needs = _checked(requirements)
    fault = weights.find_fault() if weights is not None else None
    if fault is not None and not _is_ready(key):
        raise fault
    entry = Entry(Servable.prepare(servable, include), needs, checked)
    publisher = Publisher(current_client())
    mode: ClaimMode = "register" if weights is None else "import"
    claim = publisher.claim(key, mode)
    if claim.ready is None:
        saved = publisher.publish(key, claim, entry, weights)
    elif _is_as_wanted(claim.ready, entry):
        saved = claim.ready
    else:
        saved = publisher.refresh(key, entry)
    _warn_of_kept(saved, entry)
    return saved


def _is_ready(key: ModelKey) -> bool:
    found = model_registry_status(key.family, key.suffix, key.run_name)
    return found is not None and found.phase == "ready" and found.has_weights


def _is_as_wanted(ready: SavedModel, entry: Entry) -> bool:
    return (
        ready.bundle_fingerprint == entry.servable.ref.bundle_fingerprint
        and entry.requirements in (None, ready.requirements)
        and entry.config in (None, ready.config)
    )


def _warn_of_kept(saved: SavedModel, entry: Entry) -> None:
    kept = [
        name
        for name, given, stored in (
            ("requirements", entry.requirements, saved.requirements),
            ("config", entry.config, saved.config),
        )
        if given is not None and given != stored
    ]
    if kept:
        warnings.warn(
            f"{saved.key} keeps the {' and '.join(kept)} it has; what is given here is not stored. "
            f"Change it with {' and '.join(f'roost.set_model_{name}' for name in kept)}.",
            stacklevel=4,
        )


def _checked(requirements: ModelRequirements | None) -> ModelRequirements | None:
    return check_requirements(requirements) if requirements is not None else None


def _without_weights(key: ModelKey) -> InvalidWeights:
    return InvalidWeights(
        f"model {str(key)!r} was registered without weights.",
        hint="Use import_model or save_model to store some.",
    )
