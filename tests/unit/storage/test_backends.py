from __future__ import annotations

import os
from pathlib import Path

import pytest
from obstore.store import AzureStore, GCSStore, S3Store

from roost.errors import BadRequest, Unavailable
from roost.storage.backends import PATIENT, find_secret_key, has_credentials, open_backend
from roost.storage.store import ObjectStore

KEY = "0" * 64


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIA1")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "s3cret")


def test_a_bucket_and_what_comes_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "account")
    s3, _ = open_backend("s3://bucket/a%20b/ü/")
    assert isinstance(s3, S3Store)
    assert (s3.config["bucket"], s3.prefix) == ("bucket", "a b/ü")
    gs, _ = open_backend("gs://bucket")
    assert isinstance(gs, GCSStore)
    assert gs.prefix is None
    az, folder = open_backend("az://container/x")
    assert isinstance(az, AzureStore)
    assert (az.prefix, folder) == ("x", None)


def test_a_folder(tmp_path: Path) -> None:
    _, folder = open_backend((tmp_path / "a b").as_uri())
    assert folder == tmp_path / "a b"
    assert folder.is_dir()


@pytest.mark.parametrize(
    "url", ["s3://key:secret@bucket/x", "s3://token@bucket", "file://u:secret@localhost/x"]
)
def test_no_secrets_in_a_url_that_is_shown_to_all(url: str) -> None:
    with pytest.raises(BadRequest, match="holds a name or password") as caught:
        open_backend(url)
    assert "secret" not in str(caught.value).replace("AWS_SECRET_ACCESS_KEY", "")
    assert "token" not in caught.value.message


@pytest.mark.parametrize("url", ["s3://", "s3:///x", "s3:bucket", "s3://bucket/x?y=z", "s3://bucket/x#y"])
def test_urls_that_name_no_bucket_or_too_much(url: str) -> None:
    with pytest.raises(BadRequest, match="storage URL"):
        open_backend(url)


@pytest.mark.parametrize(
    ("endpoint", "allowed"),
    [
        ("http://127.0.0.1:9000", True),
        ("http://localhost:9000", True),
        ("http://[::1]:9000", True),
        ("http://minio:9000", False),
        ("https://s3.example", False),
        ("", False),
    ],
)
def test_plain_http_is_for_this_machine(
    endpoint: str, allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    assert PATIENT.client_options().get("allow_http", False) is allowed


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("s3://b", "AWS_ACCESS_KEY_ID"),
        ("s3://b", "AWS_WEB_IDENTITY_TOKEN_FILE"),
        ("gs://b", "GOOGLE_APPLICATION_CREDENTIALS"),
        ("az://b", "AZURE_STORAGE_ACCOUNT_KEY"),
    ],
)
def test_credentials_are_seen_without_asking_anybody(
    url: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not has_credentials(url)
    monkeypatch.setenv(name, "x")
    assert has_credentials(url)
    assert not has_credentials("file:///x")


def test_only_a_pair_of_keys_can_sign_an_upload(keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    url = ObjectStore.open("s3://bucket/x").sign_put("chunks/00/0", KEY, 60)
    assert url is not None
    assert "/bucket/x/chunks/00/0?" in url
    assert "x-amz-checksum-sha256" in url
    assert "s3cret" not in url
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    assert find_secret_key() is None
    with pytest.raises(Unavailable, match=r"'s3://bucket/x' cannot be opened: .*Missing AccessKeyId"):
        ObjectStore.open("s3://bucket/x")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert ObjectStore.open("s3://bucket/x").sign_put("chunks/00/0", KEY, 60) is None


def test_where_bytes_cannot_be_fixed_nothing_is_signed(tmp_path: Path) -> None:
    for url in ("gs://bucket/x", "memory:///", tmp_path.as_uri()):
        assert ObjectStore.open(url).sign_put("chunks/00/0", KEY, 60) is None
    assert ObjectStore.open(tmp_path.as_uri()).sign_get(["chunks/00/0"], 60) is None
