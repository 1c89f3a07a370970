"""How a value that an option does not take is told."""

from __future__ import annotations

from typing import Any

import typer
from pydantic import ValidationError
from typer.core import TyperGroup


class NamingGroup(TyperGroup):
    """Names the value that was given beside the rule that it breaks; Typer names only the rule."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            if isinstance(error.__cause__, ValidationError):
                given = error.__cause__.errors(include_url=False)[0]["input"]
                error.message = f"{given!r:.80} is not valid: {error.message}."
            raise
