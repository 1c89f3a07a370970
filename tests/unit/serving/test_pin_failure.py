from __future__ import annotations

import textwrap

import pytest

from roost.serving.observed import clean_message
from roost.serving.pin_failure import pin_failure

UV = """
Using Python 3.11.7 environment at: /tmp/ray/session_1/runtime_resources/uv/ab/virtualenv
error: No solution found when resolving dependencies
  cause: Because there is no version of tiny-pinned==9.9 and you require tiny-pinned==9.9, we can conclude \
that your requirements are unsatisfiable.

hint: Packages were unavailable because the network was disabled.
"""
TOLD = """\
The pins of the bundle cannot be installed. uv says:
error: No solution found when resolving dependencies
cause: Because there is no version of tiny-pinned==9.9 and you require tiny-pinned==9.9, we can conclude \
that your requirements are unsatisfiable.
hint: Packages were unavailable because the network was disabled."""


def of_ray(command: list[str], said: str, end: str = "") -> str:
    """What Serve says when a command of its agent failed."""
    error = (
        "Run cmd[9] failed with the following details.\n"
        f"Command '{command}' returned non-zero exit status 1.\n"
        f"Last 50 lines of stdout:\n{textwrap.indent(said.strip(), '    ')}"
    )
    trace = (
        "Traceback (most recent call last):\n"
        '  File "/ray/_private/runtime_env/agent/runtime_env_agent.py", line 391, in _create_runtime_env\n'
        f"ray._private.runtime_env.utils.SubprocessCalledProcessError: {error}\n{end}"
    )
    return (
        "Runtime env setup for app 'f__s__r' failed:\nTraceback (most recent call last):\n"
        f"ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment.\n{trace}"
    )


INSTALL = ["/v/bin/python", "-m", "uv", "pip", "install", "-r", "/v/requirements.txt", "--no-cache"]


def test_uv_is_quoted() -> None:
    assert pin_failure(of_ray(INSTALL, UV)) == TOLD
    assert clean_message(of_ray(INSTALL, UV)) == TOLD


def test_what_follows_is_not_uvs() -> None:
    assert pin_failure(of_ray(INSTALL, UV, end="\nThe deployment failed to start.\n")) == TOLD


@pytest.mark.parametrize(
    "message",
    [
        "",
        "roost.errors.ModelDeployFailed: the constructor raised ValueError: uv pip install",
        of_ray(["/v/bin/python", "-m", "uv", "pip", "check"], UV),
        of_ray(["/v/bin/python", "-m", "pip", "install", "uv"], "no network"),
        textwrap.indent(UV, "    "),
    ],
)
def test_of_anything_else_nothing_is_said(message: str) -> None:
    assert pin_failure(message) is None
