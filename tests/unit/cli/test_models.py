"""`roost models`: list, save, delete and the settings."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import roost
from roost.cli.arguments import complete_model
from roost.contracts.model import ClaimRequest
from roost.keys import ModelKey
from roost.sdk import publish
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
MODEL = ModelKey("f", "s", "r")


class Terminal(io.StringIO):
    """Somebody who types."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def model(server: InProcessServer) -> ModelKey:
    save_ready_model(server.db, MODEL, config={"a": "1"})
    return MODEL


class TestList:
    @pytest.fixture(autouse=True)
    def _models(self, server: InProcessServer) -> None:
        for key in ("f/s/r", "f/t/r", "g/s/r", "g/s/r2"):
            save_ready_model(server.db, ModelKey.parse(key))
        server.models.claim(ModelKey("g", "u", "r"), ClaimRequest(mode="save", writer="eve"))

    @pytest.mark.parametrize(
        ("options", "keys"),
        [
            ((), ["f/s/r", "f/t/r", "g/s/r", "g/s/r2", "g/u/r"]),
            (("--family", "f"), ["f/s/r", "f/t/r"]),
            (("--suffix", "s"), ["f/s/r", "g/s/r", "g/s/r2"]),
            (("--run", "r2"), ["g/s/r2"]),
            (("--phase", "uploading"), ["g/u/r"]),
            (("--suffix", "s", "--run", "r", "--phase", "ready"), ["f/s/r", "g/s/r"]),
            (("--after", "f/t/r"), ["g/s/r", "g/s/r2", "g/u/r"]),
            (("--limit", "2", "--after", "g/s/r"), ["g/s/r2", "g/u/r"]),
        ],
    )
    def test_filters(self, cli: Cli, options: tuple[str, ...], keys: list[str]) -> None:
        for command in (("models", "list"), ("models",)):
            ran = cli(*command, *options)
            assert (ran.code, ran.err) == (0, "")
            assert [line.split()[0] for line in ran.out.splitlines()[1:]] == keys
            listed = cli(*command, *options, "--json").json
            assert [f"{m['family']}/{m['suffix']}/{m['runName']}" for m in listed] == keys

    def test_a_page_says_how_to_go_on(self, cli: Cli) -> None:
        ran = cli("models", "list", "--limit", "2")
        assert [line.split()[0] for line in ran.out.splitlines()] == ["MODEL", "f/s/r", "f/t/r"]
        assert ran.err == "There are more: --after f/t/r\n"
        assert cli("models", "list", "--limit", "5").err == ""

    def test_nothing_matches(self, cli: Cli) -> None:
        assert cli("models", "list", "--family", "none").out == "No model matches.\n"

    @pytest.mark.parametrize(
        "options", [("--limit", "0"), ("--phase", "best"), ("--after", "f/s"), ("--family", "a b")]
    )
    def test_usage(self, cli: Cli, options: tuple[str, ...]) -> None:
        assert cli("models", "list", *options).code in (1, 2)

    def test_keys_are_completed(self, server: InProcessServer) -> None:
        assert complete_model("g/") == ["g/s/r", "g/s/r2", "g/u/r"]
        assert complete_model("f/t") == ["f/t/r"]
        assert complete_model("") == ["f/s/r", "f/t/r", "g/s/r", "g/s/r2", "g/u/r"]
        assert complete_model("a b/") == []
        server.down = True
        assert complete_model("g/") == []


