"""Wire models of vision-language generation."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse
from roost.contracts.fields import MAX_MEDIA, ImageSource

MAX_MESSAGES = 1024


class Message(Wire):
    """One turn of a chat.

    Attributes:
        content: Text, or parts: `{"type": "text", "text": ...}`, `{"type": "image", "image": ...}` or
            `{"type": "image_url", "image_url": {"url": ...}}`. A part `{"type": "image"}` without an
            image stands for the next one of `images`.
    """

    role: Literal["system", "user", "assistant"]
    content: str | list[dict[str, Any]]


class VLMParameters(InferenceRequest):
    """A request for text but for its images; the `metadata` part of a binary request.

    Attributes:
        prompt: A text, or the turns of a chat.
        max_new_tokens: Most tokens of the answer.
        temperature: 0 always takes the likeliest token.
    """

    prompt: str | Annotated[list[Message], Field(min_length=1, max_length=MAX_MESSAGES)]
    max_new_tokens: int = Field(default=256, ge=1, le=1_000_000)
    temperature: float = Field(default=1.0, ge=0.0, le=100.0, allow_inf_nan=False)


class VLMRequest(VLMParameters):
    """Asks for text about images.

    Attributes:
        images: Base64, a data URI, a URL or a path each; images in messages come in addition.
    """

    images: Annotated[list[ImageSource], Field(max_length=MAX_MEDIA)] | None = None


class Usage(Wire):
    """What a generation took, in tokens."""

    prompt_tokens: int = Field(ge=0)
    completion_tokens: int = Field(ge=0)
    total_tokens: int = Field(ge=0)


class VLMOutput(Wire):
    """The text and how it was made.

    Attributes:
        generation_config: The settings that were used.
    """

    generated_text: str
    usage: Usage
    generation_config: dict[str, Any] = Field(default_factory=dict)


class VLMResponse(InferenceResponse[VLMOutput]):
    """The envelope around a `VLMOutput`."""


class ImageCount(Wire):
    """How many images a request may carry; `max` is None where there is no limit."""

    min: int = Field(default=0, ge=0)
    max: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _check(self) -> ImageCount:
        if self.max is not None and self.max < self.min:
            raise ValueError(f"max={self.max} must be at least min={self.min}")
        return self


class VLMInterface(Wire):
    """How such a model is called.

    Attributes:
        prompt: The forms of a prompt that it takes.
        images: How many images a request may carry, those in messages included.
    """

    capability: Literal["vlm"] = "vlm"
    prompt: list[Literal["text", "messages"]]
    images: ImageCount = Field(default_factory=ImageCount)
