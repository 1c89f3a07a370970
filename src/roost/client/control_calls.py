"""Calls of the control API (`/api`)."""

from __future__ import annotations

from collections.abc import Sequence

from roost.client.call import Call, optional, parse_bytes, parse_model, parse_nothing, parse_text
from roost.client.deployment import Deployment, DeploymentList
from roost.contracts.artifact import (
    ArtifactKind,
    MissingRequest,
    MissingResponse,
    SignedUrls,
    UrlMethod,
    UrlsRequest,
)
from roost.contracts.bundle import BundleInfo
from roost.contracts.deployment import DeployRequest
from roost.contracts.event import EventList
from roost.contracts.garbage import GarbageReport, GarbageRequest
from roost.contracts.info import ServerInfo
from roost.contracts.model import (
    AbandonRequest,
    Claim,
    ClaimRequest,
    CommitRequest,
    ConfigUpdate,
    RefreshRequest,
    RequirementsUpdate,
    SavedModel,
    SavedModelPage,
)
from roost.contracts.placement import DeployPlan, ExplainRequest, PlacementExplanation
from roost.contracts.storage import StorageCheck
from roost.errors import InvalidName
from roost.keys import DeploymentKey, ModelKey

TRANSFER_TIMEOUT_S = 300.0
COLLECTION_TIMEOUT_S = 3600.0


def info(*, exposed: bool = False) -> Call[ServerInfo]:
    """What the server says of itself; with `exposed`, also what can be reached from other machines."""
    params = optional({"exposed": exposed or None})
    return Call("GET", "/api/info", parse_model(ServerInfo), params=params)


def list_models(
    *,
    family: str | None,
    suffix: str | None,
    run_name: str | None,
    phase: str | None,
    limit: int,
    after: ModelKey | None,
) -> Call[SavedModelPage]:
    """One page of the registry, from behind the key `after` on."""
    params = optional(
        {
            "family": family,
            "suffix": suffix,
            "runName": run_name,
            "phase": phase,
            "limit": limit,
            "after": after,
        }
    )
    return Call("GET", "/api/models", parse_model(SavedModelPage), params=params)


def get_model(key: ModelKey) -> Call[SavedModel]:
    """One registry entry."""
    return Call("GET", _model(key), parse_model(SavedModel))


def delete_model(key: ModelKey) -> Call[None]:
    """Remove a registry entry."""
    return Call("DELETE", _model(key), parse_nothing)


def set_config(key: ModelKey, update: ConfigUpdate) -> Call[SavedModel]:
    """Replace a model's config."""
    return Call("PUT", f"{_model(key)}/config", parse_model(SavedModel), content=update.to_json())


def set_requirements(key: ModelKey, update: RequirementsUpdate) -> Call[SavedModel]:
    """Replace a model's requirements."""
    return Call("PUT", f"{_model(key)}/requirements", parse_model(SavedModel), content=update.to_json())


def claim(key: ModelKey, request: ClaimRequest) -> Call[Claim]:
    """Ask to write a model."""
    return Call("POST", f"{_model(key)}/claims", parse_model(Claim), content=request.to_json())


def renew(key: ModelKey, token: str) -> Call[Claim]:
    """Keep a claim alive."""
    return Call("PUT", f"{_model(key)}/claims/{token}", parse_model(Claim), timeout_s=10.0)


def commit(key: ModelKey, token: str, request: CommitRequest) -> Call[SavedModel]:
    """Finish a claim."""
    return Call(
        "POST",
        f"{_model(key)}/claims/{token}/commit",
        parse_model(SavedModel),
        content=request.to_json(),
        timeout_s=TRANSFER_TIMEOUT_S,
    )


def abandon(key: ModelKey, token: str, request: AbandonRequest) -> Call[None]:
    """End a claim without a result."""
    return Call(
        "POST",
        f"{_model(key)}/claims/{token}/abandon",
        parse_nothing,
        content=request.to_json(),
        timeout_s=5.0,
    )


def refresh_bundle(key: ModelKey, request: RefreshRequest) -> Call[SavedModel]:
    """Give a finished import the current code."""
    return Call("PUT", f"{_model(key)}/bundle", parse_model(SavedModel), content=request.to_json())


def get_bundle(key: ModelKey) -> Call[BundleInfo]:
    """What a model's bundle holds, and why."""
    return Call("GET", f"{_model(key)}/bundle", parse_model(BundleInfo))


def missing(kind: ArtifactKind, names: Sequence[str]) -> Call[MissingResponse]:
    """Which of these are not stored."""
    body = MissingRequest(names=list(names)).to_json()
    return Call("POST", f"/api/artifacts/{kind}/missing", parse_model(MissingResponse), content=body)


