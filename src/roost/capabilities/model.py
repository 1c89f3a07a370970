"""The base of every inference model: what an author writes, what a replica calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from roost.contracts.base import Wire
from roost.keys import DeploymentKey

Input = TypeVar("Input")
Output = TypeVar("Output", bound=Wire)


class InferenceModel(ABC, Generic[Input, Output]):
    """A model of one capability. Subclass a capability's base (`DetectionModel`), not this class.

    One instance is made in each replica, and one thread at a time enters it. The replica sets
    `weights` and `config`, calls `load_model` once, then the predict methods for each request, and
    `unload` when it shuts down.

    Attributes:
        key: The deployment this instance serves.
        weights: Read-only local directory of the weights; None for a model without weights.
        config: The model's config with the deployment's laid over it.
    """

    __roost_capability__: ClassVar[str]

    def __init__(self, key: DeploymentKey) -> None:
        self.key = key
        self.weights: Path | None = None
        self.config: Mapping[str, str] = {}

    @abstractmethod
    def load_model(self) -> None:
        """Load the weights; an exception fails the deployment and is shown as its message."""

    @abstractmethod
    def predict(self, input: Input) -> Output:
        """Answer one request. A `RoostError` is shown to the caller as it is, other exceptions are not."""

    def predict_batch(self, inputs: Sequence[Input]) -> Sequence[Output | Exception]:
        """Answer several requests at once: one entry an input, in order.

        An entry may be an exception, so that one bad input fails alone. By default `predict` is called
        for each.
        """
        return [self._predict_or_error(input) for input in inputs]

    @property
    def interface(self) -> Wire | None:
        """How this model is called; read once, after `load_model`. None when there is nothing to say."""
        return None

    def warmup_inputs(self) -> list[Input]:
        """Inputs that are run before the replica reports ready."""
        return []

    def unload(self) -> None:
        """Free what `load_model` took."""

    def _predict_or_error(self, input: Input) -> Output | Exception:
        try:
            return self.predict(input)
        except Exception as error:  # noqa: BLE001  # returned as this input's own result
            return error
