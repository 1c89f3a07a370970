"""Logs of an application's replicas, through the dashboard's log API."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from roost.engine.ansi import strip_ansi
from roost.engine.serve_api import ServeApi
from roost.errors import InternalError, RoostError


@dataclass(frozen=True, slots=True)
class _Replica:
    name: str
    node_id: str
    filename: str


def replica_log(serve: ServeApi, app_name: str, tail: int = 200) -> str:
    """The last `tail` lines of each replica's log, living replicas first, then those that died lately.

    Terminal escapes are stripped. With several replicas each part starts with `==> replica <==`.
    Empty when Ray has no such application or no replica has started yet.

    Raises:
        EngineUnavailable: Ray does not answer, or refuses the token.
    """
    apps = serve.get().get("applications")
    app = apps.get(app_name) if isinstance(apps, Mapping) else None
    replicas = list(_replicas(app)) if isinstance(app, Mapping) else []
    parts = [(replica.name, _tail(serve, replica, tail)) for replica in replicas]
    if len(parts) == 1:
        return parts[0][1]
    return "\n".join(f"==> {name} <==\n{text}" for name, text in parts)


def _replicas(app: Mapping[str, Any]) -> Iterator[_Replica]:
    for deployment in (app.get("deployments") or {}).values():
        for kind in ("replicas", "recent_dead_replicas"):
            for replica in deployment.get(kind) or ():
                path, node = replica.get("log_file_path"), replica.get("node_id")
                if path and node:
                    yield _Replica(str(replica.get("replica_id")), node, str(path).lstrip("/"))


def _tail(serve: ServeApi, replica: _Replica, lines: int) -> str:
    query = {"node_id": replica.node_id, "filename": replica.filename, "lines": str(lines)}
    try:
        response = serve.dashboard.get("/api/v0/logs/file", query)
    except InternalError as error:
        return _unread(replica, error)
    except RoostError as error:
        # Ray answers 500 for a file that is not there (yet); an unreachable Ray fails the whole call.
        if "answer" not in error.context:
            raise
        return _unread(replica, error)
    return strip_ansi(response.text)


def _unread(replica: _Replica, error: RoostError) -> str:
    return f"[the log {replica.filename} cannot be read: {error.message}]\n"
