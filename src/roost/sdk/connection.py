"""The client the SDK's functions share: one for each server and key."""

from __future__ import annotations

import atexit
from functools import lru_cache

from roost.client import Client
from roost.client.environment import api_key, server_url


def current_client() -> Client:
    """The client for `ROOST_URL` and `ROOST_API_KEY` as they are now."""
    return _client(server_url(), api_key())


@lru_cache(maxsize=8)
def _client(url: str, key: str | None) -> Client:
    client = Client(url, api_key=key)
    atexit.register(client.close)
    return client
