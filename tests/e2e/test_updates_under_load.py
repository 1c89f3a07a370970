"""One deployment is updated, well and badly, and scaled, by hand and by load, while it is called.

Each test leaves the deployment to the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING

import httpx2
import pytest

import roost
from roost.client import control_calls
from roost.errors import ModelDeployFailed
from roost.sdk.connection import current_client
from roost.testing.ray_parts import running_replicas
from roost.testing.request_loop import RequestLoop
from roost.testing.server_process import ServerProcess, wait_until
from roost.testing.spotting import ROUTE, detection_body, said, spotting

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

TIMEOUT_S = 240.0
KEY = roost.DeploymentKey("spotter", "updates", "imported")
BY_LOAD = roost.deployment_key("spotter", "updates", "imported", {"takes_s": "0.2"})


@pytest.fixture(scope="module", autouse=True)
def _cleared(server: ServerProcess) -> Iterator[None]:
    yield
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOST_URL", server.url)
        for key in (KEY, BY_LOAD):
            roost.undeploy_model(key)


def register(module: object) -> str:
    """Save the model as it is now; the fingerprint of its bundle."""
    spotter = module.Spotter  # type: ignore[attr-defined]
    return roost.register_model(spotter, KEY.family, KEY.suffix).bundle_fingerprint


def shown(key: roost.DeploymentKey, is_so: Callable[[roost.Deployment], bool]) -> roost.Deployment:
    """The deployment once `is_so`."""
    version: int | None = None
    for _ in range(60):
        seen = current_client().run(control_calls.get_deployment(key, after_version=version, wait_s=5.0))
        if is_so(seen):
            return seen
        version = seen.version
    raise AssertionError(seen)


def running(at: ServerProcess, key: roost.DeploymentKey) -> dict[str, int]:
    """Ray's running replicas: pid by id."""
    return running_replicas(at.ray_details(), key.app_name)


def test_a_bad_update_and_a_good_one(at: ServerProcess, project: Project) -> None:
    first = register(project.load("spotter"))
    v1 = roost.deploy_model(KEY.family, KEY.suffix, "imported", name="updated", wait=True, timeout=TIMEOUT_S)
    with spotting(v1, at.url) as calls:
        broken = register(project.edit("spotter", "= EDITION", "= None.edition"))
        roost.redeploy_model(KEY)
        rolling = shown(KEY, lambda seen: seen.observed_generation == 2 or seen.phase == "failed")
        assert (rolling.bundle_fingerprint, rolling.replaced_bundle_fingerprint) == (broken, first)
        with pytest.raises(ModelDeployFailed, match="'NoneType' object has no attribute 'edition'"):
            roost.wait_for_model_serving(KEY, timeout=TIMEOUT_S)
        failed = shown(KEY, lambda seen: seen.phase == "failed")
        assert failed.message.startswith("The replicas of the version before go on serving.")
        assert (failed.bundle_fingerprint, failed.replaced_bundle_fingerprint) == (broken, first)

        assert register(project.edit("spotter", "= None.edition", "= EDITION")) == first
        roost.redeploy_model(KEY)
        back = roost.wait_for_model_serving(KEY, timeout=TIMEOUT_S)
        assert (back.phase, back.message, back.bundle_fingerprint) == ("running", "", first)
        assert back.replaced_bundle_fingerprint == ""
        assert len(calls.answered) == 1, "the same process all along"

        third = register(project.edit("spotter", '"first"', '"third"'))
        assert roost.redeploy_model(KEY).replaced_bundle_fingerprint == first
        done = roost.wait_for_model_serving(KEY, timeout=TIMEOUT_S)
        assert (
            httpx2.post(f"{done.url}{ROUTE}", json=detection_body("any")).json()["data"]["classes"][0]
            == "third"
        )
        drained = shown(KEY, lambda seen: seen.replaced_bundle_fingerprint == "")
        assert (drained.phase, drained.message, drained.bundle_fingerprint) == ("running", "", third)
    assert calls.failures == []
    assert sorted(each.partition(" ")[0] for each in calls.answered) == ["first", "third"]


def test_another_count_restarts_nothing(at: ServerProcess) -> None:
    one = running(at, KEY)
    with spotting(shown(KEY, lambda _: True), at.url) as calls:
        for count in (3, 1):
            seen = roost.deploy_model(
                KEY.family, KEY.suffix, "imported", count, wait=True, timeout=TIMEOUT_S, name="updated"
            )
            counted = running(at, KEY)
            assert (seen.phase, len(counted)) == ("running", count)
            if count == 3:
                three = counted
                assert one.items() <= three.items()
        assert counted.items() <= three.items()
        shown(KEY, lambda seen: len(seen.replicas) == 1)
    assert calls.failures == []
    assert calls.answered <= {f"third {pid}" for pid in three.values()}


def test_load_decides(at: ServerProcess) -> None:
    """More replicas under load, one when it is quiet, none when nobody calls; a call wakes it."""
    deployment = roost.deploy_model(
        KEY.family,
        KEY.suffix,
        "imported",
        wait=True,
        timeout=TIMEOUT_S,
        config={"takes_s": "0.2"},
        autoscaling={
            "min_replicas": 0,
            "max_replicas": 2,
            "target_ongoing_requests": 2,
            "upscale_delay_s": 0.5,
            "downscale_delay_s": 2,
            "downscale_to_zero_delay_s": 4,
        },
    )
    with spotting(deployment, at.url) as calls:
        with ExitStack() as load:
            body = detection_body(deployment.name)
            loops = [
                load.enter_context(RequestLoop(f"{deployment.url}{ROUTE}", body, who=said)) for _ in range(6)
            ]
            wait_until(lambda: len(running(at, BY_LOAD)) == 2, TIMEOUT_S, "two replicas")
            two = running(at, BY_LOAD)
        wait_until(lambda: len(running(at, BY_LOAD)) == 1, TIMEOUT_S, "one replica")
        assert running(at, BY_LOAD).items() <= two.items()
    assert calls.failures == []
    assert [failure for loop in loops for failure in loop.failures] == []
    asleep = shown(BY_LOAD, lambda seen: seen.phase == "paused")
    assert running(at, BY_LOAD) == {}
    with spotting(asleep, at.url) as herd:
        woken = shown(BY_LOAD, lambda seen: seen.phase == "running")
        wait_until(lambda: bool(herd.answered), TIMEOUT_S, "an answer")
    assert herd.failures == []
    # Both callers were held: Ray may wake one replica for each.
    assert len(herd.answered) in (1, 2)
    assert woken.generation == deployment.generation
