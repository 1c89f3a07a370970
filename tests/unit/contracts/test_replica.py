"""What a replica is made of, and the name of that."""

from __future__ import annotations

import json

from pydantic import Field

from roost.contracts.replica import ReplicaSpec
from roost.contracts.servable import ServableRef
from roost.keys import DeploymentKey


def spec(**changes: object) -> ReplicaSpec:
    servable = ServableRef(
        class_path="models:Model", kind="serve_app", bundle_fingerprint="b" * 64, pins=["x==1"]
    )
    values: dict[str, object] = {
        "key": DeploymentKey("f", "s", "r", "0e09eeab5bde"),
        "servable": servable,
        "config": {"naïve": "ü"},
        "storage_url": "file:///s",
    }
    return ReplicaSpec.model_validate(values | changes)


def test_server_and_replica_name_the_same_version() -> None:
    given = spec().model_dump(mode="json", by_alias=True)
    read = ReplicaSpec.model_validate_json(json.dumps(given))
    assert read.version == spec().version
    assert len(read.version) == 16


def test_a_record_from_before_a_field_existed_names_the_same_version() -> None:
    given = spec().model_dump(mode="json", by_alias=True)
    del given["limits"]
    assert ReplicaSpec.model_validate(given | {"restarts": 2}).version == spec().version


def test_a_version_that_knows_fewer_fields_names_the_same() -> None:
    """As replicas do that an older server deployed and a newer one looks at."""

    class Older(ReplicaSpec):
        runtime_zip: None = Field(default=None, exclude=True)

    given = spec().model_dump(mode="json", by_alias=True)
    assert "runtimeZip" in given
    assert Older.model_validate(given).version == spec().version


def test_whatever_restarts_a_replica_makes_another_version() -> None:
    others = [
        spec(config={}),
        spec(weights_digest="d" * 64),
        spec(cache_dir="/c"),
        spec(storage_url="file:///t"),
        spec(runtime_zip="file:///s/runtime/abc.zip"),
    ]
    assert len({each.version for each in [spec(), *others]}) == 6
