"""What differs between specs, and why replicas restart."""

from __future__ import annotations

from typing import Any

import pytest

from roost.serving.differences import changes_between, restart_reasons


def app(**args: Any) -> dict[str, Any]:
    return {
        "import_path": "a:b",
        "args": {"servable": {"bundleFingerprint": "b1", "pins": ["x==1"]}, "config": {}, **args},
        "deployments": [
            {
                "name": "App",
                "autoscaling_config": {"min_replicas": 1, "max_replicas": 1},
                "ray_actor_options": {"num_cpus": 0.1},
            }
        ],
    }


def paths(old: Any, new: Any) -> dict[str, tuple[Any, Any]]:
    return {change.path: (change.old, change.new) for change in changes_between(old, new)}


def test_values_are_told_by_their_path() -> None:
    new = app(servable={"bundleFingerprint": "b2", "pins": ["x==2"]}, config={"a": "1"})
    new["deployments"][0]["autoscaling_config"]["min_replicas"] = 3
    assert paths(app(), new) == {
        "args.servable.bundleFingerprint": ("b1", "b2"),
        "args.servable.pins": (["x==1"], ["x==2"]),
        "args.config.a": (None, "1"),
        "deployments.App.autoscaling_config.min_replicas": (1, 3),
    }
    assert paths(app(), app()) == {}


def test_what_comes_and_goes() -> None:
    assert paths({"a": {"b": 1, "c": {"d": 2}}}, {"e": [1]}) == {
        "e": (None, [1]),
        "a.b": (1, None),
        "a.c.d": (2, None),
    }
    assert paths({}, {"deployments": [{"name": "App", "x": 1}]}) == {"deployments.App.x": (None, 1)}
    assert paths({"a": {"b": 1}}, {"a": 2}) == {"a": ({"b": 1}, 2)}
    assert paths({"a": {}}, {"a": None}) == {"a": ({}, None)}


@pytest.mark.parametrize(
    ("new", "other_requirements", "reasons"),
    [
        (app(), False, []),
        (app(servable={"bundleFingerprint": "b2"}), False, ["code"]),
        (app() | {"runtime_env": {"uv": ["x==2"]}}, False, ["code"]),
        (app() | {"import_path": "c:d"}, False, ["code"]),
        (app(config={"a": "1"}), False, ["config"]),
        (app(weightsDigest="d2"), False, ["weights"]),
        (app(storageUrl="s3://b"), False, ["settings"]),
        (app(), True, ["requirements"]),
        (
            app(servable={}, config={"a": "1"}, weightsDigest="d2"),
            True,
            ["requirements", "code", "config", "weights"],
        ),
        (
            app() | {"deployments": [{"name": "App", "ray_actor_options": {"num_cpus": 1}}]},
            False,
            ["settings"],
        ),
    ],
)
def test_why_replicas_restart(new: dict[str, Any], other_requirements: bool, reasons: list[str]) -> None:
    assert restart_reasons(app(), new, other_requirements=other_requirements) == reasons


def test_other_sizes_of_cards_are_no_reason_by_themselves() -> None:
    new = app()
    new["deployments"][0]["ray_actor_options"]["label_selector"] = {"vram_mib": "24576"}
    assert restart_reasons(app(), new, other_requirements=False) == []
