"""SERVABLE: which class a text names, and why it names none."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer

from roost.cli.servable import load_servable
from roost.errors import InvalidServable

Write = Callable[[dict[str, str]], None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes files into the current directory; what is imported from there is forgotten afterwards."""
    known = set(sys.modules)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def make(files: dict[str, str]) -> None:
        for path, source in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(source)

    yield make
    for name in set(sys.modules) - known:
        del sys.modules[name]


CLASS = "class Model:\n    class Inner: pass\n"


@pytest.mark.parametrize(
    ("text", "module", "name"),
    [
        ("serv_a:Model", "serv_a", "Model"),
        ("serv_a.py:Model", "serv_a", "Model"),
        ("./serv_a.py:Model", "serv_a", "Model"),
        ("serv_a:Model.Inner", "serv_a", "Model.Inner"),
        ("serv_pkg.deep.mod:Model", "serv_pkg.deep.mod", "Model"),
        ("serv_pkg/deep/mod.py:Model", "serv_pkg.deep.mod", "Model"),
        ("serv_pkg/__init__.py:Top", "serv_pkg", "Top"),
        ("folder/of my own/serv_b.py:Model", "serv_b", "Model"),
    ],
)
def test_what_is_named(write: Write, text: str, module: str, name: str) -> None:
    write(
        {
            "serv_a.py": CLASS,
            "serv_pkg/__init__.py": "class Top: pass\n",
            "serv_pkg/deep/__init__.py": "",
            "serv_pkg/deep/near.py": "X = 1\n",
            "serv_pkg/deep/mod.py": f"from .near import X\n{CLASS}",
            "folder/of my own/serv_b.py": f"import serv_a\nimport serv_c\n{CLASS}",
            "folder/of my own/serv_c.py": "",
        }
    )
    found = load_servable(text)
    assert (found.__module__, found.__qualname__) == (module, name)


def test_an_absolute_path(write: Write, tmp_path: Path) -> None:
    write({"elsewhere/serv_d.py": CLASS})
    assert load_servable(f"{tmp_path}/elsewhere/serv_d.py:Model").__module__ == "serv_d"


@pytest.mark.parametrize("text", ["", ":", "serv_a", "serv_a:", ":Model", "a-b:Model", "a/b:Model", "a:b-c"])
def test_other_shapes_are_usage_errors(write: Write, text: str) -> None:
    with pytest.raises(typer.BadParameter, match=r"path/to/file\.py:Class"):
        load_servable(text)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("no_such:Model", r"there is no module 'no_such' in '.*', nor is it installed", "name the file"),
        ("serv_pkg.gone:Model", r"there is no module 'serv_pkg\.gone'", "name the file"),
        ("gone.py:Model", r"there is no file 'gone\.py' in '", "path from this directory"),
        ("serv-e.py:Model", "'serv-e' is no module name", "Rename it"),
        ("json.py:Model", r"'json' is another module, .*json/__init__\.py", "Rename the file"),
        ("sys.py:Model", "'sys' is another module, built in", "Rename the file"),
        ("serv_needs:Model", "'serv_needs' cannot be imported: ModuleNotFoundError.*'left_pad'", "Install"),
        ("serv_broken:Model", r"ZeroDivisionError: .*\(line 2 of .*serv_broken\.py\)", "Mend the module"),
        ("serv_syntax.py:Model", "SyntaxError: .*serv_syntax.py, line 1", "Mend the module"),
        ("serv_exits:Model", r"SystemExit: 3 \(line 1 of", "Mend the module"),
        ("serv_alone.py:Model", "ImportError: attempted relative import", "Mend the module"),
        ("serv_a:Modle", "'serv_a' holds no class 'Modle'", "It holds 'Model'."),
        ("serv_a:Model.Other", "'serv_a' holds no class 'Model.Other'", "It holds 'Model'."),
        ("serv_empty:Model", "holds no class 'Model'", "It holds no class of its own."),
        ("serv_function:model", r"'model' of 'serv_function' is no class, but function <function", None),
    ],
)
def test_why_there_is_none(write: Write, text: str, message: str, hint: str | None) -> None:
    write(
        {
            "serv_a.py": f"from pathlib import Path\n{CLASS}",
            "serv_pkg/__init__.py": "",
            "serv-e.py": CLASS,
            "json.py": CLASS,
            "sys.py": CLASS,
            "serv_needs.py": "import left_pad\n",
            "serv_broken.py": "\n1 / 0\n",
            "serv_syntax.py": "class Model\n",
            "serv_exits.py": "raise SystemExit(3)\n",
            "serv_alone.py": "from .near import X\n",
            "serv_empty.py": "from pathlib import Path\n",
            "serv_function.py": "def model(): pass\n",
        }
    )
    with pytest.raises(InvalidServable, match=message) as caught:
        load_servable(text)
    assert (caught.value.hint or "").find(hint or "") >= 0
    assert (caught.value.hint is None) == (hint is None)
