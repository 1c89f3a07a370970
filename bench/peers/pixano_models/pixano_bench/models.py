"""The same two models for pixano-inference."""

from __future__ import annotations

from typing import Any

from pixano_inference.models import register_model
from pixano_inference.models.detection import DetectionInput, DetectionModel, DetectionOutput

from boxes import bright_box, decode


@register_model("BenchNoop")
class BenchNoop(DetectionModel):
    """Finds nothing."""

    def load_model(self) -> None:
        """Nothing to load."""

    def predict(self, _input: DetectionInput) -> DetectionOutput:
        """An empty answer."""
        return DetectionOutput(boxes=[], scores=[], classes=[])


@register_model("BenchBoxes")
class BenchBoxes(BenchNoop):
    """One box around the bright part."""

    def predict(self, item: Any) -> DetectionOutput:
        """The box."""
        return DetectionOutput(boxes=[bright_box(decode(item.image))], scores=[1.0], classes=["bright"])
