"""The same two models as a BentoML service."""

from __future__ import annotations

from typing import Any

import bentoml

from boxes import bright_box, decode


@bentoml.service(
    workers=1, traffic={"timeout": 60}, metrics={"enabled": False}, logging={"access": {"enabled": False}}
)
class Bench:
    """One worker, no access log, no metrics: its quickest form."""

    @bentoml.api(route="/noop")
    async def noop(self, model: str, image: str) -> dict[str, Any]:
        """Finds nothing."""
        return {"boxes": [], "scores": [], "classes": []}

    @bentoml.api(route="/boxes")
    def boxes(self, model: str, image: str) -> dict[str, Any]:
        """One box around the bright part."""
        return {"boxes": [bright_box(decode(image))], "scores": [1.0], "classes": ["bright"]}
