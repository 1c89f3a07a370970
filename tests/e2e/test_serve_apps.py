"""Serve-apps: configs, redeploys, scaling, updates and failures of one model's deployments."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

import roost
from roost.client import control_calls
from roost.errors import ModelDeployFailed, ModelNotDeployed
from roost.sdk.connection import current_client
from roost.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.e2e.conftest import Project, Ran

TIMEOUT_S = 240
FRENCH = {"word": "Bonjour"}


def get(deployment: roost.Deployment, path: str) -> Any:
    return httpx2.get(f"{deployment.url}{path}", timeout=30).raise_for_status().json()


@pytest.fixture
def greeter(at: ServerProcess, project: Project, request: pytest.FixtureRequest) -> Iterator[str]:
    """A registered serve-app; its suffix. All its deployments are removed after the test."""
    suffix = request.node.name.replace("_", "-")[:60]
    roost.register_model(project.load("greeter").Greeter, "greeter", suffix)
    yield suffix
    for deployment in roost.list_deployed_models():
        if deployment.suffix == suffix:
            roost.undeploy_model(deployment.key)


def deploy(suffix: str, **options: Any) -> roost.Deployment:
    return roost.deploy_model("greeter", suffix, "imported", wait=True, timeout=TIMEOUT_S, **options)


def test_two_configs_are_two_deployments(greeter: str, cli: Callable[..., Ran]) -> None:
    plain, french = deploy(greeter), deploy(greeter, config=FRENCH)
    assert french.key.config_fingerprint == roost.deployment_key("f", "s", "r", FRENCH).config_fingerprint
    assert french.url == f"{plain.url}/{french.key.config_fingerprint}"
    assert get(plain, "/greet/Ray") == "Hello, Ray!"
    assert get(french, "/greet/Ray") == "Bonjour, Ray!"
    assert (plain.name, french.name) == (
        f"greeter/{greeter}",
        f"greeter/{greeter}@{french.key.config_fingerprint}",
    )
    assert roost.model_config(french.key) == FRENCH
    logs = cli("logs", str(plain.key), "-c", "word=Bonjour")
    assert (logs.code, "greets with Bonjour" in logs.out) == (0, True)


def test_a_redeploy_without_a_change_never_asks_ray(greeter: str, at: ServerProcess) -> None:
    before = deploy(greeter)
    ray = at.ray_application(before.key.app_name)
    pid = get(before, "/pid")
    for _ in range(3):
        again = deploy(greeter)
    redeployed = roost.redeploy_model(before.key)
    assert (again.generation, redeployed.generation) == (before.generation, before.generation)
    assert again.version == before.version
    assert get(again, "/pid") == pid
    after = at.ray_application(before.key.app_name)
    # Ray stamps every application of every PUT.
    assert after["last_deployed_time_s"] == ray["last_deployed_time_s"]


def test_undeploying_twice_is_clean(greeter: str, cli: Callable[..., Ran]) -> None:
    deployment = deploy(greeter)
    roost.undeploy_model(deployment.key)
    roost.undeploy_model(deployment.key)
    assert cli("undeploy", str(deployment.key)).code == 0
    with pytest.raises(ModelDeployFailed, match="is not deployed"):
        roost.wait_for_model_serving(deployment.key)
    _settled(deployment.key, _is_gone)
    assert deployment.key not in [each.key for each in roost.list_deployed_models()]
    with pytest.raises(ModelNotDeployed):
        roost.undeploy_model(roost.DeploymentKey("greeter", greeter, "never"))
    assert deploy(greeter).phase == "running"


def _is_gone(deployment: roost.Deployment) -> bool:
    return deployment.phase == "not_deployed"


def _settled(key: roost.DeploymentKey, is_so: Callable[[roost.Deployment], bool]) -> roost.Deployment:
    """The deployment once `is_so`; Ray drains an old replica for half a minute."""
    version: int | None = None
    for _ in range(30):
        call = control_calls.get_deployment(key, after_version=version, wait_s=5.0)
        seen = current_client().run(call)
        if is_so(seen):
            return seen
        version = seen.version
    raise AssertionError(seen)


def test_a_constructor_that_raises_is_shown_and_leaves_no_trace(
    greeter: str, cli: Callable[..., Ran]
) -> None:
    broken = {"broken": "you"}
    with pytest.raises(ModelDeployFailed, match="ValueError: no greeting for 'you'") as caught:
        deploy(greeter, config=broken)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("See `roost logs greeter/")
    key = roost.deployment_key("greeter", greeter, "imported", broken)
    assert "no greeting for 'you'" in "\n".join(roost.model_serving_messages(key))
    assert [each.phase for each in roost.list_deployed_models() if each.key == key] == ["failed"]

    told = cli("deployments", "show", str(key))
    assert (told.code, told.err) == (0, "")
    assert "ValueError: no greeting for 'you'" in told.out
    roost.undeploy_model(key)
    _settled(key, _is_gone)
    assert key not in [each.key for each in roost.list_deployed_models()]


def test_new_code_replaces_old_without_a_gap(
    at: ServerProcess, project: Project, tmp_path: Path, cli: Callable[..., Ran]
) -> None:
    """Saved again while deployed: the old one serves on until the redeploy, and through it."""
    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "text.txt").write_text("one")
    reader = project.load("reader").Reader
    saved = roost.save_model(weights, reader, "reader", "edition")
    where = ("reader", "edition", saved.run_name)
    deployment = roost.deploy_model(*where, wait=True, timeout=TIMEOUT_S)
    assert get(deployment, "/read") == ["first", "one"]
    with Caller(f"{deployment.url}/read") as caller:
        (weights / "text.txt").write_text("two")
        changed = project.edit("reader", '"first"', '"second"').Reader
        again = roost.save_model(weights, changed, "reader", "edition")
        assert again.bundle_fingerprint != saved.bundle_fingerprint
        assert again.digest != saved.digest
        assert get(deployment, "/read") == ["first", "one"]
        redeployed = roost.redeploy_model(deployment.key)
        assert redeployed.generation == deployment.generation + 1
        done = roost.wait_for_model_serving(deployment.key, timeout=TIMEOUT_S)
        assert get(done, "/read") == ["second", "two"]
        drained = _settled(done.key, lambda seen: seen.replaced_bundle_fingerprint == "")
        assert (drained.phase, drained.message) == ("running", "")
    assert caller.failures == []
    assert caller.answers <= {'["first","one"]', '["second","two"]'}
    assert (roost.load_model(*where) / "text.txt").read_text() == "two"
    shown = cli("models", "show", f"reader/edition/{saved.run_name}")
    assert again.bundle_fingerprint in shown.out
    roost.undeploy_model(deployment.key)


class Caller:
    """Calls one URL without a pause; keeps what it heard."""

    def __init__(self, url: str) -> None:
        self.answers: set[str] = set()
        self.failures: list[str] = []
        self._url = url
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Caller:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        with httpx2.Client(timeout=30) as client:
            while not self._stopping.wait(0.02):
                try:
                    answer = client.get(self._url)
                except httpx2.HTTPError as error:
                    self.failures.append(repr(error))
                    continue
                if answer.status_code == 200:
                    self.answers.add(answer.text)
                else:
                    self.failures.append(f"{answer.status_code} {answer.text[:200]}")
