from __future__ import annotations

from importlib import metadata

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from roost.bundle.worker import worker_has


def dependencies(name: str, extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
    """What a distribution asks for, as far as it is installed here."""
    try:
        lines = metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        return []
    wanted = [Requirement(line) for line in lines]
    return [
        (canonicalize_name(item.name), frozenset(item.extras))
        for item in wanted
        if item.marker is None or any(item.marker.evaluate({"extra": extra}) for extra in (extras or {""}))
    ]


def test_all_that_the_server_installs_is_known() -> None:
    waiting = [("roost", frozenset({"server"}))]
    done: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        entry = waiting.pop()
        if entry not in done:
            done.add(entry)
            waiting += dependencies(*entry)
    assert len(done) > 50
    unknown = sorted({name for name, _ in done if not worker_has(name)})
    assert not unknown, f"Add to src/roost/bundle/provided.py: {' '.join(unknown)}"


def test_what_is_not_installed_here_is_provided_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller with the base install alone makes the same pins as one with the server."""

    def nothing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", nothing)
    assert [worker_has(name) for name in ("starlette", "requests", "PyYAML")] == [True, True, True]


@pytest.mark.parametrize(
    "name",
    [
        "roost",
        "ray",
        "Ray",
        "fastapi",
        "starlette",
        "numpy",
        "pillow",
        "Pillow",
        "msgspec",
        "torch",
        "nvidia-nccl-cu12",
    ],
)
def test_what_every_worker_has(name: str) -> None:
    assert worker_has(name) is True


@pytest.mark.parametrize(
    "name", ["hypothesis", "pytest", "mypy", "opencv-python-headless", "transformers", ""]
)
def test_what_a_worker_may_lack(name: str) -> None:
    assert worker_has(name) is False


def test_the_environment_is_read_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOST_WORKER_PROVIDES", " Transformers , open_clip.torch")
    assert worker_has("transformers") is True
    assert worker_has("open-clip-torch") is True
    monkeypatch.delenv("ROOST_WORKER_PROVIDES")
    assert worker_has("transformers") is False
