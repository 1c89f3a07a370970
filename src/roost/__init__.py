"""Roost keeps machine-learning models and serves them on Ray.

Every public name is loaded on first use, so `import roost` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from roost import serve as serve
    from roost.client import AsyncClient as AsyncClient
    from roost.client import Client as Client
    from roost.client.deployment import Deployment as Deployment
    from roost.contracts.autoscaling import Autoscaling as Autoscaling
    from roost.contracts.bundle import BundleInfo as BundleInfo
    from roost.contracts.deployment import ReplicaPlacement as ReplicaPlacement
    from roost.contracts.deployment import ServingStatus as ServingStatus
    from roost.contracts.event import Event as Event
    from roost.contracts.garbage import GarbageReport as GarbageReport
    from roost.contracts.model import SavedModel as SavedModel
    from roost.contracts.placement import DeployPlan as DeployPlan
    from roost.contracts.placement import PlacementExplanation as PlacementExplanation
    from roost.contracts.requirements import ModelRequirements as ModelRequirements
    from roost.contracts.verification import Verification as Verification
    from roost.errors import ModelDeployFailed as ModelDeployFailed
    from roost.errors import ModelNotDeployed as ModelNotDeployed
    from roost.errors import RoostError as RoostError
    from roost.keys import DECLARED as DECLARED
    from roost.keys import IMPORTED as IMPORTED
    from roost.keys import NO_WEIGHTS as NO_WEIGHTS
    from roost.keys import DeploymentConfig as DeploymentConfig
    from roost.keys import DeploymentKey as DeploymentKey
    from roost.keys import ModelKey as ModelKey
    from roost.keys import deployment_key as deployment_key
    from roost.sdk.bundles import model_bundle as model_bundle
    from roost.sdk.deployments import deploy_model as deploy_model
    from roost.sdk.deployments import list_deployed_models as list_deployed_models
    from roost.sdk.deployments import model_replica_placements as model_replica_placements
    from roost.sdk.deployments import model_serving_messages as model_serving_messages
    from roost.sdk.deployments import model_serving_status as model_serving_status
    from roost.sdk.deployments import redeploy_model as redeploy_model
    from roost.sdk.deployments import undeploy_model as undeploy_model
    from roost.sdk.deployments import wait_for_model_serving as wait_for_model_serving
    from roost.sdk.events import list_events as list_events
    from roost.sdk.garbage import collect_garbage as collect_garbage
    from roost.sdk.model_changes import delete_model as delete_model
    from roost.sdk.model_changes import set_model_config as set_model_config
    from roost.sdk.model_changes import set_model_requirements as set_model_requirements
    from roost.sdk.models import import_model as import_model
    from roost.sdk.models import list_models as list_models
    from roost.sdk.models import load_model as load_model
    from roost.sdk.models import model_config as model_config
    from roost.sdk.models import model_registry_status as model_registry_status
    from roost.sdk.models import register_model as register_model
    from roost.sdk.models import save_model as save_model
    from roost.sdk.placement import explain_placement as explain_placement
    from roost.sdk.placement import plan_deploy as plan_deploy
    from roost.sdk.verify import verify_model as verify_model

_HOME: dict[str, str] = {
    "AsyncClient": "roost.client",
    "Autoscaling": "roost.contracts.autoscaling",
    "BundleInfo": "roost.contracts.bundle",
    "Client": "roost.client",
    "DECLARED": "roost.keys",
    "DeployPlan": "roost.contracts.placement",
    "Deployment": "roost.client.deployment",
    "DeploymentConfig": "roost.keys",
    "DeploymentKey": "roost.keys",
    "Event": "roost.contracts.event",
    "GarbageReport": "roost.contracts.garbage",
    "IMPORTED": "roost.keys",
    "ModelDeployFailed": "roost.errors",
    "ModelKey": "roost.keys",
    "ModelNotDeployed": "roost.errors",
    "ModelRequirements": "roost.contracts.requirements",
    "NO_WEIGHTS": "roost.keys",
    "PlacementExplanation": "roost.contracts.placement",
    "ReplicaPlacement": "roost.contracts.deployment",
    "RoostError": "roost.errors",
    "SavedModel": "roost.contracts.model",
    "Verification": "roost.contracts.verification",
    "ServingStatus": "roost.contracts.deployment",
    "collect_garbage": "roost.sdk.garbage",
    "delete_model": "roost.sdk.model_changes",
    "deploy_model": "roost.sdk.deployments",
    "deployment_key": "roost.keys",
    "explain_placement": "roost.sdk.placement",
    "import_model": "roost.sdk.models",
    "list_deployed_models": "roost.sdk.deployments",
    "list_events": "roost.sdk.events",
    "list_models": "roost.sdk.models",
    "load_model": "roost.sdk.models",
    "model_bundle": "roost.sdk.bundles",
    "model_config": "roost.sdk.models",
    "model_registry_status": "roost.sdk.models",
    "model_replica_placements": "roost.sdk.deployments",
    "model_serving_messages": "roost.sdk.deployments",
    "model_serving_status": "roost.sdk.deployments",
    "plan_deploy": "roost.sdk.placement",
    "redeploy_model": "roost.sdk.deployments",
    "register_model": "roost.sdk.models",
    "save_model": "roost.sdk.models",
    "serve": "roost.serve",
    "set_model_config": "roost.sdk.model_changes",
    "set_model_requirements": "roost.sdk.model_changes",
    "undeploy_model": "roost.sdk.deployments",
    "verify_model": "roost.sdk.verify",
    "wait_for_model_serving": "roost.sdk.deployments",
}

__version__ = "0.1.0"
__all__ = ["__version__", *sorted(_HOME)]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'roost' has no attribute {name!r}")
    module = import_module(home)
    value = module if home == f"roost.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
