"""What differs between two specs, and which of it makes Ray replace replicas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from roost.contracts.placement import RestartReason, SpecChange

_ARGS: Final[Mapping[str, RestartReason]] = {
    "servable": "code",
    "weightsDigest": "weights",
    "config": "config",
}
"""Parts of an application's arguments; the others come from the server's settings."""


def changes_between(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[SpecChange]:
    """Every value that differs, in the order of `new`, then what is only in `old`.

    Lists of named things are entered by their names; other lists are compared whole.
    """
    return list(_changes("", old, new))


def restart_reasons(
    old: Mapping[str, Any], new: Mapping[str, Any], *, other_requirements: bool
) -> list[RestartReason]:
    """Why Ray replaces the replicas when application `new` is PUT over `old`; empty when it does not.

    Other sizes of cards are no reason by themselves: they are chosen anew when something else is one.
    """
    reasons: list[RestartReason] = []
    if any(old.get(part) != new.get(part) for part in ("import_path", "runtime_env")):
        reasons.append("code")
    if other_requirements:
        reasons.append("requirements")
    before, after = old.get("args") or {}, new.get("args") or {}
    for part in [*after, *(part for part in before if part not in after)]:
        if before.get(part) != after.get(part):
            reasons.append(_ARGS.get(part, "settings"))
    if _cpus(old) != _cpus(new):
        reasons.append("settings")
    return list(dict.fromkeys(reasons))


def _cpus(app: Mapping[str, Any]) -> list[Any]:
    parts = app.get("deployments") or []
    return [(part.get("ray_actor_options") or {}).get("num_cpus") for part in parts]


def _changes(path: str, old: Any, new: Any) -> Iterator[SpecChange]:
    before, after = _parts(old), _parts(new)
    # A part that comes or goes is told by its values, as one that changes is.
    if old is None and after:
        before = {}
    elif new is None and before:
        after = {}
    if before is None or after is None:
        if old != new:
            yield SpecChange(path=path, old=old, new=new)
        return
    for name in [*after, *(name for name in before if name not in after)]:
        inner = f"{path}.{name}" if path else name
        yield from _changes(inner, before.get(name), after.get(name))


def _parts(value: Any) -> Mapping[str, Any] | None:
    """What is inside a value, by name; None for a plain one."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list) and value and all(_is_named(item) for item in value):
        return {item["name"]: {key: part for key, part in item.items() if key != "name"} for item in value}
    return None


def _is_named(value: Any) -> bool:
    return isinstance(value, Mapping) and "name" in value
