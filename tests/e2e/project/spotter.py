"""A detection model without weights; the classes of its answers say which edition and process gave them."""

from __future__ import annotations

import os
import time

from roost.capabilities import DetectionInput, DetectionModel, DetectionOutput

EDITION = "first"


class Spotter(DetectionModel):
    def load_model(self) -> None:
        self.edition = EDITION
        self.takes_s = float(self.config.get("takes_s", "0"))

    def predict(self, input: DetectionInput) -> DetectionOutput:
        time.sleep(self.takes_s)
        box = [0, 0, input.image.width, input.image.height]
        return DetectionOutput(boxes=[box] * 2, scores=[1.0, 1.0], classes=[self.edition, str(os.getpid())])
