"""Saving, importing, registering and loading, over the real registry."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import roost
from roost.contracts.model import ClaimRequest
from roost.errors import (
    InvalidConfig,
    InvalidName,
    InvalidRequirements,
    InvalidServable,
    InvalidWeights,
    ModelBusy,
    ModelNotFound,
    ModelNotReady,
    ServerUnreachable,
)
from roost.keys import ModelKey
from roost.testing.in_process import InProcessServer

KEY = ModelKey("f", "s", "imported")
GPU = roost.ModelRequirements(num_gpus=1)

Servable = Callable[..., type]


def claim_by_another(server: InProcessServer, key: ModelKey = KEY) -> str:
    token = server.models.claim(key, ClaimRequest(mode="import", writer="eve@far (pid 9)")).token
    assert token is not None
    return token


class TestSave:
    def test_it_is_stored_under_the_active_run(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        saved = roost.save_model(weights, servable(), "f", "s", GPU, {"a": "b"})
        assert saved.run_name.startswith("default-")
        assert (saved.phase, saved.size_bytes, saved.has_weights) == ("ready", 5, True)
        assert (saved.requirements, saved.config) == (GPU, {"a": "b"})
        assert (saved.class_path, saved.capability) == ("own_model:Model", None)
        assert saved.data_blob_path == f"manifests/{saved.digest}.json"
        assert roost.model_registry_status("f", "s", saved.run_name) == saved
        assert roost.save_model(weights, servable(), "f", "other").run_name == saved.run_name

    def test_what_comes_back_is_the_same_and_read_only(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        saved = roost.save_model(weights, servable(), "f", "s")
        loaded = roost.load_model("f", "s", saved.run_name)
        files = {path.relative_to(loaded).as_posix() for path in loaded.rglob("*") if path.is_file()}
        assert files == {"model.bin", "deep/empty"}
        assert (loaded / "model.bin").read_bytes() == b"12345"
        assert [path.stat().st_mode & 0o222 for path in (loaded, *loaded.rglob("*"))] == [0, 0, 0, 0]

    def test_saving_again_replaces_it_whole(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        first = roost.save_model(weights, servable(), "f", "s", GPU, {"a": "b"})
        (weights / "model.bin").write_bytes(b"678")
        second = roost.save_model(weights, servable(2), "f", "s")
        assert (second.size_bytes, second.requirements, second.config) == (3, roost.ModelRequirements(), {})
        assert second.bundle_fingerprint != first.bundle_fingerprint
        loaded = roost.load_model("f", "s", second.run_name)
        assert (loaded / "model.bin").read_bytes() == b"678"

    def test_a_failed_save_leaves_the_old_one(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        first = roost.save_model(weights, servable(), "f", "s")
        (weights / "away").symlink_to("/etc/passwd")
        with pytest.raises(InvalidWeights, match="away"):
            roost.save_model(weights, servable(), "f", "s")
        assert roost.model_registry_status("f", "s", first.run_name) == first
        (weights / "away").unlink()
        assert roost.save_model(weights, servable(), "f", "s").digest == first.digest


class TestRefusedBeforeAnythingIsWritten:
    def test_names(self, server: InProcessServer, servable: Servable, weights: Path) -> None:
        for family in ("a/b", "a__b", "", ".."):
            with pytest.raises(InvalidName):
                roost.save_model(weights, servable(), family, "s")
        assert server.requests == []

    def test_config(self, server: InProcessServer, servable: Servable) -> None:
        with pytest.raises(InvalidConfig):
            roost.register_model(servable(), "f", "s", config={" ": "x"})
        assert server.requests == []

    def test_weights(self, server: InProcessServer, servable: Servable, weights: Path) -> None:
        for path, what in (("/no/such", "does not exist"), (weights / "model.bin", "is not a directory")):
            with pytest.raises(InvalidWeights, match=what):
                roost.save_model(path, servable(), "f", "s")
            with pytest.raises(InvalidWeights, match=what):
                roost.import_model(path, servable(), "f", "s")
        # An import asks whether the model is there already: then it needs no weights.
        assert {method for method, _ in server.requests} == {"GET"}

    @pytest.mark.parametrize("source", ["http://example.com/x", "hf://tiny", 3])
    def test_sources(self, server: InProcessServer, servable: Servable, source: str) -> None:
        with pytest.raises(InvalidWeights, match=r"hf://org/name\[@revision\]"):
            roost.import_model(source, servable(), "f", "s")
        assert server.requests == []

    @pytest.mark.parametrize(
        ("path", "message"),
        [
            ("", "weights directory '' is empty text."),
            (" \n", "weights directory ' \\n' is blank text."),
        ],
    )
    def test_text_that_names_no_directory(
        self, server: InProcessServer, servable: Servable, path: str, message: str
    ) -> None:
        for function in (roost.save_model, roost.import_model):
            with pytest.raises(InvalidWeights) as caught:
                function(path, servable(), "f", "s")
            assert (caught.value.message, caught.value.hint) == (
                message,
                "Pass '.' for the current directory.",
            )
        assert server.requests == []

    @pytest.mark.parametrize("path", [None, 3, b"w"])
    def test_what_is_no_path(self, server: InProcessServer, servable: Servable, path: Any) -> None:
        with pytest.raises(InvalidWeights, match=f"^weights directory {path!r} is not a path"):
            roost.save_model(path, servable(), "f", "s")
        assert server.requests == []

    def test_a_source_that_needs_an_argument(self, server: InProcessServer, servable: Servable) -> None:
        def fetch(where: str) -> str:
            return where

        with pytest.raises(InvalidWeights, match=r"'where'\. A source is called without arguments"):
            roost.import_model(fetch, servable(), "f", "s")  # type: ignore[arg-type]
        assert server.requests == []

    @pytest.mark.parametrize(
        ("include", "message"),
        [
            (3, "include=3 is not a list of paths and names of modules."),
            (b"x", "include=b'x' is not a list of paths and names of modules."),
            ((3,), "include holds 3, which is neither a path nor the name of a module."),
            ("labels.txt", "include 'labels.txt' is a single path."),
        ],
    )
    def test_include(self, server: InProcessServer, servable: Servable, include: Any, message: str) -> None:
        with pytest.raises(InvalidServable) as caught:
            roost.register_model(servable(), "f", "s", include=include)
        assert caught.value.message == message
        assert caught.value.hint is not None
        assert server.requests == []

    def test_requirements(self, server: InProcessServer, servable: Servable, weights: Path) -> None:
        for needs in ({"num_gpus": 1}, 1, "gpu"):
            with pytest.raises(InvalidRequirements, match=r"must be a ModelRequirements.*Write roost"):
                roost.save_model(weights, servable(), "f", "s", needs)  # type: ignore[arg-type]
            with pytest.raises(InvalidRequirements, match=r"must be a ModelRequirements.*Write roost"):
                roost.import_model(weights, servable(), "f", "s", needs)  # type: ignore[arg-type]
            with pytest.raises(InvalidRequirements, match=r"must be a ModelRequirements.*Write roost"):
                roost.register_model(servable(), "f", "s", needs)  # type: ignore[arg-type]
        assert server.requests == []

    def test_servable(self, server: InProcessServer, weights: Path) -> None:
        with pytest.raises(InvalidServable):
            roost.save_model(weights, dict, "f", "s")
        assert server.requests == []

    def test_without_a_server(self, server: InProcessServer, servable: Servable) -> None:
        server.down = True
        with pytest.raises(ServerUnreachable):
            roost.register_model(servable(), "f", "s")


class TestImport:
    def test_the_source_runs_once_while_the_entry_is_uploading(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        phases = []

        def source() -> Path:
            phases.append(server.models.get(KEY).phase)
            return weights

        first = roost.import_model(source, servable(), "f", "s")
        assert roost.import_model(source, servable(), "f", "s") == first
        assert (phases, first.key) == (["uploading"], KEY)

    def test_changed_code_refreshes_the_bundle_alone(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        first = roost.import_model(weights, servable(), "f", "s", GPU, {"a": "b"})
        with pytest.warns(UserWarning, match="f/s/imported keeps the requirements and config it has"):
            second = roost.import_model(
                weights, servable(2), "f", "s", roost.ModelRequirements(ram_gb=1), {"c": "d"}
            )
        assert second.bundle_fingerprint != first.bundle_fingerprint
        assert (second.digest, second.requirements, second.config) == (first.digest, GPU, {"a": "b"})

    def test_requirements_and_config_are_stored_once_where_there_are_none(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        first = roost.import_model(weights, servable(), "f", "s")
        assert (first.requirements, first.config) == (roost.ModelRequirements(), {})
        second = roost.import_model(weights, servable(), "f", "s", GPU)
        assert (second.requirements, second.config) == (GPU, {})
        third = roost.import_model(weights, servable(), "f", "s", GPU, {"a": "b"})
        assert (third.requirements, third.config) == (GPU, {"a": "b"})
        server.requests.clear()
        assert roost.import_model(weights, servable(), "f", "s", GPU, {"a": "b"}) == third
        assert len(server.requests) == 1

    def test_what_was_set_by_hand_is_kept(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        roost.import_model(weights, servable(), "f", "s", config={"a": "b"})
        server.models.set_config(KEY, {})
        with pytest.warns(UserWarning, match="keeps the config it has.*roost.set_model_config"):
            again = roost.import_model(weights, servable(), "f", "s", config={"a": "b"})
        assert again.config == {}

    def test_a_model_that_is_ready_needs_no_weights(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        first = roost.import_model(weights, servable(), "f", "s")
        assert roost.import_model("/no/such", servable(), "f", "s") == first
        assert roost.import_model("hf://acme/tiny", servable(), "f", "s") == first

    def test_a_folder_by_its_url(self, server: InProcessServer, servable: Servable, weights: Path) -> None:
        assert roost.import_model(weights.as_uri(), servable(), "f", "s").size_bytes == 5

    def test_a_function_may_return_a_url(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        assert roost.import_model(weights.as_uri, servable(), "f", "s").size_bytes == 5

    def test_a_function_that_returns_something_else_fails_the_import(
        self, server: InProcessServer, servable: Servable
    ) -> None:
        with pytest.raises(InvalidWeights, match="returned None, which is not a path"):
            roost.import_model(lambda: None, servable(), "f", "s")  # type: ignore[arg-type,return-value]
        assert server.models.get(KEY).phase == "upload_failed"

    def test_a_source_that_fails_is_kept_as_the_reason(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        def source() -> Path:
            raise OSError("the mirror is away")

        with pytest.raises(OSError, match="the mirror is away"):
            roost.import_model(source, servable(), "f", "s")
        entry = server.models.get(KEY)
        assert (entry.phase, entry.message) == ("upload_failed", "OSError: the mirror is away")
        with pytest.raises(ModelNotReady, match="upload_failed"):
            roost.load_model("f", "s", "imported")
        assert roost.import_model(weights, servable(), "f", "s").phase == "ready"

    def test_ctrl_c_in_the_source_can_be_retried_at_once(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        def source() -> Path:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            roost.import_model(source, servable(), "f", "s")
        entry = server.models.get(KEY)
        assert (entry.phase, entry.message) == ("upload_failed", "interrupted")
        assert roost.import_model(weights, servable(), "f", "s").phase == "ready"

    def test_a_live_writer_is_named_and_the_source_left_alone(
        self, server: InProcessServer, servable: Servable
    ) -> None:
        claim_by_another(server)

        def source() -> Path:
            raise AssertionError("not to be called")

        with pytest.raises(ModelBusy, match=r"being imported by 'eve@far \(pid 9\)'"):
            roost.import_model(source, servable(), "f", "s")
        server.clock.advance(31)
        assert server.models.get(KEY).phase == "broken"

    def test_a_dead_writers_import_is_done_again(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        claim_by_another(server)
        server.clock.advance(31)
        saved = roost.import_model(lambda: weights, servable(), "f", "s", GPU)
        assert (saved.phase, saved.message, saved.requirements) == ("ready", "", GPU)

    def test_a_claim_that_was_lost_meanwhile_writes_nothing(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        def source() -> Path:
            server.clock.advance(31)
            claim_by_another(server)
            return weights

        with pytest.raises(ModelBusy, match="taken over by 'eve@far"):
            roost.import_model(source, servable(), "f", "s")
        entry = server.models.get(KEY)
        assert (entry.phase, entry.digest) == ("uploading", "")

    def test_a_server_that_went_away_is_told_with_what_could_not_be_done(
        self, server: InProcessServer, servable: Servable, weights: Path
    ) -> None:
        def source() -> Path:
            server.down = True
            return weights

        with pytest.raises(ServerUnreachable) as caught:
            roost.import_model(source, servable(), "f", "s")
        assert caught.value.__notes__ == [
            "The claim on f/s/imported could not be given up either: "
            "No Roost server answers at 'http://roost.test'."
        ]


class TestRegister:
    def test_a_model_without_weights(self, server: InProcessServer, servable: Servable) -> None:
        saved = roost.register_model(servable(), "f", "s")
        assert (saved.data_blob_path, saved.size_bytes, saved.has_weights) == (roost.NO_WEIGHTS, 0, False)
        with pytest.raises(InvalidWeights, match="without weights"):
            roost.load_model("f", "s", "imported")

    def test_weights_may_come_later(self, server: InProcessServer, servable: Servable, weights: Path) -> None:
        roost.register_model(servable(), "f", "s", config={"a": "b"})
        saved = roost.import_model(weights, servable(), "f", "s")
        assert (saved.has_weights, saved.size_bytes, saved.config) == (True, 5, {"a": "b"})


class TestList:
    def test_pages_are_joined_and_limits_kept(self, server: InProcessServer, servable: Servable) -> None:
        for number in range(3):
            roost.register_model(servable(), "f", f"s{number}")
        claim_by_another(server, ModelKey("g", "s", "imported"))
        assert [str(model.key) for model in roost.list_models()] == [
            "f/s0/imported",
            "f/s1/imported",
            "f/s2/imported",
            "g/s/imported",
        ]
        assert [model.suffix for model in roost.list_models(family="f", limit=2)] == ["s0", "s1"]
        assert [str(model.key) for model in roost.list_models(phase="uploading")] == ["g/s/imported"]
        assert roost.list_models(family="h") == []

    def test_an_unknown_model_gets_close_names(self, server: InProcessServer, servable: Servable) -> None:
        roost.register_model(servable(), "yolo", "coco")
        assert roost.model_registry_status("yolo", "cocoa", "imported") is None
        with pytest.raises(ModelNotFound, match="'yolo/cocoa/imported'") as caught:
            roost.load_model("yolo", "cocoa", "imported")
        assert caught.value.hint == (
            "Did you mean 'yolo/coco/imported'? `roost models list` shows the models there are."
        )
