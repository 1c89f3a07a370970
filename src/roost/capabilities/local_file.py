"""Reads a local file below the media roots, and nothing else."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from roost.capabilities.policy import MediaPolicy
from roost.errors import InvalidMedia


def read_local(source: str, policy: MediaPolicy) -> bytes:
    """The bytes of the file `source`, a path relative to a media root or an absolute one below it.

    Raises:
        InvalidMedia: when there is no such regular file below any root once links are resolved. The
            message is the same whatever is outside.
        PayloadTooLarge: for more bytes than the policy allows.
    """
    if not policy.media_roots:
        raise InvalidMedia(
            f"media {source[:64]!r} is neither base64, a data URI nor an http(s) URL.",
            hint="Local paths are read only below configured media roots, and none is configured.",
        )
    for root in policy.media_roots:
        path = _find_below(root, source)
        if path is not None:
            return _read_regular(path, source, policy)
    raise _missing(source)


def _find_below(root: Path, source: str) -> Path | None:
    try:
        real_root = root.resolve(strict=True)
        path = (real_root / source).resolve(strict=True)
    except (OSError, ValueError, RuntimeError):  # missing, NUL, a loop of links
        return None
    return path if path != real_root and path.is_relative_to(real_root) else None


def _read_regular(path: Path, source: str, policy: MediaPolicy) -> bytes:
    # No link is followed any more and a pipe does not block; what was opened is what is checked.
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _missing(source) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise _missing(source)
        policy.check_size(status.st_size, f"media {source[:64]!r}")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(policy.max_bytes + 1 if policy.max_bytes else -1)
    finally:
        os.close(descriptor)
    policy.check_size(len(data), f"media {source[:64]!r}")
    return data


def _missing(source: str) -> InvalidMedia:
    return InvalidMedia(
        f"media {source[:64]!r} is not a file below the media roots.",
        hint="Send base64 of the encoded image, a data URI or an http(s) URL.",
    )
