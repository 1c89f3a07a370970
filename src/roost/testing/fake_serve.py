"""A real HTTP server on loopback that behaves as Ray's dashboard does for Serve, nodes and logs.

`tests/contract/test_serve_api.py` holds it to the real one's behaviour.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from roost.testing.fake_serve_http import FakeAnswer, FakeHttp

NODE_ID = "f" * 56


class FakeServe:
    """A cluster without processes: what is PUT is told back, and moves on as the test says.

    Args:
        token: Needed by every call when given.
        instant: Applications run as soon as they are PUT and go as soon as they are left out; else each
            stays DEPLOYING or DELETING until `finish`, `fail` or `set_status`.

    Attributes:
        puts: Bodies of all PUTs that were accepted, oldest first.
        broken: By import path, the error that keeps an application from starting.
        logs: By application name, what its replica's log says.
        nodes: Rows of the state API; change them at will.
        actors: The same of actors; replicas have none of their own accord.
        delay_s: Wait before each answer.
    """

    def __init__(self, *, token: str | None = None, instant: bool = True) -> None:
        self.token = token
        self.instant = instant
        self.puts: list[dict[str, Any]] = []
        self.broken: dict[str, str] = {}
        self.logs: dict[str, str] = {}
        self.nodes: list[dict[str, Any]] = [node_row(NODE_ID)]
        self.actors: list[dict[str, Any]] = []
        self.delay_s = 0.0
        self._apps: dict[str, dict[str, Any]] = {}
        self._options: dict[str, Any] = {}
        self._refusals: list[FakeAnswer | None] = []
        self._lock = threading.RLock()
        self._http = FakeHttp(self._answer)

    @property
    def url(self) -> str:
        """Its address; the same after `stop` and `start`."""
        return self._http.url

    @property
    def requests(self) -> list[tuple[str, str]]:
        """Method and path (with query) of every call, also of refused ones, oldest first."""
        return self._http.requests

    def start(self) -> FakeServe:
        """Listen; after `stop`, again on the same port."""
        self._http.start()
        return self

    def stop(self) -> None:
        """Stop listening: connections are refused until `start`. Applications stay."""
        self._http.stop()

    def __enter__(self) -> FakeServe:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def refuse(self, status: int, text: str = "scripted", *, times: int = 1) -> None:
        """Answer the next calls with `status`."""
        with self._lock:
            self._refusals += [FakeAnswer(status, text)] * times

    def cut(self, *, times: int = 1) -> None:
        """Close the connections of the next calls without an answer."""
        with self._lock:
            self._refusals += [None] * times

    def finish(self, name: str) -> None:
        """Let an application arrive where it was going: DEPLOYING to RUNNING, DELETING to gone."""
        with self._lock:
            if self._apps[name]["status"] == "DELETING":
                del self._apps[name]
            else:
                self.set_status(name, "RUNNING")

    def fail(self, name: str, message: str) -> None:
        """Let the constructor of an application raise `message`."""
        self.set_status(name, "DEPLOY_FAILED", message)

    def set_status(self, name: str, status: str, message: str = "") -> None:
        """Give an application a status of Ray's; `message` is its deployment's own."""
        with self._lock:
            app = self._apps[name]
            app["status"] = status
            app["message"] = "Failed to update the deployments ['App']." if message else ""
            running = status in ("RUNNING", "UNHEALTHY")
            app["deployments"] = {"App": _deployment(app, message, running=running)}

    def lose(self, *names: str) -> None:
        """Forget these applications, as a cluster does that restarts; without names all, and Serve itself."""
        with self._lock:
            for name in names or list(self._apps):
                del self._apps[name]
            if not names:
                self._options = {}

    def status(self, name: str) -> str | None:
        """The status of an application; None when there is none."""
        with self._lock:
            app = self._apps.get(name)
            return None if app is None else str(app["status"])

    def _answer(
        self, method: str, path: str, query: Mapping[str, str], token: str | None, body: Any
    ) -> FakeAnswer | None:
        if self.delay_s:
            time.sleep(self.delay_s)
        with self._lock:
            if self._refusals:
                return self._refusals.pop(0)
            if self.token is not None and token != self.token:
                return FakeAnswer(401, "Unauthorized: Invalid or missing authentication token")
            return self._route(method, path, query, body)

    def _route(self, method: str, path: str, query: Mapping[str, str], body: Any) -> FakeAnswer:
        match method, path:
            case "GET", "/api/serve/applications/":
                return FakeAnswer(200, self._details())
            case "PUT", "/api/serve/applications/":
                return self._put(body)
            case "GET", "/api/v0/nodes":
                return _rows(self.nodes)
            case "GET", "/api/v0/actors":
                return _rows(self.actors)
            case "GET", "/api/v0/logs/file":
                return self._log(query)
        return FakeAnswer(404, "404: Not Found")

    def _details(self) -> dict[str, Any]:
        details: dict[str, Any] = {
            "controller_info": {},
            "proxies": {},
            "applications": self._apps,
            "target_capacity": None,
        }
        if self._options:
            details |= self._options
            details["proxies"] = {
                row["node_id"]: {"node_id": row["node_id"], "status": "HEALTHY"} for row in self.nodes
            }
        return details

    def _put(self, body: Any) -> FakeAnswer:
        wrong = _what_is_wrong(body)
        if wrong:
            return FakeAnswer(400, wrong)
        self.puts.append(body)
        if not self._options:
            http = {"host": "0.0.0.0", "port": 8000, **body.get("http_options", {})}  # noqa: S104 - Ray's default
            self._options = {
                "proxy_location": body.get("proxy_location", "EveryNode"),
                "http_options": http,
            }
        wanted = {config.get("name", "default"): config for config in body["applications"]}
        for name in self._apps.keys() - wanted.keys():
            self.set_status(name, "DELETING")
            if self.instant:
                del self._apps[name]
        for name, config in wanted.items():
            self._deploy(name, config)
        return FakeAnswer(200, "")

    def _deploy(self, name: str, config: dict[str, Any]) -> None:
        known = self._apps.get(name)
        if known is not None and known["deployed_app_config"] == config and known["status"] != "DELETING":
            return
        self._apps[name] = {
            "name": name,
            "route_prefix": config.get("route_prefix", "/"),
            "docs_path": None,
            "last_deployed_time_s": time.time(),
            "deployed_app_config": config,
            "source": "declarative",
        }
        error = self.broken.get(config["import_path"])
        if error is not None:
            self.fail(name, error)
        else:
            self.set_status(name, "RUNNING" if self.instant else "DEPLOYING")

    def _log(self, query: Mapping[str, str]) -> FakeAnswer:
        for name, text in self.logs.items():
            if query.get("filename") == f"serve/replica_{name}.log":
                tail = text.splitlines(keepends=True)[-int(query.get("lines", "1000")) :]
                return FakeAnswer(200, "".join(tail))
        return FakeAnswer(500, f"File not found: {query.get('filename')}")


def node_row(
    node_id: str, *, alive: bool = True, name: str = "127.0.0.1", **resources: float
) -> dict[str, Any]:
    """A row of the state API's nodes; 2 CPUs unless `resources` say otherwise."""
    return {
        "node_id": node_id,
        "node_ip": "127.0.0.1",
        "is_head_node": node_id == NODE_ID,
        "state": "ALIVE" if alive else "DEAD",
        "node_name": name,
        "resources_total": {"CPU": 2.0, **resources},
        "labels": {"ray.io/node-id": node_id},
    }


