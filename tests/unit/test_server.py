"""The composition root: settings, what is refused before anything starts, and the whole application."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn

import roost
from roost.app import create_app, openapi_document
from roost.errors import BadRequest, PortTaken
from roost.parts import Parts, serve_settings
from roost.records.upgrade import upgrade
from roost.server import _Server, check_exposure, listen, run
from roost.settings import Settings, read_settings


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROOST_HOME", "ROOST_PORT", "ROOST_HOST", "ROOST_URL"):
        monkeypatch.delenv(name, raising=False)


class TestSettings:
    def test_flags_win_over_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_PORT", "1000")
        monkeypatch.setenv("ROOST_MAX_BODY_BYTES", "5")
        settings = read_settings({"port": 2000})
        assert (settings.port, settings.max_body_bytes, settings.url) == (2000, 5, "http://127.0.0.1:2000")

    def test_a_bad_value_is_named_as_its_variable(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_MAX_BODY_BYTES", "lots")
        with pytest.raises(BadRequest, match="ROOST_MAX_BODY_BYTES='lots' is not valid"):
            read_settings({})

    @pytest.mark.parametrize("grace", ["0", "3599", "-1", "nan", "1e300"])
    def test_a_grace_that_makes_no_sense_is_refused(
        self, monkeypatch: pytest.MonkeyPatch, grace: str
    ) -> None:
        monkeypatch.setenv("ROOST_GC_GRACE_S", grace)
        with pytest.raises(BadRequest, match=f"ROOST_GC_GRACE_S='{grace}' is not valid"):
            read_settings({})

    def test_a_short_grace_says_why(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_GC_GRACE_S", "60")
        with pytest.raises(BadRequest, match=r"at least 3600.*interrupted.*`roost gc --grace 0s`"):
            read_settings({})
        monkeypatch.setenv("ROOST_GC_GRACE_S", "3600")
        assert read_settings({}).gc_grace_s == 3600

    @pytest.mark.parametrize("home", ["", "  "])
    def test_a_blank_folder_is_not_the_current_one(self, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
        with pytest.raises(BadRequest, match=r"must name a folder; '\.' is the current one"):
            read_settings({"home": home})
        monkeypatch.setenv("ROOST_CACHE_DIR", home)
        with pytest.raises(BadRequest, match="ROOST_CACHE_DIR"):
            read_settings({})

    def test_defaults_lie_in_the_home(self) -> None:
        settings = Settings(home=Path("/h"))
        assert settings.resolved_database_url == "sqlite:////h/roost.db"
        assert settings.resolved_storage_url == "file:///h/storage"
        assert settings.resolved_cache_dir == Path("/h/cache")
        assert Settings(host="::1").url == "http://[::1]:7463"

    def test_replicas_of_an_embedded_cluster_share_the_environment(self) -> None:
        embedded = serve_settings(Settings(home=Path("/h")), "http://serve")
        assert (embedded.cache_dir, embedded.storage_url) == ("/h/cache", "file:///h/storage")
        assert embedded.installed_version("roost") == roost.__version__
        assert embedded.installed_version("no-such-distribution") is None
        existing = serve_settings(Settings(ray_dashboard_url="http://ray:8265"), "http://serve")
        assert (existing.cache_dir, existing.installed_version("roost")) == (None, None)


class TestExposure:
    @pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
    def test_loopback_may_be_open(self, host: str) -> None:
        check_exposure(Settings(host=host))

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
    def test_anything_else_is_refused_unless_told(self, host: str) -> None:
        with pytest.raises(BadRequest, match="can be reached from other machines") as caught:
            check_exposure(Settings(host=host))
        assert caught.value.hint is not None
        assert "--insecure" in caught.value.hint
        check_exposure(Settings(host=host, insecure=True))


def test_an_address_that_is_not_here_cannot_be_listened_on() -> None:
    with pytest.raises(PortTaken, match=r"192\.0\.2\.77:7463 cannot be listened on") as caught:
        listen(Settings(host="192.0.2.77"))
    assert caught.value.hint is not None
    assert "--port" in caught.value.hint


class TestRefused:
    """What is refused leaves nothing: neither folders nor a lock."""

    @pytest.fixture(autouse=True)
    def _as_before(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        monkeypatch.setattr("roost.server.configure_logging", lambda level: None)
        before = signal.getsignal(signal.SIGTERM)
        yield
        signal.signal(signal.SIGTERM, before)

    def test_an_address_that_is_taken(self, tmp_path: Path) -> None:
        with pytest.raises(PortTaken):
            run({"home": tmp_path / "deep" / "home", "host": "192.0.2.77", "insecure": True})
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        "flags",
        [{"fake_gpus": ["12"]}, {"cluster_host": "0.0.0.0"}, {"ray_dashboard_url": "ftp://ray"}],
    )
    def test_settings_that_make_no_sense(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: dict[str, Any]
    ) -> None:
        monkeypatch.setattr("roost.server.listen", lambda settings: socket.socket())
        with pytest.raises(BadRequest):
            run({"home": tmp_path / "home", **flags})
        assert list(tmp_path.iterdir()) == []

    def test_what_was_there_stays(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("roost.server.listen", lambda settings: socket.socket())
        (tmp_path / "storage").mkdir()
        with pytest.raises(BadRequest):
            run({"home": tmp_path, "fake_gpus": ["12"]})
        assert [each.name for each in tmp_path.iterdir()] == ["storage"]


def test_signals_drain_and_are_not_raised_again() -> None:
    drained: list[str] = []

    async def app(scope: Any, receive: Any, send: Any) -> None: ...

    server = _Server(uvicorn.Config(app, lifespan="off"), lambda: drained.append("waiters"))
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with server.capture_signals():
        signal.raise_signal(signal.SIGTERM)
        assert (server.should_exit, server.force_exit) == (True, False)
        signal.raise_signal(signal.SIGINT)
        assert (server.should_exit, server.force_exit) == (True, True)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before
    server.servers = []
    asyncio.run(server.shutdown(sockets=[]))
    assert drained == ["waiters"]


def test_the_openapi_document_needs_no_start() -> None:
    document = openapi_document()
    assert document["info"] == {"title": "Roost", "version": roost.__version__}
    assert "post" in document["paths"]["/v1/inference/detection"]
    assert not Path("/nonexistent/roost").exists()


class Calls:
    """The application over records and storage in a folder, and a Ray that nobody has started."""

    def __init__(self, folder: Path) -> None:
        self.parts = Parts(
            Settings(home=folder, ray_dashboard_url="http://127.0.0.1:9", ray_token=None, max_body_bytes=1000)
        )
        upgrade(self.parts.db)
        self.app = create_app(self.parts)

    def __call__(self, method: str, path: str, **more: Any) -> httpx2.Response:
        async def send() -> httpx2.Response:
            transport = httpx2.ASGITransport(app=self.app)
            async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                return await client.request(method, path, **more)

        return asyncio.run(send())


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Calls]:
    calls = Calls(tmp_path_factory.mktemp("home"))
    yield calls
    calls.parts.engine.access.close()
    calls.parts.db.close()


class TestApp:
    def test_probes_answer_without_ray(self, call: Calls) -> None:
        assert call("GET", "/health").json() == {"status": "healthy"}
        assert call("GET", "/v1/ready").status_code == 200
        assert call("GET", "/v1/info").json()["numNodes"] == 1

    def test_a_ray_that_is_away_is_said(self, call: Calls) -> None:
        info = call("GET", "/api/info").json()
        assert (info["engine"]["state"], info["engine"]["embedded"]) == ("unreachable", False)
        assert (info["version"], info["models"], info["deployments"]) == (roost.__version__, 0, 0)

    @pytest.mark.parametrize(
        ("method", "path", "status", "code"),
        [
            ("GET", "/nowhere", 404, "not_found"),
            ("POST", "/v1/inference/nothing", 404, "not_found"),
            ("GET", "/v1/inference/detection", 405, "method_not_allowed"),
            ("PUT", "/api/info", 405, "method_not_allowed"),
            ("GET", "/api/models?limit=x", 422, "validation_error"),
            ("GET", "/api/models/a__b/c/d", 400, "bad_request"),
            ("DELETE", "/v1/models/none", 404, "not_found"),
        ],
    )
    def test_every_error_is_in_the_envelope(
        self, call: Calls, method: str, path: str, status: int, code: str
    ) -> None:
        answer = call(method, path, headers={"X-Request-ID": "r-1"})
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
        assert answer.json()["error"]["requestId"] == answer.headers["x-request-id"] == "r-1"

    @pytest.mark.parametrize("chunked", [False, True])
    @pytest.mark.parametrize(
        ("method", "path"),
        [("PUT", "/api/deployments/a/b/c"), ("POST", "/v1/models"), ("POST", "/v1/inference/detection")],
    )
    def test_bodies_are_limited(self, call: Calls, method: str, path: str, chunked: bool) -> None:
        body = b'{"model": "m", "name": "' + b"x" * 1000 + b'"}'

        async def pieces() -> Any:
            for start in range(0, len(body), 100):
                yield body[start : start + 100]

        answer = call(
            method,
            path,
            content=pieces() if chunked else body,
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 413
        assert answer.json()["error"]["message"] == "The request body is over the limit of 1000 bytes."

    def test_artifacts_have_a_limit_of_their_own(self, call: Calls) -> None:
        name = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
        assert call("PUT", f"/api/artifacts/chunks/{name}", content=b"\0").status_code == 204
        assert call("PUT", f"/api/artifacts/chunks/{name}", content=bytes(2000)).status_code == 400
        names = {"names": [name] * 100}
        assert call("POST", "/api/artifacts/chunks/missing", json=names).status_code == 413
