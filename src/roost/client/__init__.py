"""HTTP client of Roost, sync and async over one transport. Knows the contracts only."""

from roost.client.artifacts import RemoteArtifacts
from roost.client.async_client import AsyncClient
from roost.client.sync_client import Client

__all__ = ["AsyncClient", "Client", "RemoteArtifacts"]
