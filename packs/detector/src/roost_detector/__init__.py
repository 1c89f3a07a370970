"""A COCO object detector for Roost."""

from roost_detector.model import SsdMobileNetV2
from roost_detector.weights import weights_dir

__all__ = ["SsdMobileNetV2", "weights_dir"]
