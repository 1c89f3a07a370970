"""`/v1/models`, the probes and the OpenAPI document, through FastAPI."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi import FastAPI

from roost.api.errors import install_error_handlers
from roost.asgi.boundary import ErrorBoundary
from roost.asgi.types import Message
from roost.capabilities.table import CAPABILITIES
from roost.contracts.deployment import Deployment
from roost.contracts.serving_model import DeployModelRequest
from roost.gateway.interfaces import Interfaces
from roost.gateway.models import models_router
from roost.gateway.openapi import describe_inference
from roost.gateway.pool import UpstreamPool
from roost.gateway.probes import ClusterCounts, Startup, probes_router
from roost.keys import DeploymentKey

KEY = DeploymentKey("fam", "suf", "run")
OTHER = DeploymentKey("fam", "app", "run", "a32291675798")


@dataclass(frozen=True)
class Route:
    name: str
    key: DeploymentKey
    capability: str | None
    phase: str
    ray_status: str
    url: str = "http://127.0.0.1:1/r/x"
    timeout_s: float = 60.0


class Table:
    routes = (
        Route("fam/suf", KEY, "detection", "deploying", "DEPLOYING"),
        Route("fam/app", OTHER, None, "running", "RUNNING"),
    )

    def resolve(self, model: str, capability: str) -> Route:
        raise NotImplementedError

    def snapshot(self) -> list[Route]:
        return list(self.routes)


class Services:
    """Stands for both services; keeps what was asked."""

    def __init__(self) -> None:
        self.undeployed: list[DeploymentKey] = []
        self.deployed: list[DeployModelRequest] = []

    def undeploy(self, key: DeploymentKey) -> Deployment:
        self.undeployed.append(key)
        return Deployment(
            family=key.family, suffix=key.suffix, run_name=key.run_name, name="x", url="", phase="deleting"
        )

    def deploy(self, request: DeployModelRequest) -> DeploymentKey:
        self.deployed.append(request)
        return KEY


def app_of(services: Services, startup: Startup) -> FastAPI:
    app = FastAPI()
    install_error_handlers(app)
    app.include_router(models_router(Table(), Interfaces(UpstreamPool()), services, services))
    counts = ClusterCounts(num_cpus=8, num_gpus=1, num_nodes=2, gpus_used=0.5)
    app.include_router(probes_router(Table(), version="1.2", startup=lambda: startup, cluster=lambda: counts))
    return app


def ask(
    method: str,
    path: str,
    body: bytes = b"",
    services: Services | None = None,
    startup: Startup | None = None,
) -> tuple[int, Any]:
    sent: list[Message] = []
    app = ErrorBoundary(app_of(services or Services(), startup or Startup()), "roost.test")

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
    }
    asyncio.run(app(scope, receive, send))
    text = b"".join(message.get("body", b"") for message in sent[1:])
    return sent[0]["status"], json.loads(text) if text else None


def test_models_are_listed_with_status_and_deployment() -> None:
    assert ask("GET", "/v1/models") == (
        200,
        [
            {
                "name": "fam/suf",
                "capability": "detection",
                "modelClass": None,
                "modelPath": None,
                "status": "DEPLOYING",
                "phase": "deploying",
                "interface": None,
                "url": "http://127.0.0.1:1/r/x",
                "deployment": "fam/suf/run",
            },
            {
                "name": "fam/app",
                "capability": "app",
                "modelClass": None,
                "modelPath": None,
                "status": "RUNNING",
                "phase": "running",
                "interface": None,
                "url": "http://127.0.0.1:1/r/x",
                "deployment": "fam/app/run@a32291675798",
            },
        ],
    )


def test_deploying_answers_201_with_the_model() -> None:
    services = Services()
    body = b'{"modelClass": "ssd", "model_params": {"a": 1}}'
    status, info = ask("POST", "/v1/models", body, services)
    assert (status, info["name"]) == (201, "fam/suf")
    assert services.deployed == [DeployModelRequest(model_class="ssd", model_params={"a": 1})]


@pytest.mark.parametrize("name", ["fam/app", "fam/app/run@a32291675798"])
def test_a_model_is_undeployed_by_name_or_key(name: str) -> None:
    services = Services()
    assert ask("DELETE", f"/v1/models/{name}", b"", services) == (200, {"status": "deleted", "model": name})
    assert services.undeployed == [OTHER]


def test_undeploying_an_unknown_model_is_not_found() -> None:
    services = Services()
    status, body = ask("DELETE", "/v1/models/nobody", b"", services)
    assert (status, body["error"]["reason"]) == (404, "model_not_deployed")
    assert services.undeployed == []


@pytest.mark.parametrize("prefix", ["", "/v1"])
def test_the_probes_answer_with_and_without_the_version(prefix: str) -> None:
    assert ask("GET", f"{prefix}/health") == (200, {"status": "healthy"})
    assert ask("HEAD", f"{prefix}/health")[0] == 200
    status, info = ask("GET", f"{prefix}/info")
    assert status == 200
    assert info == {
        "appName": "Roost",
        "appVersion": "1.2",
        "numCpus": 8.0,
        "numGpus": 1.0,
        "numNodes": 2,
        "gpusUsed": 0.5,
        "models": ["fam/suf", "fam/app"],
        "modelsStatus": {"fam/suf": "DEPLOYING", "fam/app": "RUNNING"},
    }


@pytest.mark.parametrize(
    ("startup", "status", "loaded", "message"),
    [
        (Startup(), 200, 0, ""),
        (Startup(expected=["fam/app"]), 200, 1, ""),
        (Startup(expected=["fam/app", "fam/suf", "gone"]), 503, 1, "not running: fam/suf, gone"),
        (Startup(expected=["fam/app"], problem="the start failed"), 503, 1, "the start failed"),
    ],
)
def test_ready_says_what_is_missing(startup: Startup, status: int, loaded: int, message: str) -> None:
    got, body = ask("GET", "/v1/ready", startup=startup)
    assert got == status
    assert (body["ready"], body["models_loaded"], body["message"]) == (status == 200, loaded, message)
    assert body["version"] == "1.2"
    assert set(body["models"]) == set(startup.expected)


def test_the_document_lists_the_inference_routes_once_and_whole() -> None:
    app = app_of(Services(), Startup())
    describe_inference(app, CAPABILITIES)
    document = app.openapi()
    assert app.openapi() is document
    route = document["paths"]["/v1/inference/detection"]["post"]
    assert route["requestBody"]["content"]["application/json"]["example"]["model"]
    form = document["paths"]["/v1/inference/detection/binary"]["post"]["requestBody"]["content"]
    assert form["multipart/form-data"]["schema"]["required"] == ["metadata", "image"]
    text = json.dumps(document)
    names = document["components"]["schemas"]
    for part in text.split('"#/components/schemas/')[1:]:
        assert part.split('"')[0] in names


def test_the_examples_are_valid_requests() -> None:
    app = FastAPI()
    describe_inference(app, CAPABILITIES)
    for name, row in CAPABILITIES.items():
        content = app.openapi()["paths"][f"/v1/inference/{name}"]["post"]["requestBody"]["content"]
        row.request_type.model_validate(content["application/json"]["example"])
