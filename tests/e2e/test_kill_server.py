"""The server or its Ray is killed at bad moments; what is wanted comes true all the same.

One home lives through all of it: each test leaves a running server behind.
"""

from __future__ import annotations

import base64
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

import roost
from roost.errors import ServerUnreachable
from roost.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

TIMEOUT_S = 240.0
BODY_LIMIT = 64 * 1024


@pytest.fixture(scope="module")
def fragile(make_server: Callable[..., ServerProcess]) -> Iterator[ServerProcess]:
    server = make_server("fragile", ROOST_MAX_BODY_BYTES=str(BODY_LIMIT), ROOST_CLAIM_LEASE_S="6")
    try:
        yield server.start_ready()
        server.end()
        assert len(server.clusters) == 3, "one start, and one for each time Ray died"
    finally:
        server.stop()


@pytest.fixture(autouse=True)
def _point_at(fragile: ServerProcess, node_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_URL", fragile.url)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(node_cache))


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    folder = tmp_path / "weights"
    folder.mkdir()
    (folder / "text.txt").write_text("whole")
    return folder


def wait_for(read: Callable[[], Any], wanted: Any, timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while (seen := read()) != wanted:
        assert time.monotonic() < deadline, f"{seen!r} is not {wanted!r} after {timeout_s:g} s"
        time.sleep(0.1)


def register(project: Project, suffix: str) -> None:
    roost.register_model(project.load("greeter").Greeter, "kill", suffix)


def serving(suffix: str) -> roost.Deployment:
    key = roost.DeploymentKey("kill", suffix, "imported")
    return roost.wait_for_model_serving(key, timeout=TIMEOUT_S)


def greeting(deployment: roost.Deployment) -> str:
    answer: str = httpx2.get(f"{deployment.url}/greet/you", timeout=30).raise_for_status().json()
    return answer


class TestBodyLimit:
    """Beside the kills, for this server has a small limit."""

    @pytest.mark.parametrize("chunked", [False, True])
    @pytest.mark.parametrize("route", ["/v1/inference/detection", "/v1/models", "/api/deployments/a/b/c"])
    def test_a_body_over_the_limit(self, fragile: ServerProcess, route: str, chunked: bool) -> None:
        image = base64.b64encode(bytes(BODY_LIMIT)).decode()
        body = f'{{"image": "{image}", "model": "m"}}'.encode()

        def pieces() -> Iterator[bytes]:
            for start in range(0, len(body), 8192):
                yield body[start : start + 8192]

        answer = httpx2.request(
            "PUT" if route.startswith("/api") else "POST",
            f"{fragile.url}{route}",
            content=pieces() if chunked else body,
            headers={"Content-Type": "application/json"},
        )
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (413, "payload_too_large")
        assert "65536" in error["message"]
        assert error["hint"]

    def test_the_deployments_own_url_has_the_limit_too(self, project: Project) -> None:
        register(project, "limit")
        deployment = roost.deploy_model("kill", "limit", "imported", wait=True, timeout=TIMEOUT_S)
        assert (
            httpx2.post(f"{deployment.url}/length", content=bytes(BODY_LIMIT), timeout=30).json()
            == BODY_LIMIT
        )
        for content in (bytes(BODY_LIMIT + 1), iter([bytes(BODY_LIMIT), b"x"])):
            answer = httpx2.post(f"{deployment.url}/length", content=content, timeout=30)
            assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")
        roost.undeploy_model(deployment.key)


class TestKilledDuringAnUpload:
    def test_the_entry_is_broken_and_a_retry_works(
        self, fragile: ServerProcess, project: Project, weights: Path
    ) -> None:
        reader = project.load("reader").Reader

        def source() -> Path:
            fragile.kill()
            return weights

        with pytest.raises(ServerUnreachable) as caught:
            roost.import_model(source, reader, "kill", "upload")
        assert caught.value.hint == "Start one with `roost up`, or set ROOST_URL to where it runs."
        fragile.start_ready()
        entry = roost.model_registry_status("kill", "upload", "imported")
        assert entry is not None
        assert entry.phase in {"uploading", "broken"}

        def phase() -> str:
            entry = roost.model_registry_status("kill", "upload", "imported")
            return entry.phase if entry is not None else "none"

        wait_for(phase, "broken", 45.0)
        assert roost.import_model(weights, reader, "kill", "upload").phase == "ready"
        assert (roost.load_model("kill", "upload", "imported") / "text.txt").read_text() == "whole"

    def test_an_upload_outlives_a_restart(
        self, fragile: ServerProcess, project: Project, weights: Path
    ) -> None:
        """The claim is in the records, so the writer goes on with the next server."""

        def source() -> Path:
            fragile.kill()
            fragile.start_ready()
            return weights

        saved = roost.import_model(source, project.load("reader").Reader, "kill", "restart")
        assert (saved.phase, saved.size_bytes) == ("ready", 5)


class TestKilledDuringADeploy:
    def test_right_after_the_answer(self, fragile: ServerProcess, project: Project) -> None:
        register(project, "answered")
        roost.deploy_model("kill", "answered", "imported")
        fragile.kill()
        first = fragile.clusters[0].cluster_id
        fragile.start_ready()
        assert fragile.cluster().cluster_id == first, "the Ray that was left is adopted"
        assert greeting(serving("answered")) == "Hello, you!"

    def test_while_the_reconciler_is_at_work(self, fragile: ServerProcess, project: Project) -> None:
        register(project, "at-work")
        key = roost.deploy_model("kill", "at-work", "imported").key
        wait_for(lambda: roost.model_serving_status(key).phase, "deploying", 60.0)
        fragile.kill()
        fragile.start_ready()
        assert greeting(serving("at-work")) == "Hello, you!"

    def test_during_an_undeploy(self, fragile: ServerProcess) -> None:
        key = roost.DeploymentKey("kill", "at-work", "imported")
        roost.undeploy_model(key)
        fragile.kill()
        fragile.start_ready()
        wait_for(lambda: roost.model_serving_status(key).phase, "not_deployed", 60.0)

    def test_deployments_serve_while_the_server_is_down(self, fragile: ServerProcess) -> None:
        answered = serving("answered")
        fragile.kill()
        try:
            assert greeting(answered) == "Hello, you!"
        finally:
            fragile.start_ready()


class TestRayDies:
    def test_under_a_running_server(self, fragile: ServerProcess) -> None:
        before = fragile.cluster()
        server_pid = fragile.process.pid
        deployment = serving("answered")
        # Control store and raylet, which are Ray's head.
        for core in before.core[:2]:
            os.kill(core.pid, signal.SIGKILL)
        wait_for(lambda: fragile.info().engine.state, "starting", 30.0)
        assert fragile.info().engine.message != ""
        assert roost.model_serving_status(deployment.key).url == deployment.url
        fragile.wait_ready()
        assert fragile.info().pid == server_pid
        assert fragile.cluster().cluster_id != before.cluster_id
        again = serving("answered")
        assert again.url == deployment.url
        wait_for(lambda: _greeting_or_none(again), "Hello, you!", 60.0)

    def test_with_its_server(self, fragile: ServerProcess) -> None:
        """The next start begins anew and fills the empty cluster again."""
        before = fragile.cluster()
        fragile.kill()
        os.kill(before.core[0].pid, signal.SIGKILL)
        fragile.start_ready()
        assert fragile.cluster().cluster_id != before.cluster_id
        assert _greeting_or_none(serving("answered")) == "Hello, you!"


def _greeting_or_none(deployment: roost.Deployment) -> str | None:
    try:
        return greeting(deployment)
    except httpx2.HTTPError:
        return None
