"""What `roost status` and `roost doctor` say of a team's server on an existing cluster."""

from __future__ import annotations

from typing import Any

import pytest

from roost.cli.doctor import _engine
from roost.cli.finding import Finding
from roost.cli.status import print_server
from roost.contracts.info import EngineInfo, ServerInfo, StorageInfo


def server(*, leader: str | None, **engine: Any) -> ServerInfo:
    return ServerInfo(
        version="1",
        url="http://127.0.0.1:7463",
        home="/h",
        database="postgresql://db/roost",
        storage=StorageInfo(url="s3://bucket", storage_id="i"),
        engine=EngineInfo(
            **{
                "state": "ready",
                "embedded": False,
                "dashboard_url": "http://ray:8265",
                "serve_url": "http://ray:8000",
            }
            | engine
        ),
        name="host:1:aa",
        leader=leader,
    )


@pytest.mark.parametrize(
    ("leader", "said"),
    [("host:1:aa", "this server"), ("host:2:bb", "host:2:bb"), (None, "none at the moment")],
)
def test_status_names_the_leader(leader: str | None, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_server(server(leader=leader))
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("leader")]
    assert line.split(maxsplit=1)[1] == said


def test_doctor_tells_of_serve_and_of_what_the_nodes_must_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_WORKER_PROVIDES", "transformers,timm")
    findings = list(_engine(server(leader=None)))
    assert [(item.check, item.result) for item in findings] == [
        ("ray", "ok"),
        ("serve", "ok"),
        ("workers", "ok"),
    ]
    assert findings[1].detail == "http://ray:8000"
    assert "roost[server]" in findings[2].detail
    assert "transformers,timm (ROOST_WORKER_PROVIDES)" in findings[2].detail


def test_doctor_fails_where_serve_is_not_found() -> None:
    message = "Nothing answers at 'http://ray:8000' (ConnectError). Set ROOST_SERVE_URL."
    findings = {item.check: item for item in _engine(server(leader=None, message=message))}
    assert findings["serve"] == Finding(
        "serve", "failed", message, "The guide existing-cluster.md has each setting."
    )
