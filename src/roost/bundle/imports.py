"""Reads which modules a source file imports, without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from roost.errors import InvalidServable

_CATCHES_IMPORT_ERROR: Final = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})
_PLATFORM_FACTS: Final = frozenset(
    {"version_info", "platform", "implementation", "name", "system", "machine"}
)
_PLATFORM_MODULES: Final = frozenset({"sys", "os", "platform"})


@dataclass(frozen=True, slots=True)
class Import:
    """One import of a source file.

    Attributes:
        module: Absolute dotted name.
        names: What `from module import ...` asks for; each is a submodule or an attribute.
        required: False when the code goes on without it.
        line: Line number, from 1.
    """

    module: str
    names: tuple[str, ...]
    required: bool
    line: int


def parse_source(source: bytes, *, file: str) -> ast.Module:
    """The syntax tree of `source`.

    Raises:
        InvalidServable: when it is not Python of this interpreter's version.
    """
    try:
        return ast.parse(source, filename=file)
    except (SyntaxError, ValueError) as error:
        raise InvalidServable(f"{file!r} is not readable as Python: {error}.") from error


def find_imports(tree: ast.Module, *, module: str, is_package: bool, file: str) -> list[Import]:
    """All imports of a module, also those inside functions, in source order.

    Left out: what only a type checker or a script's main block runs. Not required: what
    `try ... except ImportError` guards, what depends on the platform or on `find_spec`, and
    `import_module("literal")`.

    Raises:
        InvalidServable: a relative import that leaves the top-level package.
    """
    package = module if is_package else module.rpartition(".")[0]
    visitor = _Visitor(package, file, is_package=is_package)
    visitor.visit(tree)
    return visitor.found


def find_exported_names(tree: ast.Module) -> list[str]:
    """The strings of a literal `__all__`; empty when there is none."""
    names: list[str] = []
    for node in tree.body:
        targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign | ast.AugAssign):
            targets = [node.target]
        is_all = any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets)
        value = getattr(node, "value", None)
        if is_all and isinstance(value, ast.List | ast.Tuple):
            names += [
                item.value
                for item in value.elts
                if isinstance(item, ast.Constant) and isinstance(item.value, str)
            ]
    return names


def is_main_guard(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":`."""
    if not isinstance(node, ast.If) or not isinstance(node.test, ast.Compare):
        return False
    sides = [node.test.left, *node.test.comparators]
    return (
        len(sides) == 2
        and isinstance(node.test.ops[0], ast.Eq)
        and any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides)
        and any(isinstance(side, ast.Constant) and side.value == "__main__" for side in sides)
    )


class _Visitor(ast.NodeVisitor):
    def __init__(self, package: str, file: str, *, is_package: bool) -> None:
        self.found: list[Import] = []
        self._package = package
        self._package_names = ("__package__", "__name__") if is_package else ("__package__",)
        self._file = file
        self._required = True

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            self._add(alias.name, (), node.lineno)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = self._absolute(node)
        if module is not None:
            self._add(module, tuple(alias.name for alias in node.names), node.lineno)

    def visit_Call(self, node: ast.Call) -> None:
        if _last_name(node.func) in ("import_module", "__import__") and node.args:
            module = self._named(_text(node.args[0]), node)
            if module:
                self.found.append(Import(module, (), required=False, line=node.lineno))
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if is_main_guard(node) or _last_name(node.test) == "TYPE_CHECKING":
            self._visit_all(node.orelse)
        elif isinstance(node.test, ast.UnaryOp) and _last_name(node.test.operand) == "TYPE_CHECKING":
            self._visit_all(node.body)
        else:
            self.visit(node.test)
            self._visit_all([*node.body, *node.orelse], optional=_asks_what_is_there(node.test))

    def visit_Try(self, node: ast.Try | ast.TryStar) -> None:
        guarded = any(handler.type is None or _names_import_error(handler.type) for handler in node.handlers)
        self._visit_all([*node.body, *node.handlers, *node.orelse], optional=guarded)
        self._visit_all(node.finalbody)

    def visit_TryStar(self, node: ast.TryStar) -> None:
        self.visit_Try(node)

    def visit_With(self, node: ast.With) -> None:
        suppressed = False
        for item in node.items:
            self.visit(item)
            call = item.context_expr
            if isinstance(call, ast.Call) and _last_name(call.func) == "suppress":
                suppressed |= any(_names_import_error(argument) for argument in call.args)
        self._visit_all(node.body, optional=suppressed)

    def _visit_all(self, nodes: Iterable[ast.AST], *, optional: bool = False) -> None:
        before = self._required
        self._required = before and not optional
        for node in nodes:
            self.visit(node)
        self._required = before

    def _add(self, module: str, names: tuple[str, ...], line: int) -> None:
        self.found.append(Import(module, names, required=self._required, line=line))

    def _named(self, name: str, call: ast.Call) -> str:
        """The module `import_module(name, package)` means; empty when the source does not say."""
        stem = name.lstrip(".")
        dots = len(name) - len(stem)
        if dots == 0:
            return stem
        given = [*call.args[1:2], *(item.value for item in call.keywords if item.arg == "package")]
        package = (_text(given[0]) or self._package_of(given[0])) if given else ""
        parts = package.split(".")
        base = parts[: max(0, len(parts) - dots + 1)]
        return ".".join([*base, stem]) if package and base and stem else ""

    def _package_of(self, node: ast.expr) -> str:
        return self._package if _last_name(node) in self._package_names else ""

    def _absolute(self, node: ast.ImportFrom) -> str | None:
        if node.level == 0:
            return node.module or ""
        parts = self._package.split(".") if self._package else []
        if node.level > len(parts):
            if not self._required:
                return None
            raise InvalidServable(
                f"line {node.lineno} of {self._file!r} has a relative import that leaves its package.",
                hint="Run or import the file as part of its package, for example with python -m.",
            )
        base = parts[: len(parts) - node.level + 1]
        return ".".join([*base, node.module] if node.module else base)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _names_import_error(node: ast.expr) -> bool:
    types = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(_last_name(item) in _CATCHES_IMPORT_ERROR for item in types)


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _asks_what_is_there(test: ast.expr) -> bool:
    """Whether a condition asks for the platform, or whether a module can be found."""
    return any(_is_platform_fact(node) or _is_look_up(node) for node in ast.walk(test))


def _is_platform_fact(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr in _PLATFORM_FACTS
        and isinstance(node.value, ast.Name)
        and node.value.id in _PLATFORM_MODULES
    )


def _is_look_up(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _last_name(node.func) == "find_spec"
