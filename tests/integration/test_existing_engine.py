"""A server on a dashboard that is not as the settings say: each fault is told, and the server goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from roost.contracts.deployment import DeployRequest
from roost.keys import DeploymentKey, ModelKey
from roost.parts import Parts
from roost.settings import Settings
from roost.testing.fake_serve import FakeServe
from roost.testing.fake_serve_http import FakeAnswer, FakeHttp
from roost.testing.ready_models import save_ready_model
from roost.testing.server_process import free_port, wait_until

TIMEOUT_S = 60.0
KEY = ModelKey("f", "s", "r")


@pytest.fixture
def ray() -> Iterator[FakeServe]:
    with FakeServe() as ray:
        yield ray


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Parts]]:
    """Starts the parts of a server; they are stopped at the end."""
    monkeypatch.setenv("HOME", str(tmp_path))
    started: list[Parts] = []

    def make(ray_url: str, **settings: Any) -> Parts:
        parts = Parts(Settings(home=tmp_path / "home", ray_dashboard_url=ray_url, **settings))
        started.append(parts)
        parts.start()
        return parts

    yield make
    for parts in started:
        parts.stop()


def deploy(parts: Parts) -> None:
    save_ready_model(parts.db, KEY, bundle="b" * 64)
    parts.deployments.deploy(KEY, DeployRequest())


def serve_answers(routes: FakeAnswer) -> FakeHttp:
    ingress = FakeHttp(lambda *_: routes)
    ingress.start()
    return ingress


def test_a_serve_that_runs_nowhere_yet_is_no_fault(ray: FakeServe, start: Callable[..., Parts]) -> None:
    parts = start(ray.url, serve_url=f"http://127.0.0.1:{free_port()}")
    info = parts.info(False)
    assert (info.engine.state, info.engine.message) == ("ready", "")


def test_the_first_put_makes_serve_listen_where_callers_look(
    ray: FakeServe, start: Callable[..., Parts]
) -> None:
    port = free_port()
    parts = start(ray.url, serve_url=f"http://127.0.0.1:{port}")
    deploy(parts)
    wait_until(lambda: bool(ray.puts), TIMEOUT_S, "a PUT")
    assert ray.puts[0]["http_options"] == {"host": "127.0.0.1", "port": port}
    modules = ray.puts[0]["applications"][0]["runtime_env"]["py_modules"]
    assert modules == [parts.engine.runtime_zip]
    stored = parts.engine.runtime_zip or ""
    wait_until(Path(stored.removeprefix("file://")).is_file, TIMEOUT_S, "the runtime is stored")


def test_a_serve_that_listens_elsewhere(ray: FakeServe, start: Callable[..., Parts]) -> None:
    port = free_port()
    parts = start(ray.url, serve_url=f"http://127.0.0.1:{port}")
    deploy(parts)
    wait_until(lambda: bool(ray.puts), TIMEOUT_S, "a PUT")
    info = parts.info(False)
    assert info.engine.state == "ready"
    assert info.engine.message == (
        f"Nothing answers at 'http://127.0.0.1:{port}' (ConnectError). "
        f"Ray says that Serve listens on port {port}. "
        "Set ROOST_SERVE_URL (--serve-url) to where callers reach it."
    )
    not_routed = f"It runs; Serve at http://127.0.0.1:{port} does not route all requests to it yet."
    shown = DeploymentKey("f", "s", "r")
    wait_until(lambda: parts.deployments.get(shown).message == not_routed, TIMEOUT_S, not_routed)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (FakeAnswer(200, {"/r/f/s/r": "f__s__r"}), ""),
        (FakeAnswer(503, "no healthy replica"), ""),
        (FakeAnswer(404, "not found"), "is not Ray Serve (404 to GET /-/routes)"),
        (FakeAnswer(200, "<html>"), "is not Ray Serve (200 to GET /-/routes)"),
    ],
)
def test_what_answers_instead_of_serve(
    ray: FakeServe, start: Callable[..., Parts], answer: FakeAnswer, fault: str
) -> None:
    ingress = serve_answers(answer)
    try:
        parts = start(ray.url, serve_url=ingress.url)
        deploy(parts)
        wait_until(lambda: bool(ray.puts), TIMEOUT_S, "a PUT")

        def is_told() -> bool:  # one look may time out on a busy machine
            message = parts.info(False).engine.message
            return fault in message and bool(message) == bool(fault)

        wait_until(is_told, TIMEOUT_S, fault or "no fault")
    finally:
        ingress.stop()


def test_a_dashboard_without_serve(ray: FakeServe, start: Callable[..., Parts]) -> None:
    bare = FakeHttp(lambda *_: FakeAnswer(404, "404: Not Found"))
    bare.start()
    try:
        parts = start(bare.url)
        wait_until(lambda: parts.info(False).engine.state == "unreachable", TIMEOUT_S, "unreachable")
        message = parts.info(False).engine.message
        assert f"What answers at '{bare.url}' is not a Ray dashboard with Serve" in message
        assert "Check the address, and that the cluster has ray[serve] installed." in message
    finally:
        bare.stop()


def test_a_wrong_address_or_token_leaves_the_server_at_work(start: Callable[..., Parts]) -> None:
    with FakeServe(token="right") as ray:
        parts = start(ray.url, ray_token="wrong")
        deploy(parts)
        wait_until(lambda: "refuses our token" in parts.info(False).engine.message, TIMEOUT_S, "refused")
        assert parts.info(False).engine.state == "unreachable"
        assert "ROOST_RAY_TOKEN" in parts.info(False).engine.message
        shown = DeploymentKey("f", "s", "r")
        wait_until(lambda: parts.deployments.get(shown).stale, TIMEOUT_S, "stale")
        assert parts.deployments.get(shown).phase == "not_started"


def test_nothing_listens_at_the_address(start: Callable[..., Parts]) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    parts = start(url)
    wait_until(lambda: parts.info(False).engine.state == "unreachable", TIMEOUT_S, "unreachable")
    assert f"Ray's dashboard at '{url}' does not answer" in parts.info(False).engine.message


def test_a_storage_that_is_away_is_said_and_tried_again(
    ray: FakeServe, start: Callable[..., Parts], tmp_path: Path
) -> None:
    (tmp_path / "storage").mkdir()
    (tmp_path / "storage" / "runtime").write_text("a file where a folder must be")
    parts = start(ray.url, storage_url=(tmp_path / "storage").as_uri())
    said = "The replica runtime could not be stored; it is tried again"
    wait_until(lambda: said in parts.info(False).engine.message, TIMEOUT_S, said)
    (tmp_path / "storage" / "runtime").unlink()
    wait_until(lambda: parts.info(False).engine.message == "", TIMEOUT_S, "stored")
