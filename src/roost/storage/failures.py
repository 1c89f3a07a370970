"""What went wrong with a storage, said so that its owner knows the next step."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from obstore.exceptions import BaseError, NotFoundError, PermissionDeniedError, UnauthenticatedError

from roost.errors import ArtifactNotFound, StorageDenied, Unavailable

_TELLING: Final[tuple[tuple[str, type[Unavailable], str, str], ...]] = (
    ("NoSuchBucket", Unavailable, "there is no such bucket", "Create it, or correct ROOST_STORAGE_URL."),
    (
        "ContainerNotFound",
        Unavailable,
        "there is no such container",
        "Create it, or correct ROOST_STORAGE_URL.",
    ),
    (
        "RequestTimeTooSkewed",
        StorageDenied,
        "the clocks of this machine and of the storage are more than 15 minutes apart",
        "Set the clock of this machine, for example by NTP.",
    ),
    (
        "InvalidAccessKeyId",
        StorageDenied,
        "it does not know the access key",
        "Check AWS_ACCESS_KEY_ID, and AWS_ENDPOINT_URL for an S3 other than Amazon's.",
    ),
    (
        "SignatureDoesNotMatch",
        StorageDenied,
        "the secret key is wrong",
        "Check AWS_SECRET_ACCESS_KEY.",
    ),
    (
        "ExpiredToken",
        StorageDenied,
        "the session's credentials have run out",
        "Get new ones, and set AWS_SESSION_TOKEN with them.",
    ),
    (
        "computeMetadata/v1",  # Google's, at the address that Amazon's machines use as well
        StorageDenied,
        "there are no credentials, neither in the environment nor from the machine's role",
        "Set GOOGLE_APPLICATION_CREDENTIALS; the guide storage.md has other ways.",
    ),
    (
        "Account must be specified",
        StorageDenied,
        "there is no account",
        "Set AZURE_STORAGE_ACCOUNT_NAME and AZURE_STORAGE_ACCOUNT_KEY; the guide storage.md has other ways.",
    ),
    (
        "169.254.169.254",
        StorageDenied,
        "there are no credentials, neither in the environment nor from the machine's role",
        "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY; the guide storage.md has other ways.",
    ),
    (
        "metadata.google.internal",
        StorageDenied,
        "there are no credentials, neither in the environment nor from the machine's role",
        "Set GOOGLE_APPLICATION_CREDENTIALS; the guide storage.md has other ways.",
    ),
    (
        "builder error",  # reqwest's words for a scheme that is not allowed
        Unavailable,
        "its address begins with http:// and is not on this machine",
        "Use https://, or set AWS_ALLOW_HTTP=true where the network between is trusted.",
    ),
)

_ADDRESS: Final = re.compile(r"\b(https?://[^/\s\"')?]+)")
_NO_ANSWER: Final = re.compile(r"HTTP error|error sending request|timed out", re.IGNORECASE)
_SAID: Final = re.compile(r"<Code>([^<]*)</Code>\s*<Message>([^<]*)</Message>")
_CAUSE: Final = re.compile(r'(?:message|error): "([^"]+)"')


@contextmanager
def translated(url: str, path: str) -> Iterator[None]:
    """Turns errors of obstore about the object `path` of the storage `url` into ours.

    Raises:
        ArtifactNotFound: there is no such object.
        StorageDenied: the storage refuses our credentials, or they do not cover this.
        Unavailable: it does not answer, is full, or is not there.
    """
    try:
        yield
    except (BaseError, OSError) as error:
        raise _translate(error, url, path) from error


def _translate(error: Exception, url: str, path: str) -> ArtifactNotFound | Unavailable:
    text = str(error)
    for mark, kind, what, hint in _TELLING:
        if mark in text:
            return kind(f"storage {url!r} cannot be used: {what}.", hint=hint)
    if isinstance(error, (FileNotFoundError, NotFoundError)):
        return ArtifactNotFound(f"{path!r} is not in storage.")
    # A listing that is refused comes as a general error.
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)) or "403 Forbidden" in text:
        return StorageDenied(
            f"storage {url!r} refuses access to {path!r}{_answer(text)}.",
            hint="Check its keys, and let them read, write, list and delete objects there.",
        )
    if _NO_ANSWER.search(text) and (address := _ADDRESS.search(text)):
        return Unavailable(
            f"storage {url!r} does not answer at {address[1]!r}: {_cause(text)}.",
            hint="Check that it runs and can be reached from this machine; AWS_ENDPOINT_URL says where "
            "an S3 other than Amazon's is.",
        )
    if not path:
        hint = "Check the environment variables of its credentials; the guide storage.md lists them."
        return Unavailable(f"storage {url!r} cannot be opened: {_reason(text)}.", hint=hint)
    return Unavailable(f"storage {url!r} failed at {path!r}: {_reason(text)}.")


def _answer(text: str) -> str:
    """What the storage itself said, if anything: an answer to HEAD has no words."""
    said = _SAID.search(text)
    return f": {html.unescape(said[2]).rstrip('.')} ({said[1]})" if said else ""


def _reason(text: str) -> str:
    """The first line of an error; what obstore adds to it is for its own authors."""
    return text.split("\n", 1)[0].rstrip(".")[:300]


def _cause(text: str) -> str:
    """The innermost reason that an error of the connection gives."""
    found = _CAUSE.findall(text)
    return found[-1].rstrip(".").lower() if found else _reason(text).rsplit(" - ", 1)[-1]
