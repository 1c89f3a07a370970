"""The ways by which a caller reaches the artifacts; none of them takes a caller's word for the bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
import pytest

import roost
from roost.client import control_calls
from roost.contracts.artifact import SignedUrls
from roost.errors import BadRequest, CorruptArtifact, InvalidName, StorageDenied
from roost.sdk.artifacts import find_way
from roost.sdk.connection import current_client
from roost.storage.artifacts import artifact_path
from roost.storage.manifest import Manifest
from roost.storage.store import ObjectStore
from roost.testing.seaweedfs import READER

if TYPE_CHECKING:
    from tests.contract.registry.conftest import Registry

Servable = Callable[..., type]
ON_S3 = pytest.mark.parametrize("registry", ["s3+postgresql"], indirect=True)
GOOD = b"the right bytes"
NAME = hashlib.sha256(GOOD).hexdigest()


def signed(method: str, *names: str, kind: str = "chunks") -> SignedUrls:
    return current_client().run(control_calls.sign_urls(kind, names, method))  # type: ignore[arg-type]


def save_and_load(servable: Servable, weights: Path) -> None:
    (weights / "large.bin").write_bytes(b"0123456789" * 1_000_000)
    saved = roost.save_model(weights, servable(), "f", "s")
    loaded = roost.load_model("f", "s", saved.run_name)
    assert (loaded / "large.bin").read_bytes() == b"0123456789" * 1_000_000
    assert (loaded / "model.bin").read_bytes() == b"12345"


def test_directly(registry: Registry, servable: Servable, weights: Path) -> None:
    assert find_way(registry.server.storage) == ("bucket" if registry.on_s3 else "folder")
    save_and_load(servable, weights)
    assert registry.requests("/api/artifacts") == []


def test_through_the_server(registry: Registry, servable: Servable, weights: Path) -> None:
    registry.hide_storage()
    assert find_way(registry.server.storage) == "server"
    save_and_load(servable, weights)
    assert [method for method, _ in registry.requests("/chunks/")].count("PUT") == 3
    assert registry.requests("/urls") == []


@ON_S3
def test_by_signed_urls_without_credentials(registry: Registry, servable: Servable, weights: Path) -> None:
    registry.forget_credentials()
    assert find_way(registry.server.storage) == "signed URLs"
    save_and_load(servable, weights)
    through_server = [path for method, path in registry.server.requests if method in ("PUT", "GET")]
    assert [path for path in through_server if "/chunks/" in path] == []
    # Three chunks are written by a URL each; those to read come together.
    assert len(registry.requests("/chunks/urls")) == 4


@ON_S3
def test_credentials_that_may_only_read(
    registry: Registry, servable: Servable, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", READER)
    assert find_way(registry.server.storage) == "bucket"
    with pytest.raises(StorageDenied, match="refuses access to 'x'"):
        ObjectStore.open(registry.objects.url).put("x", b"1")
    save_and_load(servable, weights)
    assert len(registry.requests("/chunks/urls")) == 3
    assert registry.requests("/chunks/missing") == []


def test_another_bucket_of_the_same_name_is_not_taken(
    registry: Registry, servable: Servable, weights: Path
) -> None:
    other = registry.server.storage.model_copy(update={"storage_id": "of another storage"})
    assert find_way(other) == ("signed URLs" if registry.on_s3 else "server")
    registry.server.storage = other
    save_and_load(servable, weights)
    assert registry.requests("/chunks/") != []


@pytest.mark.parametrize("registry", ["folder+sqlite"], indirect=True)
def test_a_folder_signs_nothing(registry: Registry) -> None:
    assert signed("GET", NAME).urls is None
    assert signed("PUT", NAME).urls is None


def test_what_may_be_signed(registry: Registry) -> None:
    with pytest.raises(InvalidName):
        signed("GET", "../storage-id")
    with pytest.raises(BadRequest, match="1001 names"):
        signed("GET", *["0" * 64] * 1001)
    for kind in ("manifests", "bundles"):
        assert signed("PUT", NAME, kind=kind).urls is None


@pytest.fixture
def on_s3(registry: Registry) -> Registry:
    """A bucket that this process has no credentials for."""
    registry.forget_credentials()
    return registry


def put(url: str, data: bytes, headers: dict[str, str]) -> int:
    return httpx2.put(url, content=data, headers=headers, trust_env=False, timeout=60).status_code


@ON_S3
def test_a_signed_url_takes_the_bytes_of_its_name_and_no_others(on_s3: Registry) -> None:
    answer = signed("PUT", NAME)
    assert answer.urls is not None
    url, headers = answer.urls[NAME], answer.headers[NAME]
    lie = {"x-amz-checksum-sha256": "LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ="}  # of b"hello"
    assert put(url, b"the wrong bytes", headers) == 400
    assert put(url, b"hello", lie) == 403
    assert put(url, b"hello", {}) == 403
    assert on_s3.objects.find_size(artifact_path("chunks", NAME)) is None
    assert put(url, GOOD, headers) == 200
    assert put(url, b"the wrong bytes", headers) == 400
    assert on_s3.objects.get(artifact_path("chunks", NAME)) == GOOD


@ON_S3
def test_a_signed_url_reaches_no_other_object(on_s3: Registry) -> None:
    on_s3.objects.put("chunks/secret", b"of another")
    answer = signed("PUT", NAME)
    assert answer.urls is not None
    for other in ("storage-id", f"models/{NAME}", f"chunks/00/{NAME}"):
        url = answer.urls[NAME].replace(artifact_path("chunks", NAME), other)
        assert put(url, GOOD, answer.headers[NAME]) == 403
    read = signed("GET", NAME).urls
    assert read is not None
    for method, path in (("DELETE", ""), ("PUT", ""), ("GET", "chunks/secret")):
        url = read[NAME].replace(artifact_path("chunks", NAME), path) if path else read[NAME]
        assert httpx2.request(method, url, trust_env=False).status_code in (401, 403)
    assert urlsplit(read[NAME]).hostname == "127.0.0.1"


@ON_S3
def test_what_was_altered_in_the_bucket_is_found_by_who_reads_it(
    on_s3: Registry, servable: Servable, weights: Path
) -> None:
    saved = roost.save_model(weights, servable(), "f", "s")
    manifest = Manifest.decode(on_s3.objects.get(saved.data_blob_path))
    (name,) = manifest.chunk_names()
    on_s3.objects.put(artifact_path("chunks", name), b"12x45")
    with pytest.raises(CorruptArtifact, match=f"{name}.*model.bin"):
        roost.load_model("f", "s", saved.run_name)
    roost.save_model(weights, servable(), "f", "s")
    assert (roost.load_model("f", "s", saved.run_name) / "model.bin").read_bytes() == b"12345"


@ON_S3
def test_a_storage_that_is_not_reached_from_here(
    on_s3: Registry, servable: Servable, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = on_s3.server.signer.sign

    def sign_elsewhere(*arguments: object) -> SignedUrls:
        answer = sign(*arguments)  # type: ignore[arg-type]
        urls = {name: to_nobody(url) for name, url in (answer.urls or {}).items()}
        return answer.model_copy(update={"urls": urls or None})

    monkeypatch.setattr(on_s3.server.signer, "sign", sign_elsewhere)
    save_and_load(servable, weights)
    assert [method for method, _ in on_s3.requests("/chunks/")].count("PUT") == 3


def to_nobody(url: str) -> str:
    return urlsplit(url)._replace(netloc="127.0.0.1:1").geturl()
