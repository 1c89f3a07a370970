"""Runs the guides' own blocks: files are written, commands run, and what they print is compared.

A `python` block that begins with `# name.py` is that file. In a `console` block `$ ` begins a command and
the lines after it are its output: `...` stands for anything, columns may be wider, and lines may be left out.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import roost
from roost.testing.server_process import ServerProcess

GUIDES = sorted((Path(__file__).parents[2] / "docs" / "guides").glob("*.md"))
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# The server runs already, and so does the environment.
SKIPPED = ("pip install", "roost up")


@dataclass(frozen=True)
class Step:
    """A file to write, or a command to run and the output that is wanted."""

    line: int
    file: str = ""
    command: str = ""
    text: str = ""


def steps(guide: str) -> Iterator[Step]:
    for block in BLOCK.finditer(guide):
        line = guide[: block.start()].count("\n") + 2
        body = block[2]
        if block[1] == "python":
            name = re.match(r"# ([a-z_]+\.py)\n", body)
            assert name is not None, f"the block at line {line} names no file"
            yield Step(line, file=name[1], text=body)
            continue
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield Step(line, command=command, text=output)


def pattern(wanted: str) -> re.Pattern[str]:
    """Each wanted line in this order; other lines may stand between them."""
    lines = [line for line in wanted.splitlines() if line.strip() not in ("", "...")]
    exact = [r"\s+".join(_word(word) for word in line.split()) for line in lines]
    return re.compile("".join(rf"(?s:.*?)^{line}\s*$" for line in exact), re.MULTILINE)


def _word(word: str) -> str:
    return ".*".join(re.escape(part) for part in word.split("..."))


@pytest.fixture
def clean(at: ServerProcess) -> Iterator[None]:
    """The guide is written for a new server: nothing of others is deployed, nor of it afterwards."""
    assert [each.name for each in roost.list_deployed_models() if each.phase != "deleting"] == []
    yield
    for deployment in roost.list_deployed_models():
        roost.undeploy_model(deployment.key)


@pytest.mark.parametrize("guide", GUIDES, ids=lambda path: path.stem)
def test_the_blocks_of_a_guide_run(
    guide: Path, clean: None, shell: Callable[[str, Path], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for step in steps(guide.read_text()):
        if step.file:
            (tmp_path / step.file).write_text(step.text)
            continue
        if step.command.startswith(SKIPPED):
            continue
        done = shell(step.command, tmp_path)
        said = done.stdout + done.stderr
        where = f"{guide.name}, block at line {step.line}: {step.command}\n{said}"
        assert done.returncode == 0, where
        assert pattern(step.text).match(said), where


def test_what_is_compared() -> None:
    wanted = pattern("NAME  PHASE\nsentiment/words/default-...  running\n")
    assert wanted.match("NAME                PHASE  \nx  failed\nsentiment/words/default-1-2  running\n")
    assert not wanted.match("NAME PHASE\nsentiment/words/default-1-2  failed\n")
    assert pattern("").match("anything")
    assert not pattern("{'score': 3}").match("{'score': 30}")
