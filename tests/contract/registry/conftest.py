"""A registry over each pair of what it can stand on: the same must hold on all of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from roost.storage.store import ObjectStore
from roost.testing.in_process import URL, InProcessServer
from roost.testing.postgres import PostgresServer
from roost.testing.seaweedfs import SeaweedServer

BACKINGS: Final = ("folder+sqlite", "s3+postgresql")
_CREDENTIALS: Final = ("AWS_", "GOOGLE_", "AZURE_")


@dataclass(frozen=True)
class Registry:
    """A running server, with the SDK of this process pointed at it.

    Attributes:
        backing: One of `BACKINGS`.
        objects: Its storage, to look into and to damage.
        database_url: Of its records.
    """

    backing: str
    server: InProcessServer
    objects: ObjectStore
    database_url: str
    monkeypatch: pytest.MonkeyPatch

    @property
    def on_s3(self) -> bool:
        return self.backing.startswith("s3")

    def forget_credentials(self) -> None:
        """From now on this process reaches a bucket only by what the server gives it."""
        for name in os.environ:
            if name.startswith(_CREDENTIALS):
                self.monkeypatch.delenv(name)

    def hide_storage(self) -> None:
        """From now on callers find neither the folder nor the bucket: all goes through the server."""
        away = {"url": "memory:///elsewhere", "storage_id": "of another storage"}
        self.server.storage = self.server.storage.model_copy(update=away)

    def requests(self, *parts: str) -> list[tuple[str, str]]:
        """The calls whose path has all these parts."""
        return [call for call in self.server.requests if all(part in call[1] for part in parts)]


@pytest.fixture(params=BACKINGS)
def registry(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Registry]:
    backing: str = request.param
    if backing == "folder+sqlite":
        storage_url, database_url = (tmp_path / "storage").as_uri(), f"sqlite:///{tmp_path}/roost.db"
    else:
        s3: SeaweedServer = request.getfixturevalue("s3")
        postgres: PostgresServer = request.getfixturevalue("postgres")
        storage_url, database_url = s3.new_url(), postgres.new_database()
        for name, value in s3.environment.items():
            monkeypatch.setenv(name, value)
    objects = ObjectStore.open(storage_url)
    server = InProcessServer(tmp_path, database_url=database_url, objects=objects)
    monkeypatch.setenv("ROOST_URL", URL)
    monkeypatch.setenv("ROOST_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("roost.sdk.connection._client", lambda url, key: server.client(api_key=key))
    yield Registry(backing, server, objects, database_url, monkeypatch)
    server.close()
