from __future__ import annotations

import ast
import textwrap

import pytest

from roost.bundle.imports import Import, find_exported_names, find_imports, is_main_guard, parse_source
from roost.errors import InvalidServable


def imports_of(source: str, module: str = "pkg.mod", *, is_package: bool = False) -> list[Import]:
    tree = parse_source(textwrap.dedent(source).encode(), file="mod.py")
    return find_imports(tree, module=module, is_package=is_package, file="mod.py")


def required(source: str) -> list[str]:
    return [item.module for item in imports_of(source) if item.required]


def optional(source: str) -> list[str]:
    return [item.module for item in imports_of(source) if not item.required]


def test_plain_imports() -> None:
    assert imports_of("import a.b.c, d as e\nfrom f.g import h as i, j") == [
        Import("a.b.c", (), required=True, line=1),
        Import("d", (), required=True, line=1),
        Import("f.g", ("h", "j"), required=True, line=2),
    ]


@pytest.mark.parametrize(
    ("source", "is_package", "module", "names"),
    [
        ("from . import x", False, "pkg", ("x",)),
        ("from .y import x", False, "pkg.y", ("x",)),
        ("from . import x", True, "pkg.mod", ("x",)),
        ("from .y import x", True, "pkg.mod.y", ("x",)),
        ("from .. import x", True, "pkg", ("x",)),
    ],
)
def test_relative_imports(source: str, is_package: bool, module: str, names: tuple[str, ...]) -> None:
    assert imports_of(source, is_package=is_package) == [Import(module, names, required=True, line=1)]


def test_a_relative_import_out_of_the_package_is_refused() -> None:
    with pytest.raises(InvalidServable, match=r"line 2 of 'mod\.py' has a relative import"):
        imports_of("\nfrom .. import x")
    with pytest.raises(InvalidServable):
        imports_of("from . import x", module="top")


def test_the_script_or_package_idiom_is_read() -> None:
    source = "try:\n    from .x import y\nexcept ImportError:\n    from x import y"
    assert imports_of(source, module="top") == [Import("x", ("y",), required=False, line=4)]


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    import x",
        "async def f():\n    async with g():\n        import x",
        "class A:\n    import x",
        "match 1:\n    case _:\n        import x",
        "with open('f'):\n    import x",
        "try:\n    import x\nfinally:\n    pass",
        "try:\n    import x\nexcept KeyError:\n    pass",
        "for _ in []:\n    import x",
        "if DEBUG:\n    import x",
        "if not TYPE_CHECKING:\n    import x\nelse:\n    import y",
        "if TYPE_CHECKING:\n    import y\nelse:\n    import x",
        "if __name__ == '__main__':\n    import y\nelse:\n    import x",
        "try:\n    import_it()\nexcept* KeyError:\n    import x",
    ],
)
def test_imports_anywhere_are_required(source: str) -> None:
    assert required(source) == ["x"]
    assert optional(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import x\nexcept ImportError:\n    pass",
        "try:\n    import x\nexcept (KeyError, ModuleNotFoundError):\n    pass",
        "try:\n    import x\nexcept Exception:\n    pass",
        "try:\n    import x\nexcept:\n    pass",
        "try:\n    def f():\n        import x\nexcept ImportError:\n    pass",
        "with contextlib.suppress(ImportError):\n    import x",
        "if sys.version_info < (3, 11):\n    import x",
        "if sys.platform == 'win32' and y:\n    import x",
        "importlib.import_module('x')",
        "import_module('x')",
        "f(__import__('x'))",
        "if find_spec('x'):\n    import x",
        "if importlib.util.find_spec('x') is not None and y:\n    import x",
    ],
)
def test_what_the_code_goes_on_without_is_optional(source: str) -> None:
    assert optional(source) == ["x"]
    assert required(source) == []


@pytest.mark.parametrize(
    "source",
    [
        "if TYPE_CHECKING:\n    import x",
        "if typing.TYPE_CHECKING:\n    import x",
        "if __name__ == '__main__':\n    import x",
        "importlib.import_module(name)",
        "importlib.import_module('.x', package)",
        "importlib.import_module('.x', __name__)",
        "importlib.import_module('.x')",
        "importlib.import_module('....x', 'a.b')",
        "importlib.import_module('.', __package__)",
        "'import x'",
    ],
)
def test_what_never_runs_in_a_worker_is_left_out(source: str) -> None:
    assert imports_of(source) == []


@pytest.mark.parametrize(
    ("source", "is_package", "module"),
    [
        ("import_module('.x', __package__)", False, "pkg.x"),
        ("import_module('.x', package=__package__)", True, "pkg.mod.x"),
        ("import_module('.x', __name__)", True, "pkg.mod.x"),
        ("import_module('..x.y', 'a.b')", False, "a.x.y"),
    ],
)
def test_relative_imports_by_a_literal_name(source: str, is_package: bool, module: str) -> None:
    assert imports_of(source, is_package=is_package) == [Import(module, (), required=False, line=1)]


def test_the_fallback_of_an_optional_import_is_optional_and_what_follows_is_not() -> None:
    source = "try:\n    import a\nexcept ImportError:\n    import b\nimport c"
    assert (optional(source), required(source)) == (["a", "b"], ["c"])


def test_broken_source_is_named() -> None:
    with pytest.raises(InvalidServable, match=r"'mod\.py' is not readable as Python"):
        imports_of("def (")
    with pytest.raises(InvalidServable, match=r"'mod\.py' is not readable as Python"):
        imports_of("\0")


def test_exported_names() -> None:
    tree = ast.parse("__all__ = ['a', name]\n__all__ += ('b',)\nother = ['c']")
    assert find_exported_names(tree) == ["a", "b"]
    assert find_exported_names(ast.parse("__all__: list[str] = ['d']\n__all__ = make()")) == ["d"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('if __name__ == "__main__": pass', True),
        ('if "__main__" == __name__: pass', True),
        ('if __name__ != "__main__": pass', False),
        ('if __name__ == "main": pass', False),
        ("pass", False),
    ],
)
def test_main_guards(source: str, expected: bool) -> None:
    assert is_main_guard(ast.parse(source).body[0]) is expected
