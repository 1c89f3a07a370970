"""Wire models of named entity recognition."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from roost.contracts.base import Wire
from roost.contracts.envelope import InferenceRequest, InferenceResponse
from roost.contracts.fields import ModelScore


class NERRequest(InferenceRequest):
    """Asks for the entities of a text."""

    text: str


class NEREntity(Wire):
    """One entity.

    Attributes:
        text: As it stands in the request's text.
        start: Offset of its first character (a Unicode code point) in the text.
        end: Offset after its last character.
    """

    text: str
    label: str
    start: int = Field(ge=0)
    end: int = Field(ge=0)
    score: ModelScore

    @model_validator(mode="after")
    def _check(self) -> NEREntity:
        if self.end < self.start:
            raise ValueError(f"an entity from {self.start} must not end at {self.end}")
        return self


class NEROutput(Wire):
    """The entities, in the order of the text."""

    entities: list[NEREntity]


class NERResponse(InferenceResponse[NEROutput]):
    """The envelope around a `NEROutput`."""


class NERInterface(Wire):
    """How such a model is called.

    Attributes:
        entity_types: The labels it can give; None when they are not known.
    """

    capability: Literal["ner"] = "ner"
    entity_types: list[str] | None = None
