"""What the user is told besides the result."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import roost
from roost.bundle import trace
from roost.sdk import notes, publish
from roost.testing.in_process import InProcessServer


def test_a_note_is_said_once(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(notes, "_told", set())
    notes.tell(["torch 2.9+cu130 is a local build here."])
    notes.tell(["torch 2.9+cu130 is a local build here.", "two"])
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "note: torch 2.9+cu130 is a local build here.\nnote: two\n")


def test_notes_of_the_bundle_are_said(
    server: InProcessServer,
    servable: Callable[..., type],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def noted(*arguments: object) -> object:
        traced = trace(*arguments)  # type: ignore[arg-type]
        traced.notes.append("x 1.0+local is a local build here; 'x==1.0' accepts any build of it.")
        return traced

    monkeypatch.setattr(notes, "_told", set())
    monkeypatch.setattr(publish, "trace", noted)
    roost.register_model(servable(), "f", "s")
    assert capsys.readouterr().err == (
        "note: x 1.0+local is a local build here; 'x==1.0' accepts any build of it.\n"
    )
