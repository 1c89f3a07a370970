"""The one sink: tables for people, JSON for programs, plain lines in pipes."""

from __future__ import annotations

import io
import json
import os
import sys

import pytest

from roost.cli.main import run
from roost.cli.output import print_error, print_fields, print_json, print_table, say
from roost.contracts.base import Wire
from roost.errors import ModelNotFound, RoostError


class Thing(Wire):
    long_name: str


def test_a_table_in_a_pipe_is_not_cut_and_has_no_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    long = "x" * 500
    print_table(("NAME", "PHASE"), [(long, "running"), ("[red]b", None)], empty="none")
    header, first, second = capsys.readouterr().out.splitlines()
    assert header.split() == ["NAME", "PHASE"]
    assert first.split() == [long, "running"]
    assert second.split() == ["[red]b"]


def test_an_empty_table_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("NAME",), [], empty="Nothing [yet].")
    assert capsys.readouterr().out == "Nothing [yet].\n"


def test_fields_are_aligned_and_none_is_blank(capsys: pytest.CaptureFixture[str]) -> None:
    print_fields({"a": 1, "long": None, "b": "[x]"})
    assert capsys.readouterr().out == "a     1\nlong  \nb     [x]\n"


def test_json_is_in_the_wire_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    print_json([Thing(long_name="ü")])
    assert capsys.readouterr().out == '[\n  {\n    "longName": "ü"\n  }\n]\n'
    print_json(Thing(long_name="x"))
    assert json.loads(capsys.readouterr().out) == {"longName": "x"}


def test_results_go_to_stdout_and_errors_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    say("a result")
    print_error(ModelNotFound("There is no model 'x'.", hint="Look [here]."), as_json=False)
    said = capsys.readouterr()
    assert said.out == "a result\n"
    assert said.err == "error: There is no model 'x'.\n  hint: Look [here].\n"


def test_an_error_as_json_is_the_wire_body(capsys: pytest.CaptureFixture[str]) -> None:
    error: RoostError = ModelNotFound("There is no model 'x'.", hint="Look.")
    error.request_id = "r1"
    print_error(error, as_json=True)
    assert json.loads(capsys.readouterr().err) == {
        "error": {
            "code": "not_found",
            "reason": "model_not_found",
            "message": "There is no model 'x'.",
            "requestId": "r1",
            "hint": "Look.",
        }
    }


def test_a_reader_that_left_ends_it_quietly(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`roost --version | head -0`."""
    reading, writing = os.pipe()
    os.close(reading)
    with io.TextIOWrapper(os.fdopen(writing, "wb")) as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        monkeypatch.setattr(sys, "argv", ["roost", "--version"])
        with pytest.raises(SystemExit) as ended:
            run()
    assert ended.value.code == 1
    assert capfd.readouterr().err == ""


class Terminal(io.StringIO):
    """A terminal of 40 columns."""

    def isatty(self) -> bool:
        return True


def test_a_narrow_terminal_breaks_no_key_and_shows_no_empty_column(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "dumb")
    key = "family/a-long-suffix/default-20261130-120000"
    rows = [(key, "upload_failed", "", "it was interrupted before it had finished")]
    print_table(("MODEL", "PHASE", "CAPABILITY", "MESSAGE"), rows, empty="none")
    lines = terminal.getvalue().splitlines()
    assert lines[0].split() == ["MODEL", "PHASE", "MESSAGE"]
    assert lines[1].split()[:2] == [key, "upload_failed"]
    assert len(lines) > 2, "the sentence is broken, not the words beside it"


def test_lines_in_a_pipe_end_with_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("A", "B"), [("long-word", ""), ("x", "y")], empty="none")
    assert capsys.readouterr().out == "A          B\nlong-word\nx          y\n"
