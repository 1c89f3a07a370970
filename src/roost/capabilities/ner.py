"""Named entity recognition: the entities of a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from roost.capabilities.capability import Capability
from roost.capabilities.model import InferenceModel
from roost.capabilities.policy import MediaPolicy
from roost.contracts.ner import NEREntity, NERInterface, NEROutput, NERRequest, NERResponse

__all__ = [
    "NER",
    "NEREntity",
    "NERInput",
    "NERInterface",
    "NERModel",
    "NEROutput",
    "NERRequest",
    "NERResponse",
    "load_ner",
]


@dataclass(frozen=True, slots=True)
class NERInput:
    """What such a model is asked."""

    text: str


class NERModel(InferenceModel[NERInput, NEROutput]):
    """Base of models of named entity recognition. Offsets count characters of the input's text."""

    __roost_capability__: ClassVar[str] = "ner"


def load_ner(request: NERRequest, _uploads: list[bytes] | None, _policy: MediaPolicy) -> NERInput:
    """The input a model gets for a request."""
    return NERInput(text=request.text)


NER = Capability(
    name="ner",
    request_type=NERRequest,
    upload_request_type=None,
    response_type=NERResponse,
    output_type=NEROutput,
    interface_type=NERInterface,
    model_base=NERModel,
    default_timeout_s=60.0,
    upload_field=None,
    upload_many=False,
    example={"model": "spacy/en", "text": "Ada Lovelace was born in London in 1815."},
    load_input=load_ner,
)
