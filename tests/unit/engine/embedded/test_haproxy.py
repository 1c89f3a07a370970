from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from roost.engine.embedded import haproxy


@pytest.mark.parametrize(
    ("host", "written", "expected"),
    [
        ("127.0.0.1", "127.0.0.1:8000", "127.0.0.1:8000"),
        ("10.0.0.5", "*:8000", "10.0.0.5:8000"),
        ("10.0.0.5", "*:80001", "127.0.0.1:80001"),
    ],
)
def test_the_ingress_listens_at_the_clusters_address_and_all_else_on_loopback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, written: str, expected: str
) -> None:
    monkeypatch.setattr(haproxy, "_find_binary", lambda: Path("/bin/echo"))
    config = tmp_path / "haproxy.cfg"
    config.write_text(
        "frontend prometheus\n    bind :9101\nlisten stats\n  bind *:8404\n"
        f"frontend http\n    bind {written}\n    server a 10.0.0.1:80\n"
    )
    wrapper = haproxy.write_wrapper(tmp_path, host, 8000)
    assert wrapper is not None
    ran = subprocess.run(
        [wrapper, "-db", "-f", config, "-x", "a b"], capture_output=True, text=True, check=True
    )
    assert ran.stdout == f"-db -f {config} -x a b\n"
    assert config.read_text() == (
        "frontend prometheus\n    bind 127.0.0.1:9101\nlisten stats\n  bind 127.0.0.1:8404\n"
        f"frontend http\n    bind {expected}\n    server a 10.0.0.1:80\n"
    )


def test_without_haproxy_there_is_no_wrapper(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(haproxy, "_find_binary", lambda: None)
    assert haproxy.write_wrapper(tmp_path, "127.0.0.1", 8000) is None
    assert list(tmp_path.iterdir()) == []
