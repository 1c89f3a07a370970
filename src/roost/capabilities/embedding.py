"""Embedding: a vector for each image or text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from PIL import Image

from roost.capabilities.capability import Capability
from roost.capabilities.images import load_images
from roost.capabilities.model import InferenceModel
from roost.capabilities.policy import MediaPolicy
from roost.capabilities.sources import listed
from roost.contracts.embedding import (
    EmbeddingInterface,
    EmbeddingOutput,
    EmbeddingParameters,
    EmbeddingRequest,
    EmbeddingResponse,
)
from roost.errors import BadRequest

__all__ = [
    "EMBEDDING",
    "EmbeddingInput",
    "EmbeddingInterface",
    "EmbeddingModel",
    "EmbeddingOutput",
    "EmbeddingParameters",
    "EmbeddingRequest",
    "EmbeddingResponse",
    "load_embedding",
]


@dataclass(frozen=True, slots=True)
class EmbeddingInput:
    """What an embedding model is asked: images or texts, one of them empty.

    Attributes:
        images: RGB and upright.
        normalize: Scale each vector to length 1.
    """

    images: list[Image.Image] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    normalize: bool = True


class EmbeddingModel(InferenceModel[EmbeddingInput, EmbeddingOutput]):
    """Base of embedding models. The answer has a row for each image or text, in their order."""

    __roost_capability__: ClassVar[str] = "embedding"


def load_embedding(
    request: EmbeddingParameters, uploads: list[bytes] | None, policy: MediaPolicy
) -> EmbeddingInput:
    """The input a model gets for a request.

    Args:
        request: An `EmbeddingRequest`, or `EmbeddingParameters` when the images are uploaded.
        uploads: The raw images of a binary request; None for a JSON request.

    Raises:
        BadRequest: when there is neither an image nor a text.
        InvalidMedia, PayloadTooLarge: as `load_images`.
    """
    texts = listed(getattr(request, "text", None))
    if uploads is None and texts:
        return EmbeddingInput(texts=texts, normalize=request.normalize)
    sources = uploads if uploads is not None else listed(getattr(request, "image", None))
    if not sources:
        raise BadRequest(
            "embedding takes an image or a text, got none.", hint="Set the field 'image' or 'text'."
        )
    return EmbeddingInput(images=load_images(sources, policy), normalize=request.normalize)


EMBEDDING = Capability(
    name="embedding",
    request_type=EmbeddingRequest,
    upload_request_type=EmbeddingParameters,
    response_type=EmbeddingResponse,
    output_type=EmbeddingOutput,
    interface_type=EmbeddingInterface,
    model_base=EmbeddingModel,
    default_timeout_s=60.0,
    upload_field="image",
    upload_many=True,
    example={"model": "minilm/l6", "text": ["a cat", "a kitten"]},
    load_input=load_embedding,
)
