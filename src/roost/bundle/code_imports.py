"""Reads which modules a function imports from its bytecode, where there is no source to read."""

from __future__ import annotations

import dis
from types import CodeType

from roost.bundle.imports import Import


def code_imports(code: CodeType) -> list[Import]:
    """The absolute imports of one code object, without those of functions inside it.

    They are required unless the function handles errors or the like: then any of them may be guarded.
    """
    guarded = bool(code.co_exceptiontable)
    found: list[Import] = []
    level: object = None
    names: object = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "IMPORT_NAME" and level == 0:
            line = instruction.positions.lineno if instruction.positions else None
            found.append(
                Import(
                    instruction.argval,
                    tuple(map(str, names)) if isinstance(names, tuple) else (),
                    required=not guarded,
                    line=line or code.co_firstlineno,
                )
            )
        level, names = names, instruction.argval
    return found
