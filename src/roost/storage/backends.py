"""Opens the folder or bucket that a storage URL names, with time-outs and retries.

Credentials of a bucket come from its usual environment variables (`AWS_*`, `GOOGLE_*`, `AZURE_*`), never
from the URL, which everybody may see.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import SplitResult, unquote, urlsplit

import obstore
from obstore.store import AzureStore, GCSStore, LocalStore, MemoryStore, S3Store

from roost.errors import BadRequest, Unavailable
from roost.hosts import is_loopback
from roost.storage.failures import translated

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

Backend = obstore.store.ObjectStore

BUCKET_SCHEMES: Final = ("s3", "gs", "az")

_CREDENTIALS: Final = {
    "s3": (
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ),
    "gs": (
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
        "GOOGLE_SERVICE_ACCOUNT_PATH",
    ),
    "az": (
        "AZURE_CLIENT_ID",
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_TOKEN",
    ),
}


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a bucket is waited for.

    Attributes:
        timeout_s: Of one request, with its body; a chunk of 8 MiB passes at 0.6 Mbit/s.
        retry_s: After so long a failed request is not begun again.
    """

    connect_timeout_s: float = 5.0
    timeout_s: float = 120.0
    max_retries: int = 15
    retry_s: float = 60.0

    def client_options(self) -> ClientConfig:
        """As obstore takes them."""
        options: ClientConfig = {
            "connect_timeout": timedelta(seconds=self.connect_timeout_s),
            "timeout": timedelta(seconds=self.timeout_s),
        }
        if is_loopback(urlsplit(endpoint()).hostname):
            options["allow_http"] = True
        return options

    def retry_config(self) -> RetryConfig:
        """As obstore takes it. Retried: no connection, 5xx, and time-outs of what may be sent twice."""
        return {
            "max_retries": self.max_retries,
            "retry_timeout": timedelta(seconds=self.retry_s),
            "backoff": {
                # The waits are random up to `base` times the one before: about 40 s in all for 15.
                "init_backoff": timedelta(seconds=0.2),
                "max_backoff": timedelta(seconds=5),
                "base": 3,
            },
        }


PATIENT: Final = Patience()
BRIEF: Final = Patience(connect_timeout_s=3.0, timeout_s=10.0, max_retries=1, retry_s=5.0)
"""For a bucket that may not be reachable from here at all."""


def endpoint() -> str:
    """Where an S3 other than Amazon's is; empty for Amazon's."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL", "")


def has_credentials(url: str) -> bool:
    """Whether this process's environment has credentials for the kind of bucket that `url` names.

    Those of a machine's role are not looked for: to ask where there is none takes seconds.
    """
    return any(os.environ.get(name) for name in _CREDENTIALS.get(urlsplit(url).scheme, ()))


def find_secret_key() -> str | None:
    """The secret key of S3 when the environment has a pair of keys; obstore then signs with that pair."""
    has_pair = bool(os.environ.get("AWS_ACCESS_KEY_ID"))
    return (os.environ.get("AWS_SECRET_ACCESS_KEY") or None) if has_pair else None


def open_backend(url: str, patience: Patience = PATIENT) -> tuple[Backend, Path | None]:
    """The store that `url` names, and its folder when it is one. A bucket is not asked for yet.

    Raises:
        BadRequest: the URL is none of these, or holds what does not belong there.
        Unavailable: the folder cannot be created, or the settings of the bucket contradict each other.
    """
    parts = _parts(url)
    if parts.scheme == "file":
        folder = Path(unquote(parts.path))
        return LocalStore(_made(folder)), folder
    if parts.scheme == "memory":
        return MemoryStore(), None
    with translated(url, ""):
        return _open_bucket(parts, patience), None


def _open_bucket(parts: SplitResult, patience: Patience) -> Backend:
    prefix = unquote(parts.path).strip("/") or None
    client, retry = patience.client_options(), patience.retry_config()
    if parts.scheme == "s3":
        return S3Store(parts.netloc, prefix=prefix, client_options=client, retry_config=retry)
    if parts.scheme == "gs":
        return GCSStore(parts.netloc, prefix=prefix, client_options=client, retry_config=retry)
    return AzureStore(parts.netloc, prefix=prefix, client_options=client, retry_config=retry)


def _parts(url: str) -> SplitResult:
    parts = urlsplit(url)
    if "@" in parts.netloc:
        # The URL is shown to every caller; so it is not repeated here either.
        raise BadRequest(
            f"the storage URL of {parts.scheme!r} holds a name or password.",
            hint="Give credentials by environment variables, such as AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY.",
        )
    is_folder = parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path.startswith("/")
    is_bucket = parts.scheme in BUCKET_SCHEMES and bool(parts.netloc)
    if not (is_folder or is_bucket or parts.scheme == "memory") or parts.query or parts.fragment:
        raise BadRequest(
            f"storage URL {url!r} is not valid.",
            hint="Write file:///absolute/folder, s3://bucket/prefix, gs://bucket/prefix or "
            "az://container/prefix; `?` and `#` as %3F and %23.",
        )
    return parts


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Unavailable(f"storage folder {str(folder)!r} cannot be created: {error.strerror}.") from error
    return folder