def sign_urls(kind: ArtifactKind, names: Sequence[str], method: UrlMethod) -> Call[SignedUrls]:
    """URLs by which the storage itself can be read or written."""
    body = UrlsRequest(names=list(names), method=method).to_json()
    return Call("POST", f"/api/artifacts/{kind}/urls", parse_model(SignedUrls), content=body)


def check_storage() -> Call[StorageCheck]:
    """Have the server try its storage."""
    return Call("POST", "/api/storage/check", parse_model(StorageCheck), timeout_s=TRANSFER_TIMEOUT_S)


def put_artifact(kind: ArtifactKind, name: str, data: bytes) -> Call[None]:
    """Store one artifact through the server."""
    return Call(
        "PUT",
        f"/api/artifacts/{kind}/{name}",
        parse_nothing,
        content=data,
        content_type="application/octet-stream",
        timeout_s=TRANSFER_TIMEOUT_S,
    )


def get_artifact(kind: ArtifactKind, name: str) -> Call[bytes]:
    """Read one artifact through the server."""
    return Call("GET", f"/api/artifacts/{kind}/{name}", parse_bytes, timeout_s=TRANSFER_TIMEOUT_S)


def deploy(key: ModelKey, request: DeployRequest) -> Call[Deployment]:
    """Set the desired state of a deployment."""
    path = f"/api/deployments/{key}"
    return Call("PUT", path, parse_model(Deployment), content=request.to_json())


def redeploy(key: DeploymentKey) -> Call[Deployment]:
    """Deploy the model's current bundle, requirements and config."""
    return Call("POST", f"{_deployment(key)}/redeploy", parse_model(Deployment), params=_fingerprint(key))


def undeploy(key: DeploymentKey) -> Call[Deployment]:
    """Remove a deployment."""
    return Call("DELETE", _deployment(key), parse_model(Deployment), params=_fingerprint(key))


def list_deployments(*, live: bool) -> Call[DeploymentList]:
    """All deployments; with `live`, only those that are wanted."""
    return Call("GET", "/api/deployments", parse_model(DeploymentList), params=optional({"live": live}))


def get_deployment(
    key: DeploymentKey, *, after_version: int | None = None, wait_s: float | None = None
) -> Call[Deployment]:
    """One deployment; with `after_version`, once it has changed or `wait_s` is over."""
    params = optional({"afterVersion": after_version, "waitS": wait_s})
    return Call(
        "GET",
        _deployment(key),
        parse_model(Deployment),
        params=_fingerprint(key) | params,
        timeout_s=None if wait_s is None else wait_s + 15.0,
    )


def deployment_logs(key: DeploymentKey, *, tail: int) -> Call[str]:
    """The last lines of the replicas' logs."""
    params = _fingerprint(key) | optional({"tail": tail})
    return Call("GET", f"{_deployment(key)}/logs", parse_text, params=params)


def list_events(
    key: DeploymentKey | None, *, limit: int, after_id: int | None = None, wait_s: float | None = None
) -> Call[EventList]:
    """What happened, to one deployment or to all; with `after_id` what came next, waited for `wait_s`."""
    params = {"subject": key, "afterId": after_id, "limit": limit, "waitS": wait_s}
    return Call(
        "GET",
        "/api/events",
        parse_model(EventList),
        params=optional(params),
        timeout_s=None if wait_s is None else wait_s + 15.0,
    )


def collect_garbage(request: GarbageRequest) -> Call[GarbageReport]:
    """Collect what is stored and nothing refers to; minutes, where there is a lot."""
    return Call(
        "POST",
        "/api/garbage/collect",
        parse_model(GarbageReport),
        content=request.to_json(),
        timeout_s=COLLECTION_TIMEOUT_S,
    )


def explain_placement(request: ExplainRequest) -> Call[PlacementExplanation]:
    """Where one more replica could run."""
    parse = parse_model(PlacementExplanation)
    return Call("POST", "/api/placement/explain", parse, content=request.to_json())


def plan_deploy(key: ModelKey, request: DeployRequest) -> Call[DeployPlan]:
    """What `deploy` would do."""
    path = f"/api/placement/plan/{key}"
    return Call("POST", path, parse_model(DeployPlan), content=request.to_json())


def _model(key: ModelKey) -> str:
    # Segments of keys hold no character that needs quoting.
    return f"/api/models/{key}"


def _deployment(key: DeploymentKey) -> str:
    if not isinstance(key, DeploymentKey):
        raise InvalidName(
            f"key={key!r:.80} is not a DeploymentKey.",
            hint="Take it from `deployment.key`, or make it with roost.deployment_key(...).",
        )
    return f"/api/deployments/{key.model}"


def _fingerprint(key: DeploymentKey) -> dict[str, str]:
    return {"fingerprint": key.config_fingerprint} if key.config_fingerprint else {}
