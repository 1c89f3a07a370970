"""What Ray Serve says of itself, read tolerantly: a part that is odd hides no other part."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from roost.serving.pin_failure import pin_failure

MAX_MESSAGE_LENGTH: Final = 4000
_HEAD_LENGTH: Final = 1000
_CUT: Final = "\n...\n"

# CSI sequences (colours, cursor), OSC sequences (titles, links), and lone escapes.
_ANSI = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]?")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_SAYS_NOTHING = re.compile(r"(Failed to update the deployments|The deployments) \[.*?\]( are UNHEALTHY)?\.?")


@dataclass(frozen=True, slots=True)
class ObservedReplica:
    """One replica. `outdated`: it was there before the wanted version was PUT."""

    replica_id: str
    state: str
    node_id: str | None = None
    node_ip: str | None = None
    outdated: bool = False


@dataclass(frozen=True, slots=True)
class ObservedApp:
    """One application.

    Attributes:
        status: Ray's application status.
        message: The most telling of Ray's messages, cleaned by `clean_message`.
        config: The application as it was last PUT, exactly; None for one made imperatively or being deleted.
        statuses: Of its deployments. Empty while the application is built, also while old replicas serve.
        target: Replicas Ray aims at, summed; None while it lists no deployment.
    """

    status: str
    message: str = ""
    config: dict[str, Any] | None = None
    statuses: tuple[str, ...] = ()
    target: int | None = None
    replicas: tuple[ObservedReplica, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedServe:
    """The whole of one GET. `http_options` and `proxy_location` are None while Serve does not run."""

    apps: dict[str, ObservedApp]
    http_options: dict[str, Any] | None = None
    proxy_location: str | None = None
    target_capacity: float | None = None


class Observer:
    """Reads look after look. What is the same object as at the look before is not read again."""

    def __init__(self) -> None:
        self._apps: dict[str, tuple[Any, ObservedApp]] = {}

    def parse(self, details: Mapping[str, Any]) -> ObservedServe:
        """As `parse_serve`."""
        before = self._apps
        self._apps = {}
        for name, app in _mapping(details.get("applications")).items():
            known = before.get(name)
            if known is None or known[0] is not app:
                known = app, _app(_mapping(app))
            self._apps[name] = known
        return _serve(details, {name: app for name, (_, app) in self._apps.items()})


def parse_serve(details: Mapping[str, Any]) -> ObservedServe:
    """Read the answer of `GET /api/serve/applications/`."""
    return Observer().parse(details)


def _serve(details: Mapping[str, Any], apps: dict[str, ObservedApp]) -> ObservedServe:
    options = details.get("http_options")
    location = details.get("proxy_location")
    return ObservedServe(
        apps=apps,
        http_options=dict(options) if isinstance(options, Mapping) and options else None,
        proxy_location=location if isinstance(location, str) else None,
        target_capacity=details.get("target_capacity"),
    )


_OWN_ERROR: Final = "roost.errors.ModelDeployFailed: "


def clean_message(text: str) -> str:
    """`text` without terminal escapes and control characters, its middle cut out when it is long.

    The end of a traceback names the error, so more of the end is kept.
    """
    plain = _CONTROL.sub("", _ANSI.sub("", text)).strip()
    # What a replica says of a start that failed; Ray wraps it in the stack of its own actor.
    plain = pin_failure(plain) or plain.rpartition(_OWN_ERROR)[2].strip() or plain
    if len(plain) <= MAX_MESSAGE_LENGTH:
        return plain
    tail_length = MAX_MESSAGE_LENGTH - _HEAD_LENGTH - len(_CUT)
    return plain[:_HEAD_LENGTH] + _CUT + plain[-tail_length:]


def _app(app: Mapping[str, Any]) -> ObservedApp:
    deployments = [_mapping(part) for part in _mapping(app.get("deployments")).values()]
    targets = [
        part["target_num_replicas"] for part in deployments if _is_count(part.get("target_num_replicas"))
    ]
    config = app.get("deployed_app_config")
    return ObservedApp(
        status=str(app.get("status", "")),
        message=_message(app, deployments),
        config=dict(config) if isinstance(config, Mapping) else None,
        statuses=tuple(str(part.get("status", "")) for part in deployments),
        target=sum(targets) if targets else None,
        replicas=tuple(
            _replica(_mapping(item)) for part in deployments for item in _list(part.get("replicas"))
        ),
    )


def _message(app: Mapping[str, Any], deployments: list[Mapping[str, Any]]) -> str:
    """The deployments' own messages, which hold the constructor's error; else the application's."""
    parts = [clean_message(str(part["message"])) for part in deployments if part.get("message")]
    own = clean_message(str(app.get("message") or ""))
    if own and not (parts and _SAYS_NOTHING.fullmatch(own)):
        parts = [own, *(part for part in parts if part != own)]
    return clean_message("\n".join(parts))


def _replica(item: Mapping[str, Any]) -> ObservedReplica:
    return ObservedReplica(
        replica_id=str(item.get("replica_id", "")),
        state=str(item.get("state", "")),
        node_id=_text_or_none(item.get("node_id")),
        node_ip=_text_or_none(item.get("node_ip")),
    )


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None