class TestSave:
    @pytest.fixture(autouse=True)
    def _here(self, servable: Callable[[int], type], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        servable(1)
        (tmp_path / "own" / "labels.txt").write_text("cat")
        monkeypatch.setattr(sys, "path", sys.path.copy())
        monkeypatch.chdir(tmp_path / "own")

    def test_it_prints_the_key(self, cli: Cli, server: InProcessServer, weights: Path) -> None:
        ran = cli("models", "save", str(weights), "own_model:Model", "f/s", "--include", "labels.txt")
        assert ran.code == 0, ran.err
        key = ran.out.strip()
        saved = server.models.get(ModelKey.parse(key))
        assert (saved.key.family, saved.key.suffix) == ("f", "s")
        assert (saved.phase, saved.size_bytes, saved.class_path) == ("ready", 5, "own_model:Model")
        assert ran.err == f"It is ready. Deploy it with `roost deploy {key}`.\n"

    def test_interrupted_it_says_what_to_do_and_leaves_no_entry(
        self, cli: Cli, server: InProcessServer, weights: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen: list[str] = []

        def stop(*_arguments: object, **_options: object) -> None:
            seen.extend(model.phase for model in server.models.list().items)
            raise KeyboardInterrupt

        monkeypatch.setattr(publish, "upload_tree", stop)
        ran = cli("models", "save", str(weights), "own_model:Model", "f/s")
        assert (ran.code, ran.out, seen) == (130, "", ["uploading"])
        assert ran.err == "Interrupted. What is stored already is not sent again: run the command again.\n"
        assert server.models.list().items == []

    def test_with_settings(self, cli: Cli, server: InProcessServer, weights: Path) -> None:
        options = ("-c", "a=1", "--config", "b=x=y", "--num-gpus", "0.5", "--vram-gb", "4")
        ran = cli("models", "save", str(weights), "own_model.py:Model", "f/s", *options, "--json")
        assert ran.code == 0, ran.err
        assert ran.json["config"] == {"a": "1", "b": "x=y"}
        assert ran.json["requirements"] == {"numGpus": 0.5, "ramGb": 0.0, "vramGb": 4.0}

    @pytest.mark.parametrize(
        ("arguments", "reason", "code"),
        [
            (("own_model:Model", "f"), "invalid_name", 2),
            (("own_model:Model", "f/s/r"), "invalid_name", 2),
            (("own_model:Model", "f/.."), "invalid_name", 2),
            (("own_model:Model", "f/s", "-c", "a"), "invalid_config", 2),
            (("own_model:Model", "f/s", "--vram-gb", "4"), "invalid_requirements", 2),
            (("own_model:Model", "f/s", "--ram-gb", "nan"), "invalid_requirements", 2),
            (("own_model:Other", "f/s"), "invalid_servable", 1),
            (("own_model:Model", "f/s", "--include", "gone.txt"), "invalid_servable", 1),
        ],
    )
    def test_refused(
        self,
        cli: Cli,
        server: InProcessServer,
        weights: Path,
        arguments: tuple[str, ...],
        reason: str,
        code: int,
    ) -> None:
        ran = cli("models", "save", str(weights), *arguments, "--json")
        assert (ran.code, ran.out, ran.error["reason"]) == (code, "", reason)
        assert server.models.count() == 0

    def test_weights_that_are_not_there(self, cli: Cli, server: InProcessServer) -> None:
        ran = cli("models", "save", "gone", "own_model:Model", "f/s", "--json")
        assert (ran.code, ran.error["reason"]) == (1, "invalid_weights")
        assert server.models.count() == 0


class TestDelete:
    def test_with_yes(self, cli: Cli, server: InProcessServer, model: ModelKey) -> None:
        ran = cli("models", "delete", "f/s/r", "--yes")
        assert (ran.code, ran.out, ran.err) == (0, "", "f/s/r is deleted.\n")
        ran = cli("models", "delete", "f/s/r", "-y", "--json")
        assert (ran.code, ran.out, ran.error["reason"]) == (1, "", "model_not_found")

    def test_for_programs(self, cli: Cli, model: ModelKey) -> None:
        assert cli("models", "delete", "f/s/r", "--yes", "--json").json["runName"] == "r"

    def test_it_asks_on_a_terminal(
        self, cli: Cli, server: InProcessServer, model: ModelKey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", Terminal("n\n"))
        ran = cli("models", "delete", "f/s/r")
        assert ran.code == 1
        assert ran.err.startswith("Delete f/s/r, which is ready? [y/N]:")
        assert server.models.count() == 1
        monkeypatch.setattr(sys, "stdin", Terminal("y\n"))
        assert cli("models", "delete", "f/s/r").code == 0
        assert server.models.count() == 0

    def test_where_nobody_can_be_asked_it_needs_yes(
        self, cli: Cli, server: InProcessServer, model: ModelKey, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
        ran = cli("models", "delete", "f/s/r")
        assert (ran.code, ran.out) == (2, "")
        assert "give --yes" in ran.err
        assert server.requests == []

    def test_while_it_is_deployed(self, cli: Cli, model: ModelKey) -> None:
        cli("deploy", "f/s/r")
        ran = cli("models", "delete", "f/s/r", "--yes")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.splitlines() == [
            "error: 'f/s/r' is used by the deployment 'f/s/r'.",
            "  hint: Undeploy first: `roost undeploy f/s/r`.",
        ]


class TestSettings:
    def test_requirements(self, cli: Cli, server: InProcessServer, model: ModelKey) -> None:
        ran = cli("models", "set-requirements", "f/s/r", "--num-gpus", "1", "--vram-gb", "8")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == "f/s/r needs 1 GPU, 8 GiB VRAM, 0 GiB RAM, from its next deploy on.\n"
        assert server.models.get(MODEL).requirements == roost.ModelRequirements(num_gpus=1, vram_gb=8)
        ran = cli("models", "set-requirements", "f/s/r", "--ram-gb", "0.5", "--json")
        assert ran.json["requirements"] == {"numGpus": 0.0, "ramGb": 0.5, "vramGb": 0.0}

    def test_config(self, cli: Cli, server: InProcessServer, model: ModelKey) -> None:
        ran = cli("models", "set-config", "f/s/r", "b=2", "c=x=y")
        assert (ran.code, ran.err) == (0, "")
        assert ran.out == "f/s/r is configured with b=2 c=x=y, from its next deploy on.\n"
        assert server.models.get(MODEL).config == {"b": "2", "c": "x=y"}
        assert cli("models", "set-config", "f/s/r", "--clear", "--json").json["config"] == {}

    @pytest.mark.parametrize(
        "arguments",
        [
            ("set-requirements", "f/s/r"),
            ("set-requirements", "f/s/r", "--num-gpus", "-1"),
            ("set-requirements", "f/s", "--num-gpus", "1"),
            ("set-config", "f/s/r"),
            ("set-config", "f/s/r", "a=1", "--clear"),
            ("set-config", "f/s/r", "a"),
            ("set-config", "f/s/r", "a=1", "a=2"),
        ],
    )
    def test_usage(
        self, cli: Cli, server: InProcessServer, model: ModelKey, arguments: tuple[str, ...]
    ) -> None:
        ran = cli("models", *arguments)
        assert (ran.code, ran.out) == (2, "")
        assert server.models.get(MODEL).config == {"a": "1"}

    @pytest.mark.parametrize("command", [("set-requirements", "--ram-gb", "1"), ("set-config", "a=1")])
    def test_an_unknown_model(self, cli: Cli, server: InProcessServer, command: tuple[str, ...]) -> None:
        ran = cli("models", command[0], "f/s/other", *command[1:], "--json")
        assert (ran.code, ran.error["reason"]) == (1, "model_not_found")
