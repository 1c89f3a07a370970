"""A whole server whose storage is a bucket: its replicas load from it, its callers without credentials."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import roost
from roost.cli.doctor_storage import storage_findings
from roost.sdk.artifacts import find_way
from roost.sdk.connection import current_client
from roost.testing.seaweedfs import SECRET_KEY, SeaweedServer
from roost.testing.server_process import ServerProcess

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]

PROJECT = Path(__file__).parents[1] / "e2e" / "project"


@pytest.fixture
def server(s3: SeaweedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerProcess]:
    environment = {"ROOST_STORAGE_URL": s3.new_url("with%20space/"), **s3.environment}
    server = ServerProcess(tmp_path / "home", tmp_path / "cache", **environment)
    monkeypatch.setenv("ROOST_URL", server.url)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(tmp_path / "cache of the caller"))
    try:
        yield server.start_ready()
        server.end()
    finally:
        server.stop()


def test_a_replica_loads_from_the_bucket_and_shows_no_credentials(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = server.info()
    storage = info.storage
    assert find_way(storage) == "signed URLs"
    assert [(each.check, each.result) for each in storage_findings(current_client(), storage)] == [
        ("storage", "ok"),
        ("storage from here", "ok"),
    ]
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "text.txt").write_text("out of the bucket")
    monkeypatch.syspath_prepend(PROJECT)
    roost.import_model(weights, importlib.import_module("reader").Reader, "s3", "reader")
    deployment = roost.deploy_model("s3", "reader", "imported", wait=True, timeout=240)
    answer = httpx2.get(f"{deployment.url}/read", timeout=30, trust_env=False)
    assert answer.json() == ["first", "out of the bucket"]

    shown = [json.dumps(server.ray_details()), server.log.read_text(), deployment.model_dump_json()]
    shown += [event.model_dump_json() for event in roost.list_events()]
    assert info.engine.log_dir is not None
    logs = [file for file in Path(info.engine.log_dir).rglob("*") if file.is_file()]
    assert any("Reader" in file.name or "replica" in file.name for file in logs)
    shown += [file.read_text(errors="replace") for file in logs]
    assert [text[:200] for text in shown if SECRET_KEY in text] == []