def actor_row(node_id: str, *, state: str = "ALIVE", name: str = "", **resources: float) -> dict[str, Any]:
    """A row of the state API's actors that holds `resources`."""
    return {"state": state, "node_id": node_id, "name": name, "required_resources": resources}


def _rows(rows: list[dict[str, Any]]) -> FakeAnswer:
    found = {"total": len(rows), "result": rows}
    return FakeAnswer(200, {"result": True, "msg": "", "data": {"result": found}})


def _deployment(app: Mapping[str, Any], message: str, *, running: bool) -> dict[str, Any]:
    overrides = (app["deployed_app_config"].get("deployments") or [{}])[0]
    scale = overrides.get("autoscaling_config") or {}
    count = scale.get("initial_replicas", scale.get("min_replicas", overrides.get("num_replicas", 1)))
    count = count if isinstance(count, int) else 1
    replicas = [_replica(app["name"], index) for index in range(count if running else 0)]
    return {
        "name": "App",
        "status": "HEALTHY" if running else "DEPLOY_FAILED" if message else "UPDATING",
        "status_trigger": "CONFIG_UPDATE_COMPLETED" if running else "CONFIG_UPDATE_STARTED",
        "message": message,
        "deployment_config": {"name": "App", **overrides},
        "target_num_replicas": count,
        "required_resources": {"CPU": 1},
        "replicas": replicas,
        "recent_dead_replicas": [],
    }


def _replica(app_name: str, index: int) -> dict[str, Any]:
    return {
        "node_id": NODE_ID,
        "node_ip": "127.0.0.1",
        "log_file_path": f"/serve/replica_{app_name}.log",
        "replica_id": f"replica{index}",
        "state": "RUNNING",
        "pid": 1,
        "start_time_s": 0.0,
    }


def _what_is_wrong(body: Any) -> str:
    """Ray's reason to refuse a body; empty for a good one."""
    apps = body.get("applications") if isinstance(body, dict) else None
    if not isinstance(apps, list):
        return "ValidationError: applications\n  Field required"
    for app in apps:
        if not isinstance(app, dict) or not isinstance(app.get("import_path"), str):
            return "ValidationError: applications.0.import_path\n  Field required"
    for key in ("name", "route_prefix"):
        values = [app.get(key) for app in apps]
        if len(set(values)) < len(values):
            return f"ValidationError: Found duplicate application {key}s."
    return ""
