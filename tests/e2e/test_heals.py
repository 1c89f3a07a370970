"""Parts of Ray are killed under load; what is recorded comes back by itself.

The server and the whole Ray are killed in `test_kill_server.py`, every part in `bench/reliability.py`.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

import roost
from roost.errors import EngineUnavailable
from roost.testing.ray_parts import controller_pid, running_replicas
from roost.testing.server_process import ServerProcess, wait_until
from roost.testing.spotting import spotting

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

TIMEOUT_S = 120.0
KEY = roost.DeploymentKey("spotter", "heals", "imported")


def test_a_killed_controller_and_a_killed_replica(at: ServerProcess, project: Project) -> None:
    roost.register_model(project.load("spotter").Spotter, KEY.family, KEY.suffix)
    deployment = roost.deploy_model(KEY.family, KEY.suffix, "imported", wait=True, timeout=240)
    try:
        _kill_controller(at, deployment)
        _kill_replica(at, deployment)
    finally:
        roost.undeploy_model(KEY)


def _kill_controller(at: ServerProcess, deployment: roost.Deployment) -> None:
    """Nobody notices: neither callers by either route nor those who ask how it stands."""
    before = at.ray_details()
    killed = controller_pid(before)
    assert killed is not None
    phases: set[str] = set()

    def is_back() -> bool:
        phases.add(roost.model_serving_status(KEY).phase)
        try:
            details = at.ray_details()
        except EngineUnavailable:  # without a controller Ray has no answer
            return False
        return controller_pid(details) not in (None, killed) and bool(running_replicas(details, KEY.app_name))

    with spotting(deployment, at.url) as calls:
        os.kill(killed, signal.SIGKILL)
        wait_until(is_back, TIMEOUT_S, "another controller, with the replicas")
    assert calls.failures == []
    assert phases == {"running"}
    assert len(calls.answered) == 1
    assert running_replicas(at.ray_details(), KEY.app_name) == running_replicas(before, KEY.app_name)


def _kill_replica(at: ServerProcess, deployment: roost.Deployment) -> None:
    """Another takes its place. Meanwhile requests wait or are told to come back; one may be cut."""
    (killed,) = running_replicas(at.ray_details(), KEY.app_name).values()
    with spotting(deployment, at.url) as calls:
        wait_until(lambda: len(calls.answered) == 1, TIMEOUT_S, "an answer")
        os.kill(killed, signal.SIGKILL)
        wait_until(lambda: len(calls.answered) == 2, TIMEOUT_S, "an answer of another replica")
        wait_until(lambda: roost.model_serving_status(KEY).phase == "running", TIMEOUT_S, "running")
    assert {failure.status for failure in calls.gateway.failures} <= {503}
    may_have_run = [failure for failure in calls.gateway.failures if not failure.retry_after]
    assert len(may_have_run) <= 1, may_have_run
    assert len(calls.own.failures) <= 1, calls.own.failures
