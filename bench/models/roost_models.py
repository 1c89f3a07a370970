"""The benchmark's models for Roost."""

from __future__ import annotations

from boxes import bright_box
from roost.capabilities import DetectionInput, DetectionModel, DetectionOutput


class Noop(DetectionModel):
    """Finds nothing."""

    def load_model(self) -> None:
        """Nothing to load."""

    def predict(self, _input: DetectionInput) -> DetectionOutput:
        """An empty answer."""
        return DetectionOutput(boxes=[], scores=[], classes=[])


class BrightBox(Noop):
    """One box around the bright part."""

    def predict(self, item: DetectionInput) -> DetectionOutput:
        """The box."""
        return DetectionOutput(boxes=[bright_box(item.image)], scores=[1.0], classes=["bright"])
