"""A real HTTP server on loopback that behaves as Ray's dashboard does for Serve, nodes, actors and logs.

`tests/contract/test_serve_api.py` holds it to the real one's behaviour.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from roost.testing.fake_apps import FakeApp
from roost.testing.fake_serve_http import FakeAnswer, FakeHttp, encode_json

NODE_ID = "f" * 56


class FakeServe:
    """A cluster without processes: what is PUT is told back, and moves on as the test says.

    Each GET of the applications is followed by one turn of the controller. Until then an application shows
    DEPLOYING after each PUT, also one that did not change, with its deployments as they were.

    Args:
        token: Needed by every call when given.
        instant: With its turn an application arrives where it is going: to run, to fail, to be gone. Else it
            takes only counts over, and `build`, `run`, `finish`, `fail` and the others move it.

    Attributes:
        puts: Bodies of all PUTs that were accepted, oldest first.
        broken: By import path, the error that keeps an application from starting.
        refused: By application name, why a PUT that has it is answered 400.
        imperative: Rows of applications that drivers made, by name: no PUT touches them.
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
        self.refused: dict[str, str] = {}
        self.imperative: dict[str, dict[str, Any]] = {}
        self.logs: dict[str, str] = {}
        self.nodes: list[dict[str, Any]] = [node_row(NODE_ID)]
        self.actors: list[dict[str, Any]] = []
        self.delay_s = 0.0
        self._apps: dict[str, FakeApp] = {}
        self._options: dict[str, Any] = {}
        self._capacity: float | None = None
        self._refusals: list[FakeAnswer | None] = []
        self._numbers = itertools.count(1)
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

    def build(self, name: str) -> None:
        """The code of an application is loaded: its replicas begin to start, without a node yet."""
        with self._lock:
            self._apps[name].build()

    def fail_build(self, name: str, message: str) -> None:
        """The code of an application cannot be loaded."""
        with self._lock:
            self._apps[name].fail_build(message)

    def run(self, name: str) -> None:
        """The replicas that start are up; those of an older version, and those too many, begin to stop."""
        with self._lock:
            self._apps[name].run()

    def finish(self, name: str) -> None:
        """Let an application arrive where it was going: DEPLOYING to RUNNING, DELETING to gone."""
        with self._lock:
            self._finish(name)

    def fail(self, name: str, message: str) -> None:
        """Let the constructor of an application raise `message`; replicas of an older version serve on."""
        with self._lock:
            self._apps[name].fail(message)

    def crash(self, name: str, message: str = "The replica died.") -> None:
        """Let the replicas of an application die: it is UNHEALTHY until those in their place run."""
        with self._lock:
            self._apps[name].crash(message)

    def scale(self, name: str, count: int) -> None:
        """Let the load of an application ask for so many replicas."""
        with self._lock:
            self._apps[name].scale(count)

    def wake(self, name: str) -> None:
        """Let a request come for an application that is scaled to zero."""
        self.scale(name, 1)

    def set_status(self, name: str, status: str, message: str = "") -> None:
        """Show a status of Ray's until the application moves; `message` is its deployment's own."""
        with self._lock:
            self._apps[name].script(status, message)

    def lose(self, *names: str) -> None:
        """Forget these applications, as a cluster does that restarts; without names all, and Serve itself."""
        with self._lock:
            for name in names or list(self._apps):
                del self._apps[name]
            if not names:
                self._options, self._capacity = {}, None

    def status(self, name: str) -> str | None:
        """The status that a GET would show of an application; None when there is none."""
        with self._lock:
            app = self._apps.get(name)
            return None if app is None else app.status

    def _finish(self, name: str) -> None:
        app = self._apps[name]
        if app.config is None:
            del self._apps[name]
        elif app.config["import_path"] in self.broken:
            app.fail(self.broken[app.config["import_path"]])
        else:
            app.finish()

    def _turn(self) -> None:
        """One turn of the controller."""
        for name, app in list(self._apps.items()):
            app.turn()
            if self.instant and not (app.config is not None and app.is_settled):
                self._finish(name)

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
                details = encode_json(self._details())  # under the lock
                self._turn()
                return FakeAnswer(200, details)
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
            "applications": {name: app.shown() for name, app in self._apps.items()} | self.imperative,
            "target_capacity": self._capacity,
        }
        if self._options:
            details |= self._options
            details["controller_health_metrics"] = {"timestamp": time.time()}  # as Ray's, never the same
            details["proxies"] = {
                row["node_id"]: {"node_id": row["node_id"], "status": "HEALTHY"} for row in self.nodes
            }
        return details

    def _put(self, body: Any) -> FakeAnswer:
        wrong = _what_is_wrong(body)
        if wrong:
            return FakeAnswer(400, wrong)
        wanted = {config.get("name", "default"): config for config in body["applications"]}
        for name in sorted(self.refused.keys() & wanted.keys()):
            return FakeAnswer(400, self.refused[name])
        self.puts.append(body)
        if not self._options:
            http = {"host": "0.0.0.0", "port": 8000, **body.get("http_options", {})}  # noqa: S104 - Ray's default
            self._options = {
                "proxy_location": body.get("proxy_location", "EveryNode"),
                "http_options": http,
            }
        self._capacity = body.get("target_capacity")
        for name in self._apps.keys() - wanted.keys():
            self._apps[name].delete()
        for name, config in wanted.items():
            if name not in self._apps:
                self._apps[name] = FakeApp(name, lambda: f"r{next(self._numbers)}", NODE_ID)
            self._apps[name].put(config)
        return FakeAnswer(200, "")

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
