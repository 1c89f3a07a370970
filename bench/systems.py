"""The systems that are compared: how each starts and where each answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import roost
from bench.bodies import bodies
from bench.load import call
from bench.processes import free_port, running
from bench.setup_peers import python_of
from roost.client import Client, control_calls
from roost.errors import ServerUnreachable, Unavailable

HERE = Path(__file__).resolve().parent
MODELS = HERE / "models"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a system serves one model, and what it calls it in the body."""

    url: str
    model: str

    def body(self, template: bytes) -> bytes:
        """The request body for this endpoint."""
        return template.replace(b'"MODEL"', f'"{self.model}"'.encode(), 1)


Endpoints = dict[str, Endpoint]
"""`noop` and `boxes`."""

System = Callable[[Path], "_Context"]
_Context = object


@contextmanager
def plain(logs: Path) -> Iterator[dict[str, Endpoints]]:
    """Plain FastAPI on uvicorn, one process."""
    port = free_port()
    command = [
        str(python_of("plain")),
        "-m",
        "uvicorn",
        "plain_app:app",
        "--port",
        str(port),
        "--no-access-log",
    ]
    endpoints = _by_path(f"http://127.0.0.1:{port}")
    with running(command, ready=_answers(endpoints), log=logs / "plain.log", env=_path(HERE / "peers")):
        yield {"uvicorn + FastAPI": endpoints}


@contextmanager
def bentoml(logs: Path) -> Iterator[dict[str, Endpoints]]:
    """BentoML, one worker."""
    port = free_port()
    command = [
        str(python_of("bentoml")),
        "-m",
        "bentoml",
        "serve",
        "bento_service:Bench",
        "--port",
        str(port),
    ]
    endpoints = _by_path(f"http://127.0.0.1:{port}")
    env = _path(HERE / "peers") | {"BENTOML_DO_NOT_TRACK": "1", "BENTOML_HOME": str(logs / "bentoml")}
    with running(command, ready=_answers(endpoints), log=logs / "bentoml.log", env=env):
        yield {"BentoML 1.4": endpoints}


@contextmanager
def litserve(logs: Path) -> Iterator[dict[str, Endpoints]]:
    """LitServe, one API server and one worker for each model."""
    endpoints: Endpoints = {}
    with ExitStack() as stack:
        for model in ("noop", "boxes"):
            port = free_port()
            endpoints[model] = Endpoint(f"http://127.0.0.1:{port}/{model}", model)
            command = [str(python_of("litserve")), str(HERE / "peers" / "litserve_app.py"), model, str(port)]
            log = logs / f"litserve-{model}.log"
            stack.enter_context(
                running(
                    command, ready=_answers({model: endpoints[model]}), log=log, env=_path(HERE / "peers")
                )
            )
        yield {"LitServe 0.2": endpoints}


@contextmanager
def pixano(logs: Path) -> Iterator[dict[str, Endpoints]]:
    """pixano-inference with its own Ray."""
    port = free_port()
    program = str(python_of("pixano").parent / "pixano-inference")
    command = [
        program,
        "--port",
        str(port),
        "--config",
        str(HERE / "peers" / "pixano_config.py"),
        "--num-gpus",
        "0",
    ]
    route = f"http://127.0.0.1:{port}/v1/inference/detection"
    endpoints = {model: Endpoint(route, model) for model in ("noop", "boxes")}
    # The whole folder of the environment first, so that its Ray finds its own Python.
    env = _path() | {
        "PATH": f"{python_of('pixano').parent}:{os.environ['PATH']}",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    with running(command, ready=_answers(endpoints), log=logs / "pixano.log", env=env):
        yield {"pixano-inference 0.7.1": endpoints}


@contextmanager
def roost_server(logs: Path) -> Iterator[dict[str, Endpoints]]:
    """Roost with its embedded Ray: the gateway route and the deployments' own URLs."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "roost.cli", "up", "--home", str(logs / "home"), "--port", str(port)]
    with running(command, ready=lambda: engine_ready(url), log=logs / "roost.log"):
        os.environ["ROOST_URL"] = url
        gateway, own = _deploy_models(url)
        yield {"Roost gateway": gateway, "Roost own URL": own}


def _deploy_models(url: str) -> tuple[Endpoints, Endpoints]:
    sys.path.insert(0, str(MODELS))
    from roost_models import BrightBox, Noop  # noqa: PLC0415  # a model's module, found beside the benchmark

    route = "/v1/inference/detection"
    gateway, own = {}, {}
    for name, servable in (("noop", Noop), ("boxes", BrightBox)):
        key = roost.register_model(servable, "bench", name).key
        deployment = roost.deploy_model(key.family, key.suffix, key.run_name, name=name, wait=True)
        gateway[name] = Endpoint(url + route, name)
        own[name] = Endpoint(deployment.url + route, name)
    return gateway, own


def engine_ready(url: str) -> None:
    with Client(url, max_retries=0) as client:
        try:
            state = client.run(control_calls.info()).engine.state
        except (ServerUnreachable, Unavailable) as error:
            raise OSError(str(error)) from error
    if state != "ready":
        raise OSError(f"the engine is {state}")


def _by_path(url: str) -> Endpoints:
    return {model: Endpoint(f"{url}/{model}", model) for model in ("noop", "boxes")}


def _answers(endpoints: Endpoints) -> Callable[[], None]:
    templates = bodies()

    def ask() -> None:
        for endpoint in endpoints.values():
            call(endpoint.url, endpoint.body(templates["JPEG 640x480"]))

    return ask


def _path(*folders: Path) -> dict[str, str]:
    return {"PYTHONPATH": os.pathsep.join(str(folder) for folder in (MODELS, *folders))}
