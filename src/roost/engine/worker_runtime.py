"""Brings the replica runtime to the workers of an existing cluster, by way of the storage."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from roost.bundle.runtime_zip import RuntimeZip
from roost.errors import BadRequest
from roost.storage.store import ObjectStore

_RAY_SCHEMES: Final = {"s3": "s3", "gs": "gs", "az": "azure"}


def runtime_uri(storage_url: str, runtime: RuntimeZip) -> str:
    """Where Ray's workers download `runtime`: the URI for `py_modules`.

    Raises:
        BadRequest: for a storage that workers cannot read.
    """
    parts = urlsplit(storage_url)
    folder = parts.path.rstrip("/")
    if parts.scheme == "file":
        return f"file://{folder}/{runtime.path}"
    if parts.scheme not in _RAY_SCHEMES:
        raise BadRequest(
            f"storage URL {storage_url!r} cannot be read by the workers of an existing Ray cluster.",
            hint="Set ROOST_STORAGE_URL to a bucket (s3://, gs://, az://) or a folder all nodes share.",
        )
    return f"{_RAY_SCHEMES[parts.scheme]}://{parts.netloc}{folder}/{runtime.path}"


def store_runtime(store: ObjectStore, runtime: RuntimeZip) -> bool:
    """Store it, unless it is there already; True when this call did.

    Raises:
        Unavailable: the storage does not answer.
    """
    if store.find_size(runtime.path) == len(runtime.data):
        return False
    store.put(runtime.path, runtime.data)
    return True
