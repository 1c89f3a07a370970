"""Ray's statuses read as phases."""

import pytest

from roost.serving.phases import effective_status, phase_of


@pytest.mark.parametrize(
    ("status", "target", "running", "phase"),
    [
        ("NOT_STARTED", None, 0, "not_started"),
        ("DEPLOYING", None, 0, "deploying"),
        ("DEPLOYING", 1, 0, "deploying"),
        ("DEPLOYING", 3, 1, "deploying"),
        ("DEPLOYING", 1, 1, "running"),
        ("DEPLOYING", 0, 0, "deploying"),
        ("RUNNING", 1, 1, "running"),
        ("RUNNING", 3, 1, "running"),
        ("RUNNING", 1, 0, "deploying"),
        ("RUNNING", None, 0, "deploying"),
        ("RUNNING", 0, 0, "paused"),
        ("UNHEALTHY", 1, 1, "unhealthy"),
        ("UNHEALTHY", 1, 0, "unhealthy"),
        ("DEPLOY_FAILED", 1, 0, "failed"),
        ("DEPLOY_FAILED", 1, 1, "failed"),
        ("DELETING", None, 1, "deleting"),
        ("SOMETHING_NEW", 1, 0, "deploying"),
        ("", None, 0, "deploying"),
    ],
)
def test_phase_of(status: str, target: int | None, running: int, phase: str) -> None:
    assert phase_of(status, target=target, running=running) == phase


@pytest.mark.parametrize(
    ("app", "deployments", "effective"),
    [
        ("DEPLOYING", [], "DEPLOYING"),
        ("DEPLOYING", ["HEALTHY"], "DEPLOYING"),
        ("DEPLOYING", ["DEPLOY_FAILED"], "DEPLOY_FAILED"),
        ("DEPLOYING", ["HEALTHY", "UNHEALTHY"], "UNHEALTHY"),
        ("RUNNING", ["HEALTHY"], "RUNNING"),
        ("DELETING", ["DEPLOY_FAILED"], "DELETING"),
    ],
)
def test_the_flash_of_a_put_hides_no_failure(app: str, deployments: list[str], effective: str) -> None:
    assert effective_status(app, deployments) == effective
