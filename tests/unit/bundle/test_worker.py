from __future__ import annotations

import pytest

from roost.bundle.worker import worker_has


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
