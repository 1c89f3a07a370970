"""HTTP client of Roost, sync and async over one transport. Knows the contracts only."""

from roost.client.artifacts import RemoteArtifacts
from roost.client.async_client import AsyncClient
from roost.client.endpoint_async_client import AsyncEndpointClient
from roost.client.endpoint_client import EndpointClient
from roost.client.sync_client import Client

__all__ = ["AsyncClient", "AsyncEndpointClient", "Client", "EndpointClient", "RemoteArtifacts"]
