from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

import roost.contracts
from roost.contracts.autoscaling import Autoscaling
from roost.contracts.base import Wire
from roost.contracts.deployment import Deployment, DeployRequest, ServingStatus
from roost.contracts.envelope import InferenceResponse
from roost.contracts.model import SavedModel
from roost.contracts.replica import ReplicaSpec
from roost.contracts.requirements import ModelRequirements
from roost.contracts.servable import ServableRef
from roost.keys import DeploymentKey, ModelKey

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SERVABLE = ServableRef(
    class_path="m:C", kind="inference_model", capability="detection", bundle_fingerprint="f"
)


def wire_models() -> list[type[Wire]]:
    folder = Path(roost.contracts.__path__[0])
    modules = [import_module(f"roost.contracts.{path.stem}") for path in sorted(folder.glob("[a-z]*.py"))]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, type)}
    return sorted((cls for cls in found if issubclass(cls, Wire)), key=lambda cls: cls.__name__)


def property_names(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [name for item in schema for name in property_names(item)]
    if not isinstance(schema, dict):
        return []
    return [*schema.get("properties", {}), *property_names(list(schema.values()))]


@pytest.mark.parametrize("cls", wire_models())
def test_every_field_is_camel_case_on_the_wire(cls: type[Wire]) -> None:
    schema = json.dumps(cls.model_json_schema(by_alias=True, mode="serialization"))

    assert [name for name in property_names(json.loads(schema)) if "_" in name] == []


def test_both_spellings_are_read() -> None:
    camel = DeployRequest.model_validate_json('{"numReplicas": 2, "takeName": true}')
    snake = DeployRequest.model_validate_json('{"num_replicas": 2, "take_name": true}')

    assert camel == snake == DeployRequest(num_replicas=2, take_name=True)


def test_fields_of_a_newer_side_are_ignored() -> None:
    assert DeployRequest.model_validate_json('{"fromTheFuture": 1}') == DeployRequest()


def test_keys_and_requirements_inside_are_camel_case_too_and_read_back() -> None:
    spec = ReplicaSpec(
        key=DeploymentKey("a", "b", "c", "a32291675798"), servable=SERVABLE, storage_url="file:///s"
    )
    body = json.loads(spec.to_json())

    assert body["key"] == {"family": "a", "suffix": "b", "runName": "c", "configFingerprint": "a32291675798"}
    assert body["limits"] == {"maxBodyBytes": 104857600, "maxImagePixels": 64000000, "timeoutS": None}
    assert ReplicaSpec.model_validate_json(spec.to_json()) == spec


def test_a_bad_key_inside_a_body_is_a_validation_error() -> None:
    key = {"family": "a__b", "suffix": "b", "runName": "c"}

    with pytest.raises(ValidationError, match="family 'a__b' is not valid"):
        ServingStatus.model_validate({"key": key, "phase": "running"})


def test_numbers_that_json_lacks_are_null_at_any_depth() -> None:
    response = InferenceResponse[Wire](
        id="1",
        timestamp=NOW,
        processing_time=math.inf,
        metadata={"a": math.nan, "b": [{"c": -math.inf}]},
        data=Wire(),
    )

    assert json.loads(response.to_json(), parse_constant=pytest.fail) == {
        "id": "1",
        "status": "SUCCESS",
        "timestamp": "2026-01-02T03:04:05Z",
        "processingTime": None,
        "metadata": {"a": None, "b": [{"c": None}]},
        "data": {},
    }


def test_a_saved_model_reads_back_and_knows_its_key() -> None:
    model = SavedModel(
        family="a",
        suffix="b",
        run_name="imported",
        created_at=NOW,
        data_blob_path="manifests/d.json",
        size_bytes=5,
        phase="ready",
        requirements=ModelRequirements(num_gpus=0.5, vram_gb=4),
        config={"some_key": "1"},
    )

    body = json.loads(model.to_json())

    assert body["requirements"] == {"numGpus": 0.5, "ramGb": 0, "vramGb": 4}
    assert body["config"] == {"some_key": "1"}
    assert SavedModel.model_validate(body) == model
    assert model.key == ModelKey("a", "b", "imported")


def test_a_deployment_tells_its_status() -> None:
    deployment = Deployment(
        family="a", suffix="b", run_name="c", name="a/b", url="http://h/r/a/b/c", phase="failed", message="no"
    )

    assert deployment.status() == ServingStatus(
        key=DeploymentKey("a", "b", "c"), phase="failed", message="no", url="http://h/r/a/b/c"
    )


def test_a_stale_status_says_how_old_it_is() -> None:
    seen = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    deployment = Deployment(
        family="f",
        suffix="s",
        run_name="r",
        name="f/s",
        url="",
        phase="unhealthy",
        message="disk",
        observed_at=seen,
        stale=True,
    )
    assert deployment.status().message == "Ray is out of reach; last seen at 2026-01-02 03:04:05 UTC. disk"
    assert deployment.status().stale
    never = deployment.model_copy(update={"observed_at": None, "message": ""})
    assert never.status().message == "Ray is out of reach; last seen never."


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"min_replicas": 3, "max_replicas": 2}, "min_replicas=3 is more than max_replicas=2"),
        ({"min_replicas": -1, "max_replicas": 2}, "greater than or equal to 0"),
        ({"max_replicas": 0}, "greater than or equal to 1"),
        ({}, "Field required"),
        ({"max_replicas": 2, "target_ongoing_requests": 0}, "greater than 0"),
        ({"max_replicas": 2, "target_ongoing_requests": float("nan")}, "less than or equal to 100000"),
        ({"max_replicas": 2, "upscale_delay_s": float("inf")}, "less than or equal to 86400"),
    ],
)
def test_autoscaling_out_of_bounds_is_refused(given: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        Autoscaling.model_validate(given)


@pytest.mark.parametrize("num_replicas", [0, -1, 1001, "many", None])
def test_replica_counts_out_of_bounds_are_refused(num_replicas: Any) -> None:
    with pytest.raises(ValidationError):
        DeployRequest(num_replicas=num_replicas)
