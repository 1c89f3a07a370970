"""How one application of `FakeServe` moves: as Ray Serve's controller moves it, but only when told to."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

_CODE: Final = ("import_path", "args", "runtime_env")


@dataclass
class FakeReplica:
    """One replica; `version` is that of the code and the actor options it was started with."""

    replica_id: str
    version: str
    state: str = "STARTING"
    node_id: str | None = None
    started_at: float = field(default_factory=time.time)


class FakeApp:
    """One application.

    Between a PUT and the controller's next turn it shows DEPLOYING, and otherwise what it was before.
    A change of its code is built first; meanwhile it lists no deployment, and the old replicas serve.

    Args:
        new_id: Gives the ids of replicas.
    """

    def __init__(self, name: str, new_id: Callable[[], str], node_id: str) -> None:
        self.name = name
        self.config: dict[str, Any] | None = None
        self.building = False
        self.replicas: list[FakeReplica] = []
        self._new_id = new_id
        self._node_id = node_id
        self._target = 0
        self._told = False  # a PUT came, and no turn of the controller since
        self._pending = False  # that PUT changed what runs
        self._build_error = ""
        self._status, self._trigger, self._message = "UPDATING", "CONFIG_UPDATE_STARTED", ""
        self._scripted = ""
        self._deployed_at = 0.0

    def put(self, config: dict[str, Any]) -> None:
        """A PUT came that has it."""
        before, self.config = self.config, config
        self._told, self._scripted = True, ""
        if before == config:
            return
        self._deployed_at = time.time()
        if before is None or _parts(before, _CODE) != _parts(config, _CODE):
            self.building, self._build_error = True, ""
        else:
            self._pending = True

    def delete(self) -> None:
        """A PUT came that leaves it out."""
        self.config, self._scripted, self.replicas = None, "", []

    def turn(self) -> None:
        """What the controller does in no time: it takes over a new count, a new pace, new actor options."""
        self._told = False
        if self._pending and self.config is not None and not self.building:
            self._retarget()
        self._pending = False

    def build(self) -> None:
        """The build is done, and replicas of the new version begin to start, without a node yet."""
        self.turn()
        if self.building:
            self.building = False
            self._retarget()

    def fail_build(self, message: str) -> None:
        """The code cannot be imported; what ran before goes on."""
        self.turn()
        self.building, self._build_error = False, message

    def run(self) -> None:
        """What starts is up; what is too many, or of an older version, begins to stop."""
        self.build()
        self._scripted = ""
        for replica in self.replicas:
            if replica.state == "STARTING":
                replica.state, replica.node_id = "RUNNING", self._node_id
            if replica.version != self._version():
                replica.state = "STOPPING"
        self._settle()

    def finish(self) -> None:
        """It arrives where it was going: all run, and what was to stop has stopped."""
        self.run()
        self.replicas = [replica for replica in self.replicas if replica.state != "STOPPING"]
        self._settle()

    def fail(self, message: str) -> None:
        """The constructor of the new version raises; replicas of an older one go on serving."""
        self.build()
        self.replicas = [replica for replica in self.replicas if replica.state == "RUNNING"]
        self._status, self._trigger, self._message = "DEPLOY_FAILED", "REPLICA_STARTUP_FAILED", message

    def crash(self, message: str) -> None:
        """Its replicas die; others start in their place."""
        self.replicas = [FakeReplica(self._new_id(), self._version()) for _ in range(self._target)]
        self._status, self._trigger, self._message = "UNHEALTHY", "HEALTH_CHECK_FAILED", message

    def scale(self, count: int) -> None:
        """Load decides for so many replicas. The application stays RUNNING."""
        self._status = "UPSCALING" if count > self._target else "DOWNSCALING"
        self._target, self._trigger = count, "AUTOSCALING"
        self._match_target()

    def script(self, status: str, message: str) -> None:
        """Show this status until the next PUT, or until it is told to move."""
        self._scripted, self._message = status, message

    @property
    def status(self) -> str:
        """The status of the application, as Ray names it."""
        if self.config is None:
            return "DELETING"
        if self._scripted:
            return self._scripted
        if self._told or self.building:
            return "DEPLOYING"
        if self._build_error:
            return "DEPLOY_FAILED"
        if self._trigger == "AUTOSCALING":
            return "RUNNING"
        return {"HEALTHY": "RUNNING", "UPDATING": "DEPLOYING"}.get(self._status, self._status)

    @property
    def is_settled(self) -> bool:
        """Whether nothing moves."""
        return not self._told and not self.building and self._status in ("HEALTHY", "DEPLOY_FAILED")

    def shown(self) -> dict[str, Any]:
        """What a GET shows of it."""
        status = self.status
        details: dict[str, Any] = {
            "name": self.name,
            "route_prefix": None if self.config is None else self.config.get("route_prefix", "/"),
            "docs_path": None,
            "status": status,
            "message": self._app_message(status),
            "last_deployed_time_s": self._deployed_at,
            "source": "declarative",
        }
        if self.config is None:
            return details
        details["deployed_app_config"] = self.config
        details["deployments"] = {} if self.building or self._build_error else {"App": self._deployment()}
        return details

    def _app_message(self, status: str) -> str:
        if status == "DEPLOY_FAILED":
            return self._build_error or "Failed to update the deployments ['App']."
        return "The deployments ['App'] are UNHEALTHY." if status == "UNHEALTHY" else ""

    def _deployment(self) -> dict[str, Any]:
        overrides = _overrides(self.config)
        status = self._scripted if self._scripted in ("UNHEALTHY", "DEPLOY_FAILED") else self._status
        return {
            "name": "App",
            "status": status,
            "status_trigger": self._trigger,
            "message": self._message,
            "deployment_config": {**_DEFAULTS, **overrides},
            "target_num_replicas": self._target,
            "required_resources": {"CPU": overrides.get("ray_actor_options", {}).get("num_cpus", 1)},
            "replicas": [self._replica(replica) for replica in self.replicas],
            "recent_dead_replicas": [],
        }

    def _replica(self, replica: FakeReplica) -> dict[str, Any]:
        placed = {"node_id": replica.node_id, "node_ip": "127.0.0.1", "pid": 1} if replica.node_id else {}
        return {
            **placed,
            "actor_name": f"SERVE_REPLICA::{self.name}#App#{replica.replica_id}",
            "log_file_path": f"/serve/replica_{self.name}.log",
            "replica_id": replica.replica_id,
            "state": replica.state,
            "start_time_s": replica.started_at,
        }

    def _retarget(self) -> None:
        self._target = _initial(_overrides(self.config))
        self._status, self._trigger, self._message = "UPDATING", "CONFIG_UPDATE_STARTED", ""
        self._match_target()

    def _match_target(self) -> None:
        """Start what is missing and stop what is too many; with surge, an older version goes on meanwhile."""
        version = self._version()
        in_place = _overrides(self.config).get("max_surge_percent", 0) == 0
        mine = [each for each in self.replicas if each.version == version and each.state != "STOPPING"]
        mine.sort(key=lambda replica: replica.state != "RUNNING")
        for replica in self.replicas:
            if replica.version != version and (in_place or self._target == 0):
                replica.state = "STOPPING"
        for replica in mine[self._target :]:
            replica.state = "STOPPING"
        missing = self._target - len(mine)
        self.replicas += [FakeReplica(self._new_id(), version) for _ in range(missing)]
        self._settle()

    def _settle(self) -> None:
        wanted = [each for each in self.replicas if each.version == self._version()]
        if len(wanted) == len(self.replicas) == self._target and all(
            replica.state == "RUNNING" for replica in wanted
        ):
            self._status, self._trigger, self._message = "HEALTHY", "CONFIG_UPDATE_COMPLETED", ""

    def _version(self) -> str:
        assert self.config is not None
        options = _overrides(self.config).get("ray_actor_options")
        return json.dumps([_parts(self.config, _CODE), options], sort_keys=True)


def _parts(config: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    return [config.get(name) for name in names]


def _overrides(config: dict[str, Any] | None) -> dict[str, Any]:
    overrides = (config or {}).get("deployments") or [{}]
    first: dict[str, Any] = overrides[0]
    return first


def _initial(overrides: dict[str, Any]) -> int:
    scale = overrides.get("autoscaling_config") or {}
    count = scale.get("initial_replicas", scale.get("min_replicas", overrides.get("num_replicas", 1)))
    return count if isinstance(count, int) else 1


_DEFAULTS: Final[dict[str, Any]] = {
    "name": "App",
    "max_ongoing_requests": 5,
    "max_queued_requests": -1,
    "backpressure_config": {"status_code": 503, "retry_after_s": None},
    "user_config": None,
    "graceful_shutdown_wait_loop_s": 2.0,
    "graceful_shutdown_timeout_s": 20.0,
    "health_check_period_s": 10.0,
    "health_check_timeout_s": 30.0,
    "request_router_config": {
        "request_router_class": "ray.serve._private.request_router:PowerOfTwoChoicesRequestRouter",
        "request_router_kwargs": {},
        "request_routing_stats_period_s": 10.0,
        "request_routing_stats_timeout_s": 30.0,
        "initial_backoff_s": 0.025,
        "backoff_multiplier": 2.0,
        "max_backoff_s": 0.5,
    },
    "rolling_update_percentage": 0.2,
}
