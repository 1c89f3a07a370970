"""The rules for names inside a tree of weights: none of them can reach outside of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from roost.errors import InvalidWeights

MAX_SEGMENT_BYTES: Final = 255
MAX_PATH_BYTES: Final = 2048
MAX_SEGMENTS: Final = 128
"""Programs that walk a tree, Python's own among them, give up at a depth of some hundreds."""


def check_path(path: str) -> str:
    """Return `path` when it is a relative, normalized path of a file in a tree.

    Raises:
        InvalidWeights: naming the path and the rule it breaks.
    """
    rule = _broken_rule(path) or _broken_segment_rule(path)
    if rule is not None:
        is_long = "more than" in rule
        raise InvalidWeights(
            f"path {_shown(path)} is not valid: {rule}.",
            hint="Rename it, or move it up to a shorter path." if is_long else "Rename it.",
        )
    return path


def check_link(path: str, target: str) -> None:
    """Check that the link at `path` leads to `target` without leaving its tree.

    The rule: a relative target that climbs only at its beginning, and no higher than the root. What is
    above the link are real directories, so the climb is exact; what follows only goes down.

    Raises:
        InvalidWeights: naming the link and the rule it breaks.
    """
    steps = [step for step in target.split("/") if step not in ("", ".")]
    climbs = next((i for i, step in enumerate(steps) if step != ".."), len(steps))
    rule = _broken_rule(target)
    if rule is None and ".." in steps[climbs:]:
        rule = "'..' may stand only at the beginning of a link's target"
    if rule is None and climbs > path.count("/"):
        rule = "it leaves the tree"
    if rule is not None:
        raise InvalidWeights(
            f"link {_shown(path)} to {_shown(target)} is not valid: {rule}.",
            hint="Copy the directory with `cp -rL` to replace links by what they point at.",
        )


def check_tree(files: Iterable[str], links: Mapping[str, str], directories: Iterable[str]) -> None:
    """Check that the entries together are one tree: each path once, and nothing beneath a file,
    a link or an empty directory.

    Raises:
        InvalidWeights: naming the first path that breaks a rule.
    """
    leaves: set[str] = set()
    for path in (*files, *links, *directories):
        check_path(path)
        if path in leaves:
            raise InvalidWeights(f"path {_shown(path)} is not valid: it is there twice.")
        leaves.add(path)
    for path in leaves:
        for parent in _parents(path):
            if parent in leaves:
                raise InvalidWeights(
                    f"path {_shown(path)} is not valid: {_shown(parent)} is no directory that holds anything."
                )
    for path, target in links.items():
        check_link(path, target)


def _broken_rule(path: str) -> str | None:
    if not path:
        return "it must not be empty"
    if path.startswith("/"):
        return "it must be relative"
    if "\0" in path or "\\" in path:
        return "it must hold no NUL and no backslash"
    try:
        size = len(path.encode())
    except UnicodeEncodeError:
        return "it must be UTF-8"
    return f"it has more than {MAX_PATH_BYTES} bytes" if size > MAX_PATH_BYTES else None


def _broken_segment_rule(path: str) -> str | None:
    segments = path.split("/")
    if len(segments) > MAX_SEGMENTS:
        return f"it has more than {MAX_SEGMENTS} segments"
    for segment in segments:
        if segment in ("", ".", ".."):
            return "it must hold no empty segment, no '.' and no '..'"
        if len(segment.encode()) > MAX_SEGMENT_BYTES:
            return f"a segment has more than {MAX_SEGMENT_BYTES} bytes"
    return None


def _parents(path: str) -> Iterable[str]:
    cut = path.rfind("/")
    while cut > 0:
        path = path[:cut]
        yield path
        cut = path.rfind("/")


def _shown(path: str) -> str:
    text = repr(path)
    return text if len(text) <= 120 else f"{text[:117]}..."
