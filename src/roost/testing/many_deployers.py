"""Processes that deploy and undeploy at the same moment, and whether all sides agree afterwards.

Each is this module run with its steps as JSON; it begins when it gets a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, Literal

import httpx2

import roost
from roost.errors import ModelNotDeployed
from roost.testing.server_process import ServerProcess, plain_environment

Step = tuple[Literal["deploy", "undeploy"], str]
"""What to do with the model of a suffix. It is deployed with the config `{"word": suffix}`."""

FAMILY: Final = "many"
_ANSWER_TIMEOUT_S: Final = 30.0
_POLL_S: Final = 0.2


def key_of(suffix: str) -> roost.DeploymentKey:
    """The deployment of a suffix."""
    return roost.deployment_key(FAMILY, suffix, roost.IMPORTED, {"word": suffix})


def at_once(server_url: str, scripts: Iterable[Sequence[Step]], *, timeout_s: float) -> float:
    """Run a process for each script, all from the same moment; the seconds until the last was done.

    Raises:
        RuntimeError: with what a process that failed has written.
    """
    environment = plain_environment(ROOST_URL=server_url)
    processes = [_start(script, environment) for script in scripts]
    try:
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        began_s = time.monotonic()
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        for process in processes:
            _, errors = process.communicate(timeout=timeout_s)
            if process.returncode:
                raise RuntimeError(f"{process.args!r} ended with {process.returncode}:\n{errors}")
        return time.monotonic() - began_s
    finally:
        for process in processes:
            process.kill()
            process.wait()


def wait_for_agreement(server: ServerProcess, suffixes: Collection[str], *, timeout_s: float) -> None:
    """Return once `disagreements` finds none; AssertionError with what it found last."""
    deadline = time.monotonic() + timeout_s
    for suffix in suffixes:
        roost.wait_for_model_serving(key_of(suffix), timeout=deadline - time.monotonic())
    while found := disagreements(server, suffixes):
        assert time.monotonic() < deadline, "\n".join(found)
        time.sleep(_POLL_S)


def disagreements(server: ServerProcess, suffixes: Iterable[str]) -> list[str]:
    """Where records, Ray and answers differ from this: exactly these deployments, all running as wanted.

    Asks the server that the SDK is pointed at.
    """
    wanted = {key_of(suffix): suffix for suffix in suffixes}
    records = {each.key: each for each in roost.list_deployed_models() if each.family == FAMILY}
    apps = _applications(server.ray_details())
    names = {key.app_name: key for key in wanted}
    found = [f"{key} has no record" for key in wanted.keys() - records.keys()]
    found += [f"{key} has a record" for key in records.keys() - wanted.keys()]
    found += [f"Ray has no {name}" for name in names.keys() - apps.keys()]
    found += [f"Ray has {name}" for name in apps.keys() - names.keys()]
    for key in wanted.keys() & records.keys():
        record = records[key]
        if (record.phase, record.observed_generation) != ("running", record.generation):
            seen = f"{record.observed_generation} of {record.generation} seen"
            found.append(f"{key} is {record.phase} ({seen}): {record.message}")
        app = apps.get(key.app_name, {})
        config = (app.get("deployed_app_config") or {}).get("args", {}).get("config")
        if (app.get("status"), config) != ("RUNNING", {"word": wanted[key]}):
            found.append(f"Ray shows {key} as {app.get('status')} with {config}")
    return found or [
        line for key, suffix in wanted.items() for line in _wrong_answer(records[key].url, suffix)
    ]


def _start(script: Sequence[Step], environment: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__, json.dumps(script)],
        env=dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _applications(details: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: app for name, app in details["applications"].items() if name.split("__")[0] == FAMILY}


def _wrong_answer(url: str, suffix: str) -> list[str]:
    try:
        answer = httpx2.get(f"{url}/greet/you", timeout=_ANSWER_TIMEOUT_S, trust_env=False)
    except httpx2.HTTPError as error:
        return [f"{url} does not answer: {error!r}"]
    return [] if answer.text == f'"{suffix}, you!"' else [f"{url} answers {answer.text[:200]!r}"]


def _main() -> None:
    steps: list[Step] = json.loads(sys.argv[1])
    # Loaded before the start is given, so that all begin at the same moment.
    deploy, undeploy = roost.deploy_model, roost.undeploy_model
    print("ready", flush=True)
    sys.stdin.readline()
    for step, suffix in steps:
        if step == "deploy":
            deploy(FAMILY, suffix, roost.IMPORTED, config={"word": suffix})
        else:
            with suppress(ModelNotDeployed):
                undeploy(key_of(suffix))


if __name__ == "__main__":
    _main()
