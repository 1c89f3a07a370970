"""Texts that name a source."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.errors import InvalidWeights
from roost.sdk.sources.address import BucketAddress, HubAddress, parse_source


@pytest.mark.parametrize(
    ("source", "address"),
    [
        ("weights", Path("weights")),
        ("./a b/c", Path("a b/c")),
        (Path("/x/y"), Path("/x/y")),
        ("file:///abs/with%20space", Path("/abs/with space")),
        ("file://localhost/abs", Path("/abs")),
        ("hf://acme/tiny", HubAddress("acme/tiny", "main")),
        ("hf://acme/tiny-1.5_b@v1.0", HubAddress("acme/tiny-1.5_b", "v1.0")),
        ("hf://acme/tiny@refs/pr/1", HubAddress("acme/tiny", "refs/pr/1")),
        (
            "hf://acme/tiny@main?allow=*.json&allow=a/*&ignore=*.bin",
            HubAddress("acme/tiny", "main", ("*.json", "a/*"), ("*.bin",)),
        ),
        ("s3://bucket", BucketAddress("s3://bucket")),
        ("s3://bucket/a/b", BucketAddress("s3://bucket/a/b")),
        ("gs://bucket/a", BucketAddress("gs://bucket/a")),
        ("az://container/a", BucketAddress("az://container/a")),
    ],
)
def test_what_is_named(source: str | Path, address: object) -> None:
    assert parse_source(source) == address


@pytest.mark.parametrize(
    ("source", "rule"),
    [
        ("hf://tiny", "hf://org/name"),
        ("hf://acme/tiny/onnx", "hf://org/name"),
        ("hf://acme/tiny@", "hf://org/name"),
        ("hf://acme/../tiny", "hf://org/name"),
        ("hf://../tiny", "hf://org/name"),
        ("hf://acme/tiny#main", "hf://org/name"),
        ("hf://me:secret@acme/tiny", "hf://org/name"),
        ("hf://acme/tiny?only=x", "allow=PATTERN"),
        ("hf://acme/tiny?allow=", "allow=PATTERN"),
        ("file://host/abs", "file:///absolute/dir"),
        ("file://relative", "file:///absolute/dir"),
        ("file:///abs?x", "file:///absolute/dir"),
        ("s3://", "scheme://bucket/prefix"),
        ("s3:///prefix", "scheme://bucket/prefix"),
        ("s3://key:secret@bucket/x", "scheme://bucket/prefix"),
        ("s3://bucket/x?versionId=1", "scheme://bucket/prefix"),
        ("s3://bucket/a/../b", "no '..'"),
        ("https://example.com/x", "scheme"),
        ("memory:///x", "scheme"),
        ("://x", "scheme"),
    ],
)
def test_what_is_refused(source: str, rule: str) -> None:
    with pytest.raises(InvalidWeights) as caught:
        parse_source(source)
    assert rule in caught.value.message
    assert caught.value.hint is not None
    assert "hf://org/name" in caught.value.hint


@pytest.mark.parametrize("source", [3, None, ["x"], b"x", {"a": 1}])
def test_other_values_are_refused(source: object) -> None:
    with pytest.raises(InvalidWeights, match="no path and no URL"):
        parse_source(source)  # type: ignore[arg-type]


@given(st.text(max_size=40))
def test_whatever_a_hub_address_is_made_of_names_one_repository(text: str) -> None:
    try:
        address = parse_source(f"hf://{text}")
    except InvalidWeights:
        return
    assert isinstance(address, HubAddress)
    assert address.repository.count("/") == 1
    assert not {".", ".."} & set(address.repository.split("/"))
    assert not set("@?#% \n") & set(address.repository)
