"""`roost import`: what it takes, prints and leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import roost
from roost.keys import ModelKey
from roost.testing.in_process import InProcessServer

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
KEY = ModelKey("f", "s", "imported")
CLASS = "own_model:Model"


@pytest.fixture(autouse=True)
def _own_model(servable: Callable[..., type], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    servable()
    monkeypatch.chdir(tmp_path / "own")


def test_it_prints_the_key_and_the_next_step(cli: Cli, server: InProcessServer, weights: Path) -> None:
    ran = cli("import", str(weights), CLASS, "f/s")
    assert (ran.code, ran.out) == (0, "f/s/imported\n")
    assert ran.err == "It is ready. Deploy it with `roost deploy f/s/imported`.\n"
    assert server.models.get(KEY).phase == "ready"


def test_everything_that_can_be_said_of_a_model(cli: Cli, server: InProcessServer, weights: Path) -> None:
    told = cli(
        *("models", "import", weights.as_uri(), CLASS, "f/s", "--config", "a=b", "-c", "c=d"),
        *("--num-gpus", "0.5", "--ram-gb", "2", "--vram-gb", "4", "--include", "own_model", "--json"),
    ).json
    assert (told["phase"], told["config"], told["sizeBytes"]) == ("ready", {"a": "b", "c": "d"}, 5)
    assert told["requirements"] == {"numGpus": 0.5, "ramGb": 2.0, "vramGb": 4.0}


def test_a_second_import_keeps_what_there_is_and_says_so(
    cli: Cli, server: InProcessServer, weights: Path
) -> None:
    cli("import", str(weights), CLASS, "f/s", "-c", "a=b")
    ran = cli("import", "hf://acme/tiny", CLASS, "f/s", "-c", "a=c", "--json")
    assert (ran.code, ran.json["config"]) == (0, {"a": "b"})
    assert ran.err == (
        "f/s/imported keeps the config it has; what is given here is not stored. "
        "Change it with roost.set_model_config.\n"
    )
    again = cli("import", "hf://acme/tiny", CLASS, "f/s")
    assert (again.code, again.out) == (0, "f/s/imported\n")


def test_ctrl_c_leaves_a_failed_upload(
    cli: Cli, server: InProcessServer, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(source: str, *rest: object) -> object:
        def fetch() -> Path:
            assert server.models.get(KEY).phase == "uploading"
            raise KeyboardInterrupt

        return roost.import_model(fetch, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr("roost.cli.import_model.import_model", interrupted)
    assert cli("import", str(weights), CLASS, "f/s").code == 130
    entry = server.models.get(KEY)
    assert (entry.phase, entry.message) == ("upload_failed", "interrupted")


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("/no/such", CLASS, "f/s"), 1, "weights directory '/no/such' does not exist."),
        (("ftp://x/y", CLASS, "f/s"), 1, "source 'ftp://x/y' is not valid"),
        (("hf://tiny", CLASS, "f/s"), 1, "source 'hf://tiny' is not valid"),
        ((".", CLASS, "f/s/run"), 2, "model name 'f/s/run' is not valid."),
        ((".", CLASS, "f/s", "-c", "a"), 2, "config 'a' is not valid."),
        ((".", CLASS, "f/s", "--vram-gb", "4"), 2, "vram_gb=4.0 needs a GPU"),
        ((".", "own_model:Other", "f/s"), 1, "'own_model' holds no class 'Other'."),
    ],
)
def test_what_is_refused(
    cli: Cli, server: InProcessServer, arguments: tuple[str, ...], code: int, said: str
) -> None:
    ran = cli("import", *arguments)
    assert ran.code == code
    assert said in ran.err
    assert server.models.find(KEY) is None
