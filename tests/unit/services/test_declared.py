"""Models that installed packages offer."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from roost.contracts.deployment import DeployRequest
from roost.contracts.serving_model import DeployModelRequest
from roost.errors import (
    BadRequest,
    Infeasible,
    InvalidName,
    InvalidServable,
    ModelDeployFailed,
    NameTaken,
    NotFound,
)
from roost.keys import DeploymentKey, ModelKey
from roost.services.changes import Changes
from roost.services.declared import DeclaredModels, config_of, load_class, model_key
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

PLUGIN = """
import roost

async def app(scope, receive, send): ...

@roost.serve.ingress(app)
class Model:
    pass

number = 1
"""

ENTRY_POINTS = """
[roost.models]
good-model = declared_plugin:Model
broken-model = declared_plugin_broken:Model
number = declared_plugin:number
"""


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A distribution that offers a good class, one whose import fails, and a number."""
    folder = tmp_path / "site"
    info = folder / "declared_plugin-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "declared_plugin.py").write_text(PLUGIN)
    (folder / "declared_plugin_broken.py").write_text("raise RuntimeError('no card here')")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: declared-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    sys.modules.pop("declared_plugin", None)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[InProcessServer]:
    server = InProcessServer(tmp_path)
    yield server
    server.close()


@pytest.fixture
def declared(server: InProcessServer) -> DeclaredModels:
    return DeclaredModels(server.models, server.store, server.deployments, server.changes)


class Busy(Changes):
    """Lets the reconciler work whenever somebody waits."""

    def __init__(self, server: InProcessServer) -> None:
        super().__init__()
        self._server = server

    def wait_blocking(self, seen: int, timeout_s: float) -> int:
        self._server.settle()
        return super().wait_blocking(seen, 0)


class TestClass:
    def test_it_is_found_by_its_entry_point(self) -> None:
        assert load_class("good-model").__name__ == "Model"

    def test_an_unknown_one_gets_close_names(self) -> None:
        with pytest.raises(NotFound, match="'good-modl'") as caught:
            load_class("good-modl")
        assert caught.value.hint == "Did you mean 'good-model'?"
        with pytest.raises(NotFound) as caught:
            load_class("zzz")
        assert caught.value.hint is not None
        assert "good-model" in caught.value.hint

    def test_a_broken_plugin_is_named_with_its_reason(self) -> None:
        with pytest.raises(
            InvalidServable,
            match=r"'broken-model' \(declared_plugin_broken:Model\).*RuntimeError: no card here",
        ):
            load_class("broken-model")

    def test_an_entry_point_that_is_no_class(self) -> None:
        with pytest.raises(InvalidServable, match="is not a class"):
            load_class("number")


def test_the_key_of_a_name() -> None:
    assert model_key("sam2") == ModelKey("sam2", "default", "declared")
    assert model_key("sam2/large") == ModelKey("sam2", "large", "declared")
    for name in ("a/b/c", "a__b", ""):
        with pytest.raises(InvalidName):
            model_key(name)


def test_parameters_are_kept_as_strings_or_json() -> None:
    assert config_of({"a": "x", "b": 1, "c": {"z": [True, None]}}) == {
        "a": "x",
        "b": "1",
        "c": '{"z": [true, null]}',
    }


class TestDeploy:
    def test_it_is_registered_and_runs(self, declared: DeclaredModels, server: InProcessServer) -> None:
        request = DeployModelRequest(
            name="mine", model_class="good-model", model_params={"size": 3}, deployment={"numReplicas": 2}
        )
        assert declared.deploy(request) == DeploymentKey("mine", "default", "declared")
        model = server.models.get(ModelKey("mine", "default", "declared"))
        assert (model.phase, model.has_weights, model.config) == ("ready", False, {"size": "3"})
        (deployment,) = server.deployments.list().items
        assert (deployment.name, deployment.phase, deployment.num_replicas) == ("mine", "running", 2)

    def test_again_with_other_parameters(self, declared: DeclaredModels, server: InProcessServer) -> None:
        for size in (1, 2):
            declared.deploy(DeployModelRequest(model_class="good-model", model_params={"size": size}))
        assert server.models.get(ModelKey("good-model", "default", "declared")).config == {"size": "2"}
        (deployment,) = server.deployments.list().items
        assert deployment.generation == 2

    def test_settings_that_are_not_known(self, declared: DeclaredModels, server: InProcessServer) -> None:
        for settings in ({"color": "red"}, {"numReplicas": 0}, {"numGpus": -1}):
            with pytest.raises(BadRequest, match="deployment setting") as caught:
                declared.deploy(DeployModelRequest(model_class="good-model", deployment=settings))
            assert caught.value.hint is not None
            assert "num_replicas" in caught.value.hint
        assert server.models.count() == 0

    def test_a_name_that_is_taken(self, declared: DeclaredModels, server: InProcessServer) -> None:
        model = ModelKey("f", "s", "r")
        save_ready_model(server.db, model)
        server.deployments.deploy(model, DeployRequest(name="mine"))
        with pytest.raises(NameTaken, match="'f/s/r'"):
            declared.deploy(DeployModelRequest(name="mine", model_class="good-model"))
        assert [str(each.key) for each in server.deployments.list().items] == ["f/s/r"]

    def test_more_than_any_node_has(self, declared: DeclaredModels, server: InProcessServer) -> None:
        with pytest.raises(Infeasible):
            declared.deploy(DeployModelRequest(model_class="good-model", deployment={"numGpus": 4}))
        assert server.deployments.list().items == []

    def test_a_constructor_that_raises(self, server: InProcessServer) -> None:
        server.ray.broken["good-model__default__declared"] = "ValueError: no such size"
        patient = DeclaredModels(server.models, server.store, server.deployments, Busy(server))
        with pytest.raises(ModelDeployFailed, match="ValueError: no such size"):
            patient.deploy(DeployModelRequest(model_class="good-model"))
