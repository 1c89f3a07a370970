"""Wire models of the embedding capability."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from roost.contracts.array import NDArray
from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse
from roost.contracts.fields import MAX_MEDIA, ImageSource

Texts = Annotated[list[str], Field(min_length=1, max_length=MAX_MEDIA)]
Images = Annotated[list[ImageSource], Field(min_length=1, max_length=MAX_MEDIA)]


class EmbeddingParameters(InferenceRequest):
    """What any embedding request says; the `metadata` part of a binary request, whose parts are the images.

    Attributes:
        normalize: Scale each vector to length 1.
    """

    normalize: bool = True


class EmbeddingRequest(EmbeddingParameters):
    """Asks for the vectors of images, or of texts.

    Attributes:
        image: One image or several: base64, a data URI, a URL or a path each.
        text: One text or several.
    """

    image: Images | ImageSource | None = None
    text: Texts | str | None = None

    @model_validator(mode="after")
    def _check(self) -> EmbeddingRequest:
        if (self.image is None) == (self.text is None):
            raise ValueError("exactly one of image and text must be given")
        return self


class EmbeddingOutput(Wire):
    """One vector for each image or text, in their order.

    Attributes:
        embeddings: [n, dim].
        dim: The length of a vector.
    """

    embeddings: NDArray
    dim: int = Field(ge=1)

    @model_validator(mode="after")
    def _check(self) -> EmbeddingOutput:
        if len(self.embeddings.shape) != 2 or self.embeddings.shape[1] != self.dim:
            raise ValueError(f"embeddings have the shape {self.embeddings.shape}, not [n, {self.dim}]")
        return self


class EmbeddingResponse(InferenceResponse[EmbeddingOutput]):
    """The envelope around an `EmbeddingOutput`."""


class EmbeddingInterface(Wire):
    """How an embedding model is called.

    Attributes:
        modalities: What it embeds; with both, into one space.
        dim: The length of a vector; None when it is not known before a call.
    """

    capability: Literal["embedding"] = "embedding"
    modalities: list[Literal["image", "text"]]
    dim: int | None = Field(default=None, ge=1)
