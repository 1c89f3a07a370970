"""An inference model at work: loaded, asked, watched and unloaded in its own thread."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, Final

from roost.capabilities.model import InferenceModel
from roost.capabilities.policy import MediaPolicy
from roost.capabilities.table import Capability
from roost.contracts.envelope import InferenceRequest
from roost.errors import ModelError, RoostError, Unavailable
from roost.keys import DeploymentKey
from roost.replica.failures import raised_by_model, starting
from roost.replica.model_thread import ModelThread

INLINE_BYTES: Final = 96 * 1024
"""Media of at most this size are decoded in the model's thread: a second hop would cost more.
So are larger ones while the thread has nothing else to do."""

LOADER_THREADS: Final = 8
UNLOAD_TIMEOUT_S: Final = 10.0

_log = logging.getLogger("roost.replica")


class ServedModel:
    """One model, entered by one thread at a time: its own.

    Args:
        model_class: The inference model's class.
        capability: What it serves.
        policy: What media it may be given.
        timeout_s: A call that runs longer is taken for one that will not end.

    Attributes:
        interface_json: How the model is called, as JSON; `null` when it does not say.
        metadata: What each answer says of the model besides its name.
    """

    def __init__(
        self,
        model_class: type[InferenceModel[Any, Any]],
        key: DeploymentKey,
        *,
        capability: Capability,
        policy: MediaPolicy,
        timeout_s: float,
    ) -> None:
        self.capability = capability
        self.interface_json = b"null"
        self.metadata = {
            "capability": capability.name,
            "modelClass": model_class.__name__,
            "deployment": str(key),
        }
        self._class = model_class
        self._key = key
        self._policy = policy
        self._timeout_s = timeout_s
        self._model: InferenceModel[Any, Any] | None = None
        self._closed = False
        self._thread = ModelThread(f"model {key}")
        self._loaders = ThreadPoolExecutor(LOADER_THREADS, thread_name_prefix="media")

    async def load(self, weights: Path | None, config: Mapping[str, str]) -> None:
        """Make the model, load it, ask for its interface and run its warm-up inputs.

        Raises:
            ModelDeployFailed: naming the step that failed and the model's own error.
        """
        await self._thread.run(partial(self._load, weights, config))

    async def predict(
        self, request: InferenceRequest, uploads: list[bytes] | None, *, size_bytes: int
    ) -> Any:
        """The model's output, of the capability's output type.

        Args:
            size_bytes: Of the request's body.

        Raises:
            RoostError: for media that cannot be loaded, or as the model raised it.
            ModelError: when the model raised anything else; the log has its traceback.
        """
        at_hand = size_bytes <= INLINE_BYTES or self._thread.is_idle
        if at_hand and not _names_a_url(request):
            return await self._thread.run(partial(self._load_and_predict, request, uploads))
        loop = asyncio.get_running_loop()
        loaded = await loop.run_in_executor(self._loaders, self._load_input, request, uploads)
        return await self._thread.run(partial(self._predict, loaded))

    async def check_health(self) -> None:
        """Return when the model can answer, or is busy with a call that may still end in time.

        Raises:
            Unavailable: when its thread has ended or is held by one call past the limit.
        """
        busy_s = self._thread.busy_s()
        if busy_s > self._timeout_s:
            raise Unavailable(
                f"The model has been in one call for {busy_s:.0f} s; the limit is {self._timeout_s:g} s."
            )
        if not self._thread.is_alive:
            raise Unavailable("The model's thread has ended.")

    async def close(self) -> None:
        """Unload the model, once. What it raises is logged; one that does not end is left behind."""
        if self._closed:
            return
        self._closed = True
        try:
            async with asyncio.timeout(UNLOAD_TIMEOUT_S):
                await self._thread.run(self._unload)
        except TimeoutError:
            _log.warning("the model %s did not unload within %g s", self._key, UNLOAD_TIMEOUT_S)
        self._thread.close()
        self._loaders.shutdown(wait=False, cancel_futures=True)

    def _load(self, weights: Path | None, config: Mapping[str, str]) -> None:
        name = f"{self._class.__module__}:{self._class.__qualname__}"
        with starting(f"The constructor of {name!r}"):
            model = self._class(self._key)
        model.weights = weights
        model.config = dict(config)
        self._model = model
        with starting(f"load_model of {name!r}"):
            model.load_model()
        with starting(f"The interface of {name!r}"):
            interface = model.interface
            self.interface_json = b"null" if interface is None else interface.to_json()
        with starting(f"The warm-up of {name!r}"):
            for loaded in model.warmup_inputs():
                model.predict(loaded)

    def _load_and_predict(self, request: InferenceRequest, uploads: list[bytes] | None) -> Any:
        return self._predict(self._load_input(request, uploads))

    def _load_input(self, request: InferenceRequest, uploads: list[bytes] | None) -> Any:
        return self.capability.load_input(request, uploads, self._policy)

    def _predict(self, loaded: Any) -> Any:
        assert self._model is not None
        try:
            output = self._model.predict(loaded)
        except RoostError:
            raise
        except BaseException as error:  # noqa: BLE001  # whatever it is, the thread has to go on
            _log.exception("the model %s raised in predict", self._key)
            raise raised_by_model(error) from None
        if not isinstance(output, self.capability.output_type):
            raise ModelError(
                f"The model returned {type(output).__name__} instead of "
                f"{self.capability.output_type.__name__}."
            )
        return output

    def _unload(self) -> None:
        if self._model is None:
            return
        try:
            self._model.unload()
        except Exception:  # noqa: BLE001  # the replica ends either way
            _log.exception("the model %s raised in unload", self._key)


def _names_a_url(request: InferenceRequest) -> bool:
    """Whether loading the request's media may mean to wait for the network."""
    return any(_may_hold_url(value) for value in request.__dict__.values())


def _may_hold_url(value: object) -> bool:
    if isinstance(value, str):
        # Base64 has no colon, so it can only end a scheme.
        return ":" in value and not value.startswith("data:")
    if isinstance(value, list):
        return any(_may_hold_url(item) for item in value)
    # Anything nested deeper is not looked into.
    return not isinstance(value, (int, float, type(None)))
