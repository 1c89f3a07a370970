"""The asynchronous client."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar

import httpx2

from roost.client import inference_calls
from roost.client.call import Call
from roost.client.environment import api_key as default_api_key
from roost.client.environment import server_url
from roost.client.images import ImageLike
from roost.client.inference_calls import UndeployedName
from roost.client.transport import DEFAULT_TIMEOUT_S, AsyncTransport, Target
from roost.contracts.detection import DetectionResponse
from roost.contracts.serving_model import DeployModelRequest, ModelStatusInfo

Result = TypeVar("Result")


class AsyncClient:
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
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        target = Target(url or server_url(), api_key or default_api_key(), timeout_s, max_retries)
        self.url = target.url
        self._transport = AsyncTransport(target, transport)

    async def detection(
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
        return await self.run(
            inference_calls.detection(
                model,
                image,
                classes=classes,
                box_threshold=box_threshold,
                text_threshold=text_threshold,
                timeout_s=timeout_s,
            )
        )

    async def list_models(self) -> list[ModelStatusInfo]:
        """The deployed models with their live status."""
        return await self.run(inference_calls.list_serving())

    async def deploy_model(self, request: DeployModelRequest) -> ModelStatusInfo:
        """Deploy a class of an installed package; returns once it runs."""
        return await self.run(inference_calls.deploy_declared(request))

    async def undeploy_model(self, name: str) -> UndeployedName:
        """Undeploy by name."""
        return await self.run(inference_calls.undeploy_name(name))

    async def run(self, call: Call[Result]) -> Result:
        """Send one call; every failure is a `RoostError`."""
        return await self._transport.run(call)

    async def close(self) -> None:
        """Close the pool of connections."""
        await self._transport.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
