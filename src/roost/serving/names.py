"""Names under which callers reach a deployment."""

from __future__ import annotations

import re
from typing import Final

from roost.errors import InvalidName
from roost.keys import DeploymentKey, check_segment

MAX_NAME_LENGTH: Final = 255

_FINGERPRINT = re.compile(r"[0-9a-f]{12}", re.ASCII)


def check_name(name: str, key: DeploymentKey) -> str:
    """Return `name` when deployment `key` may have it: segments joined by `/`, then maybe `@fingerprint`.

    A name that reads as the key of another deployment is refused: requests may name a key, too.

    Raises:
        InvalidName: naming the value and the rule it breaks.
    """
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidName(
            f"name {name[:60] + '...'!r} is not valid: it has {len(name)} characters, "
            f"at most {MAX_NAME_LENGTH} are allowed."
        )
    path, at, fingerprint = name.partition("@")
    segments = path.split("/")
    for segment in segments:
        check_segment(segment, f"the part of name {name!r}")
    if at and not _FINGERPRINT.fullmatch(fingerprint):
        raise InvalidName(
            f"name {name!r} is not valid: after '@' come 12 lower-case hex digits.",
            hint="Leave '@' out, or write the fingerprint of the deployment's config.",
        )
    if len(segments) == 3 and name != str(key):
        raise InvalidName(
            f"name {name!r} is not valid: it reads as the key of another deployment than {str(key)!r}.",
            hint="Use one or two segments, such as 'detector' or 'team/detector'.",
        )
    return name
