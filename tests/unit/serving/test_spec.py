"""The application PUT to Ray."""

from typing import Any

import pytest

from roost.contracts.replica import ReplicaSpec
from roost.contracts.servable import ServableRef
from roost.keys import DeploymentKey
from roost.serving.scale import fixed
from roost.serving.settings import ServeSettings
from roost.serving.spec import application, missing_pins, restarts_replicas, with_restarts

INSTALLED = {"torch": "2.9.0+cu128", "numpy": "2.3.1"}

ONE = {
    "min_replicas": 1,
    "max_replicas": 1,
    "initial_replicas": 1,
    "metrics_interval_s": 2.0,
    "upscale_delay_s": 0.0,
    "downscale_delay_s": 0.0,
}
THREE = {**ONE, "min_replicas": 3, "max_replicas": 3, "initial_replicas": 3}


def make(*, replicas: int = 1, pins: tuple[str, ...] = (), gpus: float = 0) -> dict[str, Any]:
    spec = ReplicaSpec(
        key=DeploymentKey("det", "ssd", "run1", "a32291675798"),
        servable=ServableRef(
            class_path="m:M",
            kind="inference_model",
            capability="detection",
            bundle_fingerprint="b" * 64,
            pins=list(pins),
        ),
        weights_digest="d" * 64,
        config={"thinking": "false"},
        storage_url="file:///s",
    )
    settings = ServeSettings(serve_url="http://h:1", storage_url="file:///s", installed_version=INSTALLED.get)
    options = {"num_cpus": 0.1} | ({"num_gpus": gpus} if gpus else {})
    return application(spec, scale=fixed(replicas), actor_options=options, settings=settings)


def test_the_whole_application() -> None:
    assert make() == {
        "name": "det__ssd__run1__a32291675798",
        "route_prefix": "/r/det/ssd/run1/a32291675798",
        "import_path": "roost.replica.builder:build",
        "args": {
            "key": {
                "family": "det",
                "suffix": "ssd",
                "runName": "run1",
                "configFingerprint": "a32291675798",
            },
            "servable": {
                "classPath": "m:M",
                "kind": "inference_model",
                "capability": "detection",
                "bundleFingerprint": "b" * 64,
                "pins": [],
            },
            "weightsDigest": "d" * 64,
            "config": {"thinking": "false"},
            "storageUrl": "file:///s",
            "cacheDir": None,
            "limits": {"maxBodyBytes": 104857600, "maxImagePixels": 64000000, "timeoutS": None},
            "runtimeZip": None,
        },
        "logging_config": {"enable_access_log": False},
        "deployments": [
            {
                "name": "App",
                "autoscaling_config": ONE,
                "max_ongoing_requests": 64,
                "max_queued_requests": 256,
                "backpressure_config": {"retry_after_s": 1.0},
                "max_surge_percent": 100,
                "health_check_period_s": 2.0,
                "health_check_timeout_s": 30.0,
                "graceful_shutdown_timeout_s": 20.0,
                "ray_actor_options": {"num_cpus": 0.1},
            }
        ],
    }


def test_a_replica_reads_its_spec_back() -> None:
    spec = ReplicaSpec.model_validate(make()["args"])
    assert spec.key == DeploymentKey("det", "ssd", "run1", "a32291675798")
    assert ReplicaSpec.model_validate(with_restarts(make(), 2)["args"]) == spec


def test_the_number_of_replicas_touches_only_the_overrides() -> None:
    one, three = make(), make(replicas=3)
    assert {**three, "deployments": one["deployments"]} == one
    assert three["deployments"] == [{**one["deployments"][0], "autoscaling_config": THREE}]
    assert not restarts_replicas(one, three)


@pytest.mark.parametrize(
    ("old", "new", "restarts"),
    [
        (make(), make(), False),
        (make(), make(pins=("x==1",)), True),
        (make(), make(gpus=1), True),
        (make(), with_restarts(make(), 1), True),
        (make(), with_restarts(make(), 0), False),
    ],
)
def test_what_restarts_replicas(old: dict[str, Any], new: dict[str, Any], restarts: bool) -> None:
    assert restarts_replicas(old, new) is restarts


@pytest.mark.parametrize(
    ("pins", "missing"),
    [
        ([], []),
        (["numpy==2.3.1"], []),
        (["numpy==2.3.0"], ["numpy==2.3.0"]),
        (["torch==2.9.0"], []),
        (["torch==2.9.0+cu128"], []),
        (["torch==2.9.0+cpu"], ["torch==2.9.0+cpu"]),
        (["z==1", "absent==1", "z==1"], ["absent==1", "z==1"]),
        (["not a pin at all"], ["not a pin at all"]),
    ],
)
def test_pins_that_the_worker_lacks(pins: list[str], missing: list[str]) -> None:
    assert missing_pins(pins, INSTALLED.get) == missing


def test_only_missing_pins_make_a_runtime_env() -> None:
    assert "runtime_env" not in make(pins=("numpy==2.3.1",))
    assert make(pins=("numpy==2.3.1", "left-pad==1.0"))["runtime_env"] == {"uv": ["left-pad==1.0"]}


def test_workers_with_another_roost_get_the_servers_runtime() -> None:
    args = make(pins=("torch==2.9.0", "six==1.17.0"))["args"]
    spec = ReplicaSpec.model_validate({**args, "runtimeZip": "s3://b/runtime/abc.zip"})
    settings = ServeSettings(serve_url="http://h:1", storage_url="file:///s", installed_version=INSTALLED.get)
    shipped = application(spec, scale=fixed(1), actor_options={}, settings=settings)
    assert shipped["runtime_env"] == {"py_modules": ["s3://b/runtime/abc.zip"], "uv": ["six==1.17.0"]}
    assert restarts_replicas({**shipped, "runtime_env": {"uv": ["six==1.17.0"]}}, shipped)
