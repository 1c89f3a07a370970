"""The text of a source: a directory's path, or a URL that names a place elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from roost.errors import InvalidWeights

DEFAULT_REVISION: Final = "main"
BUCKET_SCHEMES: Final = ("s3", "gs", "az")

_HINT: Final = (
    "Write a directory, hf://org/name[@revision], file:///absolute/dir, "
    "s3://bucket/prefix, gs://bucket/prefix or az://container/prefix."
)
_NAME: Final = r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_])?"
_HUB: Final = re.compile(
    rf"(?P<repository>{_NAME}/{_NAME})(?:@(?P<revision>[^@?#\s]+))?(?:\?(?P<query>[^#]*))?"
)


@dataclass(frozen=True, slots=True)
class HubAddress:
    """A Hugging Face repository at a revision.

    Attributes:
        repository: `org/name`.
        revision: A branch, a tag or a commit.
        allow: Shell patterns; when there are any, only files that match one are taken.
        ignore: Shell patterns of files that are left out.
    """

    repository: str
    revision: str = DEFAULT_REVISION
    allow: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"hf://{self.repository}@{self.revision}"


@dataclass(frozen=True, slots=True)
class BucketAddress:
    """All objects below a prefix of an object store."""

    url: str

    def __str__(self) -> str:
        return self.url


Address = Path | HubAddress | BucketAddress


def parse_source(source: str | Path) -> Address:
    """What `source` names. A text without `://` is a directory's path.

    Raises:
        InvalidWeights: for what is no path, and a URL of another shape.
    """
    if isinstance(source, Path):
        return source
    if not isinstance(source, str):
        raise InvalidWeights(
            f"the source of the weights is {source!r:.80}, which is no path and no URL.", hint=_HINT
        )
    _check_text(source)
    scheme, separator, rest = source.partition("://")
    if not separator:
        return Path(source)
    if scheme == "hf":
        return _hub(source, rest)
    if scheme == "file":
        return _folder(source)
    if scheme in BUCKET_SCHEMES:
        return _bucket(source)
    raise _invalid(source, "its scheme is not one that Roost reads")


def parse_directory(directory: str | Path) -> Path:
    """The path of a directory of weights.

    Raises:
        InvalidWeights: for what is no path, and text that names none.
    """
    if not isinstance(directory, (str, Path)):
        raise InvalidWeights(
            f"weights directory {directory!r:.80} is not a path.",
            hint="Pass the folder that holds the model's files, as text or a pathlib.Path.",
        )
    if isinstance(directory, str):
        _check_text(directory)
    return Path(directory)


def _check_text(text: str) -> None:
    if not text.strip():
        # Path("") would be the whole current directory.
        raise InvalidWeights(
            f"weights directory {text!r:.80} is {'blank' if text else 'empty'} text.",
            hint="Pass '.' for the current directory.",
        )


def _hub(source: str, rest: str) -> HubAddress:
    found = _HUB.fullmatch(rest)
    if found is None:
        raise _invalid(source, "a repository is written hf://org/name or hf://org/name@revision")
    patterns = parse_qsl(found["query"] or "", keep_blank_values=True)
    strange = [name for name, pattern in patterns if name not in ("allow", "ignore") or not pattern]
    if strange:
        raise _invalid(source, "after '?' it may have allow=PATTERN and ignore=PATTERN")
    return HubAddress(
        found["repository"],
        found["revision"] or DEFAULT_REVISION,
        allow=tuple(pattern for name, pattern in patterns if name == "allow"),
        ignore=tuple(pattern for name, pattern in patterns if name == "ignore"),
    )


def _folder(source: str) -> Path:
    parts = urlsplit(source)
    if (
        parts.netloc not in ("", "localhost")
        or not parts.path.startswith("/")
        or parts.query
        or parts.fragment
    ):
        raise _invalid(source, "a folder is written file:///absolute/dir, with '?' and '#' as %3F and %23")
    return Path(unquote(parts.path))


def _bucket(source: str) -> BucketAddress:
    parts = urlsplit(source)
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", parts.netloc) or parts.query or parts.fragment:
        raise _invalid(source, "a place in a bucket is written scheme://bucket/prefix")
    if any(segment in (".", "..") for segment in parts.path.split("/")):
        raise _invalid(source, "the prefix must hold no '.' and no '..'")
    return BucketAddress(source)


def _invalid(source: str, rule: str) -> InvalidWeights:
    return InvalidWeights(f"source {source!r:.200} is not valid: {rule}.", hint=_HINT)
