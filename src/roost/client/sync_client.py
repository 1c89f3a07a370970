"""The synchronous client."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, TypeVar

import httpx2

from roost.client import capability_calls, serving_calls
from roost.client.call import Call
from roost.client.capability_calls import Images, wire_array
from roost.client.environment import api_key as default_api_key
from roost.client.environment import server_url
from roost.client.images import ImageLike
from roost.client.serving_calls import UndeployedName
from roost.client.transport import DEFAULT_TIMEOUT_S, SyncTransport, Target
from roost.contracts.detection import DetectionResponse
from roost.contracts.embedding import EmbeddingResponse
from roost.contracts.ner import NERResponse
from roost.contracts.segmentation import SegmentationResponse
from roost.contracts.serving_model import DeployModelRequest, ModelStatusInfo
from roost.contracts.tracking import TrackingInterval, TrackingKeyframe, TrackingResponse
from roost.contracts.vlm import Message, VLMResponse

if TYPE_CHECKING:
    from roost.contracts.array import ArrayLike

TRACKING_TIMEOUT_S = 600.0
VLM_TIMEOUT_S = 300.0

Result = TypeVar("Result")


class Client:
    """Calls a Roost server, or one deployment's own URL.

    Args:
        url: The server's URL; default `ROOST_URL`, else `http://127.0.0.1:7463`.
        api_key: Default `ROOST_API_KEY`.
        timeout_s: Default time-out of one call, in seconds.
        max_retries: How often a call that cannot have run is sent again.
        transport: Another HTTP transport, for tests.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        api_key: str | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        max_retries: int = 2,
        transport: httpx2.BaseTransport | None = None,
    ) -> None:
        target = Target(url or server_url(), api_key or default_api_key(), timeout_s, max_retries)
        self.url = target.url
        self._transport = SyncTransport(target, transport)

    def segmentation(
        self,
        model: str,
        image: ImageLike,
        *,
        points: Sequence[Sequence[Sequence[float]]] | None = None,
        labels: Sequence[Sequence[int]] | None = None,
        boxes: Sequence[Sequence[float]] | None = None,
        mask_input: ArrayLike | None = None,
        image_embedding: ArrayLike | None = None,
        high_resolution_features: Sequence[ArrayLike] | None = None,
        reset_predictor: bool = True,
        num_multimask_outputs: int = 3,
        multimask_output: bool = True,
        return_image_embedding: bool = False,
        return_logits: bool = False,
        timeout_s: float | None = None,
    ) -> SegmentationResponse:
        """Find the masks of `n` objects in one image, named by points, boxes or both.

        Args:
            model: A deployment's name or full key.
            image: A path, encoded bytes, a Pillow image, a URL, a data URI or base64.
            points: [n][p][2], `x, y` in pixels.
            labels: [n][p], 1 on the object and 0 beside it.
            boxes: [n][4], `x1, y1, x2, y2` in pixels.
            mask_input: The logits of an earlier answer, to be refined.
            image_embedding: That of an earlier answer; so are `high_resolution_features`.
            reset_predictor: False lets the model go on from what it keeps of the image before.
            num_multimask_outputs: How many masks an object gets with `multimask_output`.
        """
        features = high_resolution_features
        return self.run(
            capability_calls.segmentation(
                image,
                model=model,
                points=points,
                labels=labels,
                boxes=boxes,
                mask_input=wire_array(mask_input),
                image_embedding=wire_array(image_embedding),
                high_resolution_features=features and [wire_array(each) for each in features],
                reset_predictor=reset_predictor,
                num_multimask_outputs=num_multimask_outputs,
                multimask_output=multimask_output,
                return_image_embedding=return_image_embedding,
                return_logits=return_logits,
                timeout_s=timeout_s,
            )
        )

    def detection(
        self,
        model: str,
        image: ImageLike,
        *,
        classes: list[str] | None = None,
        box_threshold: float = 0.5,
        text_threshold: float = 0.5,
        timeout_s: float | None = None,
    ) -> DetectionResponse:
        """Find objects in one image.

        Args:
            model: A deployment's name or full key.
            image: A path, encoded bytes, a Pillow image, a URL, a data URI or base64.
        """
        return self.run(
            capability_calls.detection(
                image,
                model=model,
                classes=classes,
                box_threshold=box_threshold,
                text_threshold=text_threshold,
                timeout_s=timeout_s,
            )
        )

    def tracking(
        self,
        model: str,
        video: Images,
        *,
        objects_ids: Sequence[int] = (),
        keyframes: Sequence[TrackingKeyframe] | None = None,
        frame_indexes: Sequence[int] = (),
        propagate: bool | None = None,
        interval: TrackingInterval | None = None,
        classes: list[str] | None = None,
        box_threshold: float | None = None,
        timeout_s: float | None = TRACKING_TIMEOUT_S,
    ) -> TrackingResponse:
        """Follow objects through a video; without prompts the model finds them.

        Args:
            model: A deployment's name or full key.
            video: A video file, or a list with one image a frame; each as an image of `detection`.
            objects_ids: The track ids of the prompted objects.
            keyframes: Where each of them is, in one frame.
        """
        return self.run(
            capability_calls.tracking(
                video,
                model=model,
                objects_ids=[*objects_ids],
                keyframes=keyframes,
                frame_indexes=[*frame_indexes],
                propagate=propagate,
                interval=interval,
                classes=classes,
                box_threshold=box_threshold,
                timeout_s=timeout_s,
            )
        )

    def vlm(
        self,
        model: str,
        prompt: str | Sequence[Message],
        *,
        images: Sequence[ImageLike] | None = None,
        max_new_tokens: int = 256,
        temperature: float = 1.0,
        timeout_s: float | None = VLM_TIMEOUT_S,
    ) -> VLMResponse:
        """Write text about images, or about text alone.

        Args:
            model: A deployment's name or full key.
            prompt: A text, or the turns of a chat.
            images: Each a path, encoded bytes, a Pillow image, a URL, a data URI or base64.
        """
        return self.run(
            capability_calls.vlm(
                images,
                model=model,
                prompt=prompt,
                max_new_tokens=max_new_tokens,
                temperature=temperature,
                timeout_s=timeout_s,
            )
        )

    def ner(self, model: str, text: str, *, timeout_s: float | None = None) -> NERResponse:
        """Find the entities of a text."""
        return self.run(capability_calls.ner(model=model, text=text, timeout_s=timeout_s))

    def embedding(
        self,
        model: str,
        *,
        image: Images | None = None,
        text: str | Sequence[str] | None = None,
        normalize: bool = True,
        timeout_s: float | None = None,
    ) -> EmbeddingResponse:
        """A vector for each image or text; give one of the two.

        Args:
            model: A deployment's name or full key.
            image: One or several; each a path, encoded bytes, a Pillow image, a URL, a data URI or base64.
            normalize: Scale each vector to length 1.
        """
        return self.run(
            capability_calls.embedding(image, text, model=model, normalize=normalize, timeout_s=timeout_s)
        )

    def list_models(self) -> list[ModelStatusInfo]:
        """The deployed models with their live status."""
        return self.run(serving_calls.list_serving())

    def deploy_model(self, request: DeployModelRequest) -> ModelStatusInfo:
        """Deploy a class of an installed package; returns once it runs."""
        return self.run(serving_calls.deploy_declared(request))

    def undeploy_model(self, name: str) -> UndeployedName:
        """Undeploy by name."""
        return self.run(serving_calls.undeploy_name(name))

    def run(self, call: Call[Result]) -> Result:
        """Send one call; every failure is a `RoostError`."""
        return self._transport.run(call)

    def close(self) -> None:
        """Close the pool of connections."""
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
