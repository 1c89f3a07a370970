"""Vision-language generation: text about images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from PIL import Image

from roost.capabilities.capability import Capability
from roost.capabilities.images import load_images
from roost.capabilities.model import InferenceModel
from roost.capabilities.policy import MediaPolicy
from roost.contracts.vlm import (
    ImageCount,
    Message,
    Usage,
    VLMInterface,
    VLMOutput,
    VLMParameters,
    VLMRequest,
    VLMResponse,
)
from roost.errors import BadRequest

__all__ = [
    "VLM",
    "ImageCount",
    "Message",
    "Turn",
    "Usage",
    "VLMInput",
    "VLMInterface",
    "VLMModel",
    "VLMOutput",
    "VLMParameters",
    "VLMRequest",
    "VLMResponse",
    "load_vlm",
]


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a chat.

    Attributes:
        role: `system`, `user` or `assistant`.
        parts: Texts, and indexes into the input's images, in their order.
    """

    role: str
    parts: list[str | int]

    @property
    def text(self) -> str:
        """Its texts, a line each."""
        return "\n".join(part for part in self.parts if isinstance(part, str))


@dataclass(frozen=True, slots=True)
class VLMInput:
    """What such a model is asked.

    Attributes:
        turns: The chat; a plain prompt is one turn of the user, after all images.
        images: RGB and upright: those of the messages as they come, then those beside them.
        max_new_tokens: Most tokens of the answer.
        temperature: 0 always takes the likeliest token.
    """

    turns: list[Turn]
    images: list[Image.Image] = field(default_factory=list)
    max_new_tokens: int = 256
    temperature: float = 1.0


class VLMModel(InferenceModel[VLMInput, VLMOutput]):
    """Base of models that write text, about images or about text alone."""

    __roost_capability__: ClassVar[str] = "vlm"


def load_vlm(request: VLMParameters, uploads: list[bytes] | None, policy: MediaPolicy) -> VLMInput:
    """The input a model gets for a request.

    Args:
        request: A `VLMRequest`, or `VLMParameters` when the images are uploaded.
        uploads: The raw images of a binary request; None for a JSON request.

    Raises:
        BadRequest: for a part of a message that is neither text nor an image, or that stands for an
            image that is not there.
        InvalidMedia, PayloadTooLarge: as `load_images`.
    """
    beside = uploads if uploads is not None else getattr(request, "images", None) or []
    if isinstance(request.prompt, str):
        sources: list[str | bytes] = list(beside)
        turns = [Turn("user", [*range(len(sources)), request.prompt])]
    else:
        reader = _Reader(list(beside))
        turns = [Turn(message.role, list(reader.parts(message))) for message in request.prompt]
        sources = reader.finish()
    return VLMInput(
        turns=turns,
        images=load_images(sources, policy),
        max_new_tokens=request.max_new_tokens,
        temperature=request.temperature,
    )


class _Reader:
    """Reads messages; `beside` are the images that come with them."""

    def __init__(self, beside: list[str | bytes]) -> None:
        self._beside = beside
        self._sources: list[str | bytes] = []

    def parts(self, message: Message) -> Iterator[str | int]:
        if isinstance(message.content, str):
            yield message.content
            return
        for part in message.content:
            yield self._part(part)

    def finish(self) -> list[str | bytes]:
        """All images; those beside the messages that no part stands for come last."""
        return [*self._sources, *self._beside]

    def _part(self, part: dict[str, Any]) -> str | int:
        kind = part.get("type")
        if kind == "text" and isinstance(part.get("text"), str):
            return str(part["text"])
        if kind in ("image", "image_url"):
            self._sources.append(self._image(part))
            return len(self._sources) - 1
        raise BadRequest(
            f"message part {part!r:.80} is neither a text nor an image.",
            hint='Write {"type": "text", "text": "..."} or {"type": "image", "image": "..."}.',
        )

    def _image(self, part: dict[str, Any]) -> str | bytes:
        given = part.get("image", part.get("image_url"))
        if isinstance(given, dict):
            given = given.get("url")
        if isinstance(given, str) and given:
            return given
        if given is None and part["type"] == "image" and self._beside:
            return self._beside.pop(0)
        raise BadRequest(
            f"message part {part!r:.80} has no image.",
            hint="Give it one, or one in 'images' for each such part.",
        )


VLM = Capability(
    name="vlm",
    request_type=VLMRequest,
    upload_request_type=VLMParameters,
    response_type=VLMResponse,
    output_type=VLMOutput,
    interface_type=VLMInterface,
    model_base=VLMModel,
    default_timeout_s=300.0,
    upload_field="images",
    upload_many=True,
    example={"model": "smollm2/135m", "prompt": "What is a cat?", "maxNewTokens": 64, "temperature": 0},
    load_input=load_vlm,
)
