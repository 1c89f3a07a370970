"""`roost models verify`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import roost
from roost.testing.in_process import InProcessServer

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
Servable = Callable[..., type]


@pytest.fixture
def saved(server: InProcessServer, servable: Servable, weights: Path) -> roost.SavedModel:
    roost.import_model(weights, servable(), "f", "one")
    return roost.register_model(servable(), "f", "two")


def lose_the_chunk(server: InProcessServer) -> str:
    (chunk,) = [name for kind, name in server.store.objects if kind == "chunks"]
    del server.store.objects["chunks", chunk]
    return chunk


@pytest.mark.usefixtures("saved")
def test_all_models_are_whole(cli: Cli, server: InProcessServer) -> None:
    ran = cli("models", "verify")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "Every stored byte is as it was saved."
    assert ran.out.splitlines()[1].startswith("2 models verified, ")
    assert ran.out.splitlines()[1].endswith(" read, 0 with problems.")


@pytest.mark.usefixtures("saved")
def test_what_is_lost_is_named_and_exits_with_one(cli: Cli, server: InProcessServer) -> None:
    chunk = lose_the_chunk(server)
    ran = cli("models", "verify")
    assert ran.code == 1
    header, row, summary = [line.rstrip() for line in ran.out.splitlines()]
    assert header.split() == ["MODEL", "FILE", "CHUNK", "PROBLEM"]
    assert row.split()[:3] == ["f/one/imported", "model.bin", chunk[:12]]
    assert summary.endswith("1 with problems.")
    assert ran.err == "Save what has problems again from its directory: only what is named is sent.\n"


@pytest.mark.usefixtures("saved")
def test_only_those_that_are_named(cli: Cli, server: InProcessServer) -> None:
    chunk = lose_the_chunk(server)
    ran = cli("models", "verify", "f/two/imported", "--json")
    assert ran.code == 0
    assert [(one["model"], one["problems"]) for one in ran.json] == [("f/two/imported", [])]
    ran = cli("models", "verify", "f/one/imported", "f/two/imported", "--json")
    assert ran.code == 1
    (problem,) = ran.json[0]["problems"]
    assert (problem["file"], problem["chunk"]) == ("model.bin", chunk)
    assert chunk in problem["what"]


def test_unknown_and_malformed_names(cli: Cli, server: InProcessServer) -> None:
    assert cli("models", "verify", "f/s/none").code == 1
    assert cli("models", "verify", "f/s").code == 2
    assert cli("models", "verify").out.splitlines()[0] == "No models to verify."
