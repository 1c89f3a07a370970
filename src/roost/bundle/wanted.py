"""Why something is in a bundle: once for the author's errors, once for whoever looks at the bundle."""

from __future__ import annotations

from dataclasses import dataclass

from roost.bundle.locate import Found


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who asks for a module or a file.

    Attributes:
        by: The subject of an error's sentence: `line 3 of '/home/ann/app.py'`.
        reason: What the bundle keeps, without a path of this machine: `imported by app.py line 3`.
    """

    by: str
    reason: str

    @classmethod
    def at_line(cls, importer: Found, line: int) -> Wanted:
        """An import statement of a module."""
        return cls(
            f"line {line} of {str(importer.file)!r}", f"imported by {importer.archive_path} line {line}"
        )
