"""What the settings say of an existing cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from roost.bundle.runtime_zip import pack_runtime
from roost.engines import ExistingEngine
from roost.errors import BadRequest
from roost.settings import Settings
from roost.storage.store import ObjectStore


@pytest.fixture(autouse=True)
def _no_token(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "ROOST_SERVE_URL", "ROOST_RAY_DASHBOARD_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))


def engine(storage: str = "", **settings: Any) -> ExistingEngine:
    store = ObjectStore.open(storage or "file:///tmp")
    return ExistingEngine(Settings(**settings), store, lambda: None)


@pytest.mark.parametrize(
    ("settings", "serve_url", "options"),
    [
        (
            {"ray_dashboard_url": "http://ray-head:8265"},
            "http://ray-head:8000",
            {"host": "0.0.0.0", "port": 8000},
        ),
        (
            {"ray_dashboard_url": "http://127.0.0.1:8265/"},
            "http://127.0.0.1:8000",
            {"host": "127.0.0.1", "port": 8000},
        ),
        (
            {"ray_dashboard_url": "http://[fd00::1]:8265"},
            "http://[fd00::1]:8000",
            {"host": "0.0.0.0", "port": 8000},
        ),
        (
            {"ray_dashboard_url": "https://ray.example", "serve_url": "http://10.0.0.5:8010/"},
            "http://10.0.0.5:8010",
            {"host": "0.0.0.0", "port": 8010},
        ),
        (
            {"ray_dashboard_url": "https://ray.example", "serve_url": "https://models.example/serve"},
            "https://models.example/serve",
            {"host": "0.0.0.0", "port": 8000},
        ),
    ],
)
def test_where_serve_is_and_where_it_is_made_to_listen(
    settings: dict[str, Any], serve_url: str, options: dict[str, Any]
) -> None:
    made = engine(**settings)
    assert (made.serve_url, made.ingress.http_options) == (serve_url, options)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ray_dashboard_url": "ray-head:8265"}, "Ray dashboard URL 'ray-head:8265' is not valid"),
        ({"ray_dashboard_url": "http://h:port"}, "Ray dashboard URL 'http://h:port' is not valid"),
        ({"ray_dashboard_url": "ray://head:10001"}, "Ray dashboard URL 'ray://head:10001' is not valid"),
        ({"ray_dashboard_url": "http://h:1", "serve_url": "models"}, "Serve URL 'models' is not valid"),
        (
            {"ray_dashboard_url": "http://h:1", "serve_url": "http://:8000"},
            "Serve URL 'http://:8000' is not valid",
        ),
    ],
)
def test_an_address_that_is_none_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRequest, match=message) as caught:
        engine(**settings)
    assert caught.value.hint is not None
    assert "http://host:port" in caught.value.hint


def test_workers_download_the_runtime_by_its_content(tmp_path: Path) -> None:
    settings = {"ray_dashboard_url": "http://ray:8265"}
    first, again = engine(tmp_path.as_uri(), **settings), engine(tmp_path.as_uri(), **settings)
    assert first.runtime_zip == f"{tmp_path.as_uri()}/runtime/{pack_runtime().digest}.zip"
    assert again.runtime_zip == first.runtime_zip
    with pytest.raises(BadRequest, match="cannot be read by the workers"):
        engine("memory:///", **settings)
