"""What users get wrong: each mistake has an error of its own that says what to do next."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import roost
from roost.errors import (
    InvalidConfig,
    InvalidName,
    InvalidServable,
    InvalidWeights,
    ModelNotDeployed,
    ModelNotFound,
    NameTaken,
    ServerUnreachable,
)
from roost.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.e2e.conftest import Project, Ran


@pytest.fixture
def model(at: ServerProcess, project: Project) -> roost.SavedModel:
    return roost.register_model(project.load("greeter").Greeter, "bad", "input")


def failed(ran: Ran, message: str, hint: str, code: int = 1) -> None:
    """The exit code, the message, and the next step as the last line."""
    assert (ran.code, ran.out) == (code, "")
    assert ran.err.startswith("error: ")
    assert message in ran.err
    last = ran.err.splitlines()[-1]
    assert last.startswith("  hint: ")
    assert hint in last


class TestUnknownModel:
    def test_deploying_it(self, model: roost.SavedModel, cli: Callable[..., Ran]) -> None:
        with pytest.raises(ModelNotFound, match="'bad/inputs/imported'") as caught:
            roost.deploy_model("bad", "inputs", "imported")
        assert caught.value.hint is not None
        assert "'bad/input/imported'" in caught.value.hint
        failed(cli("deploy", "bad/inputs/imported"), "'bad/inputs/imported'", "'bad/input/imported'")
        assert cli("deploy", "bad/inputs/imported", "--json").error["reason"] == "model_not_found"

    def test_loading_and_showing_it(self, model: roost.SavedModel, cli: Callable[..., Ran]) -> None:
        with pytest.raises(ModelNotFound):
            roost.load_model("bad", "inputs", "imported")
        assert roost.model_registry_status("bad", "inputs", "imported") is None
        failed(cli("models", "show", "bad/inputs/imported"), "'bad/inputs/imported'", "'bad/input/imported'")

    def test_asking_for_its_deployment(self, model: roost.SavedModel, cli: Callable[..., Ran]) -> None:
        key = roost.DeploymentKey("bad", "input", "imported")
        with pytest.raises(ModelNotDeployed, match="'bad/input/imported'"):
            roost.model_serving_status(key)
        for command in ("status", "logs", "undeploy"):
            failed(cli(command, str(key)), "'bad/input/imported' is not deployed", "`roost deploy")


class TestConfig:
    def test_an_unknown_one(self, model: roost.SavedModel, cli: Callable[..., Ran]) -> None:
        key = roost.deployment_key("bad", "input", "imported", {"thinking": "false"})
        with pytest.raises(ModelNotDeployed, match="'bad/input/imported@a32291675798'"):
            roost.model_serving_status(key)
        told = cli("status", "bad/input/imported", "-c", "thinking=false")
        failed(told, "'bad/input/imported@a32291675798' is not deployed", "`roost deploy")

    def test_an_empty_one_is_none(self) -> None:
        assert roost.deployment_key("bad", "input", "imported", {}).config_fingerprint == ""

    @pytest.mark.parametrize("config", [{"": "x"}, {" ": "x"}, {"a": 1}, {1: "a"}])
    def test_a_blank_key_or_another_type(
        self, model: roost.SavedModel, config: dict[str, str], cli: Callable[..., Ran]
    ) -> None:
        with pytest.raises(InvalidConfig):
            roost.deploy_model("bad", "input", "imported", config=config)

    def test_a_bad_pair_on_the_command_line(self, model: roost.SavedModel, cli: Callable[..., Ran]) -> None:
        failed(cli("deploy", "bad/input/imported", "-c", "thinking"), "'thinking'", "KEY=VALUE", code=2)
        assert cli("deploy", "bad/input/imported", "-c", "=x", "--json").error["reason"] == "invalid_config"


class TestName:
    @pytest.mark.parametrize("segment", ["a/b", "a__b", "", "..", "-a", "a b", "a" * 64, "a\0b"])
    def test_of_a_model(self, segment: str, at: ServerProcess, project: Project) -> None:
        greeter = project.load("greeter").Greeter
        before = len(roost.list_models())
        with pytest.raises(InvalidName):
            roost.register_model(greeter, segment, "suffix")
        with pytest.raises(InvalidName):
            roost.register_model(greeter, "family", segment)
        assert len(roost.list_models()) == before

    @pytest.mark.parametrize("name", ["a__b", "a//b", "../b", "a b", "x/y/z"])
    def test_of_a_deployment(self, name: str, model: roost.SavedModel, cli: Callable[..., Ran]) -> None:
        with pytest.raises(InvalidName):
            roost.deploy_model("bad", "input", "imported", name=name)

    def test_on_the_command_line(self, model: roost.SavedModel, cli: Callable[..., Ran]) -> None:
        failed(cli("deploy", "bad/input"), "'bad/input'", "family/suffix/run_name", code=2)
        told = cli("deploy", "bad/in__put/imported", "--json")
        assert (told.code, told.error["reason"]) == (2, "invalid_name")
        told = cli("deploy", "bad/input/imported", "--name", "a__b", "--json")
        assert (told.code, told.error["reason"]) == (1, "invalid_name")

    def test_one_that_is_taken(
        self, model: roost.SavedModel, project: Project, cli: Callable[..., Ran]
    ) -> None:
        """And taking it over is one write."""
        roost.register_model(project.load("greeter").Greeter, "bad", "other")
        holder = roost.deploy_model("bad", "input", "imported", name="taken")
        try:
            with pytest.raises(NameTaken, match="'bad/input/imported'"):
                roost.deploy_model("bad", "other", "imported", name="taken")
            failed(
                cli("deploy", "bad/other/imported", "--name", "taken"), "'bad/input/imported'", "--take-name"
            )
        finally:
            roost.undeploy_model(holder.key)


class TestWeights:
    def test_a_missing_directory(self, at: ServerProcess, project: Project, tmp_path: Path) -> None:
        reader = project.load("reader").Reader
        with pytest.raises(InvalidWeights, match="'/no/such/folder' does not exist") as caught:
            roost.save_model("/no/such/folder", reader, "bad", "weights")
        assert caught.value.hint == "Pass the folder that holds the model's files."
        file = tmp_path / "file"
        file.write_text("x")
        with pytest.raises(InvalidWeights, match="is not a directory"):
            roost.import_model(file, reader, "bad", "weights")
        assert roost.list_models(family="bad", suffix="weights") == []

    def test_a_source_that_returns_a_missing_directory(self, at: ServerProcess, project: Project) -> None:
        """The entry says why it failed, and the next import replaces it."""
        reader = project.load("reader").Reader
        with pytest.raises(InvalidWeights, match="'/no/such/folder'"):
            roost.import_model(lambda: "/no/such/folder", reader, "bad", "source")
        (entry,) = roost.list_models(family="bad", suffix="source")
        assert entry.phase == "upload_failed"
        assert "'/no/such/folder'" in entry.message
        assert roost.import_model(project.folder, reader, "bad", "source").phase == "ready"

    def test_a_model_without_weights_has_none_to_load(self, model: roost.SavedModel) -> None:
        assert (model.data_blob_path, model.has_weights) == (roost.NO_WEIGHTS, False)
        with pytest.raises(InvalidWeights, match="without weights") as caught:
            roost.load_model("bad", "input", "imported")
        assert caught.value.hint == "Use import_model or save_model to store some."


class TestServable:
    def test_one_that_needs_a_module_its_bundle_lacks(self, at: ServerProcess, project: Project) -> None:
        lost = project.load("lost").Lost
        with pytest.raises(InvalidServable, match="No module named 'hidden_helper'") as caught:
            roost.register_model(lost, "bad", "lost")
        assert caught.value.hint is not None
        assert "include=('hidden_helper',)" in caught.value.hint
        assert roost.list_models(family="bad", suffix="lost") == []
        saved = roost.register_model(lost, "bad", "lost", include=("hidden_helper",))
        assert saved.phase == "ready"

    def test_a_class_that_is_no_servable(self, at: ServerProcess) -> None:
        with pytest.raises(InvalidServable) as caught:
            roost.register_model(dict, "bad", "dict")
        assert caught.value.hint


class TestServer:
    def test_one_that_is_not_up(self, cli: Callable[..., Ran], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("ROOST_URL", "http://127.0.0.1:9")
        with pytest.raises(ServerUnreachable, match=r"'http://127\.0\.0\.1:9'") as caught:
            roost.list_models()
        assert caught.value.hint == "Start one with `roost up`, or set ROOST_URL to where it runs."

    def test_usage_is_exit_code_2(self, cli: Callable[..., Ran]) -> None:
        assert cli("deploy").code == 2
        assert cli("deploy", "a/b/c", "--replicas", "0").code == 2
        assert cli("nonsense").code == 2
