"""What authors of models import: a base class a capability and the types around it."""

from roost.capabilities.detection import DetectionInput, DetectionInterface, DetectionModel, DetectionOutput
from roost.capabilities.embedding import EmbeddingInput, EmbeddingInterface, EmbeddingModel, EmbeddingOutput
from roost.capabilities.frames import load_frames
from roost.capabilities.images import load_images
from roost.capabilities.media import load_image
from roost.capabilities.model import InferenceModel
from roost.capabilities.ner import NEREntity, NERInput, NERInterface, NERModel, NEROutput
from roost.capabilities.policy import MediaPolicy
from roost.capabilities.segmentation import (
    CompressedRLE,
    NDArray,
    SegmentationInput,
    SegmentationInterface,
    SegmentationModel,
    SegmentationOutput,
)
from roost.capabilities.tracking import (
    TrackedFrame,
    TrackedObject,
    TrackingInput,
    TrackingInterface,
    TrackingInterval,
    TrackingKeyframe,
    TrackingModel,
    TrackingOutput,
)
from roost.capabilities.vlm import ImageCount, Turn, Usage, VLMInput, VLMInterface, VLMModel, VLMOutput

__all__ = [
    "CompressedRLE",
    "DetectionInput",
    "DetectionInterface",
    "DetectionModel",
    "DetectionOutput",
    "EmbeddingInput",
    "EmbeddingInterface",
    "EmbeddingModel",
    "EmbeddingOutput",
    "ImageCount",
    "InferenceModel",
    "MediaPolicy",
    "NDArray",
    "NEREntity",
    "NERInput",
    "NERInterface",
    "NERModel",
    "NEROutput",
    "SegmentationInput",
    "SegmentationInterface",
    "SegmentationModel",
    "SegmentationOutput",
    "TrackedFrame",
    "TrackedObject",
    "TrackingInput",
    "TrackingInterface",
    "TrackingInterval",
    "TrackingKeyframe",
    "TrackingModel",
    "TrackingOutput",
    "Turn",
    "Usage",
    "VLMInput",
    "VLMInterface",
    "VLMModel",
    "VLMOutput",
    "load_frames",
    "load_image",
    "load_images",
]
