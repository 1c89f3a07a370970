"""What authors of models import: a base class a capability and the types around it."""

from roost.capabilities.detection import DetectionInput, DetectionInterface, DetectionModel, DetectionOutput
from roost.capabilities.media import load_image
from roost.capabilities.model import InferenceModel
from roost.capabilities.policy import MediaPolicy

__all__ = [
    "DetectionInput",
    "DetectionInterface",
    "DetectionModel",
    "DetectionOutput",
    "InferenceModel",
    "MediaPolicy",
    "load_image",
]
