"""Starts replicas from stored artifacts alone, as a Ray worker does."""

from __future__ import annotations

import asyncio
import base64
import io
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from roost.bundle.pack import pack
from roost.bundle.trace import Traced
from roost.contracts.replica import ReplicaLimits, ReplicaSpec
from roost.contracts.servable import ServableRef
from roost.errors import ModelDeployFailed, Unavailable
from roost.keys import DeploymentKey
from roost.replica import context, runtime
from roost.serve import ServableKind
from roost.storage.artifacts import StoredArtifacts
from roost.storage.store import ObjectStore
from roost.storage.upload import upload_tree

APP = """
from contextlib import asynccontextmanager
from fastapi import FastAPI, Request
import roost.serve
from roost.replica.context import find_current

steps = []

@asynccontextmanager
async def around(app):
    steps.append("app up")
    if (find_current().spec.config).get("fail") == "app":
        raise RuntimeError("no table \\x1b[31m'words'\\x1b[0m")
    yield {"shared": 5}
    steps.append("app down")

app = FastAPI(lifespan=around)

@roost.serve.ingress(app)
class Words:
    def __init__(self, key):
        steps.append("constructed")
        self.key = key
        self.config = find_current().spec.config
        if self.config.get("fail") == "constructor":
            raise KeyError("voice")

    @app.get("/words")
    def words(self, request: Request) -> list[str]:
        return [str(self.key), str(self.config), str(request.state.shared)]

    @app.post("/length")
    async def length(self, request: Request) -> int:
        return len(await request.body())

    def check_health(self):
        if self.config.get("fail") == "health":
            raise RuntimeError("lost the words")

    async def unload(self):
        steps.append("unloaded")
"""

MODEL = """
from roost.capabilities import DetectionModel, DetectionOutput

class Reader(DetectionModel):
    def __init__(self, key):
        super().__init__(key)
        assert self.weights is None

    def load_model(self):
        if self.config.get("fail") == "load":
            raise OSError("no GPU")
        self.name = (self.weights / "names" / "a.txt").read_text() if self.weights else "none"

    def warmup_inputs(self):
        return ["warm"] if self.config.get("fail") == "warmup" else []

    def predict(self, input):
        x, y = input.image.size
        return DetectionOutput(boxes=[[0, 0, x, y]], scores=[1.0], classes=[self.name])
"""

TELLER = """
import roost.serve
from roost.replica.context import find_current

steps = []

class Teller:
    def __init__(self, key):
        self.key = str(key)
        self.fail = find_current().spec.config.get("fail")
        if self.fail == "constructor":
            raise KeyError("voice")

    @roost.serve.endpoint
    def tell(self, name: str) -> list[str]:
        return [self.key, name]

    def check_health(self):
        if self.fail == "health":
            raise RuntimeError("lost the words")

    async def unload(self):
        steps.append("unloaded")
"""

KINDS: dict[str, ServableKind] = {"Words": "serve_app", "Reader": "inference_model", "Teller": "endpoint"}

Stored = Callable[..., ReplicaSpec]


@pytest.fixture
def stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stored]:
    """Stores a servable (and weights) and gives the spec of its replica."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.setattr(context, "_current", None)
    url = (tmp_path / "storage").as_uri()
    artifacts = StoredArtifacts(ObjectStore.open(url))

    def store(source: str, class_path: str, *, weights: bool = False, **fields: Any) -> ReplicaSpec:
        file = tmp_path / "source.py"
        file.write_text(source)
        bundle = pack(Traced(files={"roost_test_served.py": file}, class_path=class_path, pins=[]))
        artifacts.put("bundles", bundle.fingerprint, bundle.data)
        digest = None
        if weights:
            (tmp_path / "weights" / "names").mkdir(parents=True)
            (tmp_path / "weights" / "names" / "a.txt").write_text("robin")
            digest = upload_tree(tmp_path / "weights", artifacts, progress=None).digest
        kind = KINDS[class_path.partition(":")[2]]
        ref = ServableRef(
            class_path=class_path,
            kind=kind,
            capability="detection" if kind == "inference_model" else None,
            bundle_fingerprint=bundle.fingerprint,
        )
        return ReplicaSpec(
            key=DeploymentKey("fam", "suf", "run"),
            servable=ref,
            weights_digest=digest,
            storage_url=url,
            cache_dir=str(tmp_path / "cache"),
            **fields,
        )

    yield store
    sys.modules.pop("roost_test_served", None)


def app_spec(stored: Stored, **fields: Any) -> ReplicaSpec:
    return stored(APP, "roost_test_served:Words", **fields)


def test_serves_a_serve_app_from_start_to_end(stored: Stored, call: Any) -> None:
    spec = app_spec(stored, config={"lang": "en"}, limits=ReplicaLimits(max_body_bytes=10))

    async def run() -> tuple[Any, Any, list[str]]:
        replica = await runtime.start(spec)
        await replica.check_health()
        words = await call(replica.app, "GET", "/words")
        long = await call(replica.app, "POST", "/length", [b"123456", b"123456"])
        await _shut_down(replica.app)
        return words.json, long.status, sys.modules["roost_test_served"].steps

    words, long, steps = asyncio.run(run())
    assert words == ["fam/suf/run", "{'lang': 'en'}", "5"]
    assert long == 413
    assert steps == ["constructed", "app up", "app down", "unloaded"]


def test_serves_endpoints_from_start_to_end(stored: Stored, call: Any) -> None:
    spec = stored(TELLER, "roost_test_served:Teller", limits=ReplicaLimits(max_body_bytes=20))

    async def run() -> tuple[Any, Any, Any]:
        replica = await runtime.start(spec)
        await replica.check_health()
        told = await call(replica.app, "POST", "/tell", b'{"name": "Ada"}')
        long = await call(replica.app, "POST", "/tell", [b'{"name": "123456', b'123456"}'])
        described = await call(replica.app, "GET", "/openapi.json")
        await _shut_down(replica.app)
        return told.json, long.status, described.json

    told, long, described = asyncio.run(run())
    assert (told, long) == (["fam/suf/run", "Ada"], 413)
    assert described["info"] == {"title": "Teller", "description": "", "version": spec.version}
    assert described["servers"] == [{"url": "/r/fam/suf/run"}]
    assert sys.modules["roost_test_served"].steps == ["unloaded"]


@pytest.mark.parametrize(
    ("source", "fail", "said"),
    [
        (TELLER, "constructor", "The constructor of 'roost_test_served:Teller' raised KeyError: 'voice'"),
        (
            TELLER.replace("name: str", "name"),
            "",
            "Reading the endpoints of 'roost_test_served:Teller' raised InvalidServable: The endpoint "
            "'Teller.tell' has the parameter 'name' without a type. Annotate it, for example name: str.",
        ),
    ],
)
def test_what_a_class_with_endpoints_raises_at_its_start_is_said(
    stored: Stored, source: str, fail: str, said: str
) -> None:
    with pytest.raises(ModelDeployFailed) as raised:
        asyncio.run(runtime.start(stored(source, "roost_test_served:Teller", config={"fail": fail})))
    assert raised.value.message == said


def test_the_health_check_of_endpoints_is_the_servables_own(stored: Stored) -> None:
    async def run() -> None:
        replica = await runtime.start(stored(TELLER, "roost_test_served:Teller", config={"fail": "health"}))
        await replica.check_health()

    with pytest.raises(RuntimeError, match="lost the words"):
        asyncio.run(run())


async def _shut_down(app: Any) -> None:
    messages = iter(["lifespan.startup", "lifespan.shutdown"])

    async def receive() -> dict[str, str]:
        return {"type": next(messages)}

    async def send(_message: Any) -> None:
        return

    await app({"type": "lifespan"}, receive, send)


def test_serves_a_model_with_its_weights(stored: Stored, call: Any) -> None:
    spec = stored(MODEL, "roost_test_served:Reader", weights=True)
    stream = io.BytesIO()
    Image.new("RGB", (3, 2)).save(stream, "PNG")
    image = base64.b64encode(stream.getvalue())

    async def run() -> Any:
        replica = await runtime.start(spec)
        await replica.check_health()
        body = b'{"model": "m", "image": "' + image + b'"}'
        return (await call(replica.app, "POST", "/v1/inference/detection", body)).json

    assert asyncio.run(run())["data"] == {
        "boxes": [[0, 0, 3, 2]],
        "scores": [1.0],
        "classes": ["robin"],
        "masks": None,
    }
    current = context.find_current()
    assert current is not None
    assert current.spec == spec
    assert current.weights is not None
    assert (current.weights / "names" / "a.txt").read_text() == "robin"


@pytest.mark.parametrize(
    ("fail", "said"),
    [
        ("constructor", "The constructor of 'roost_test_served:Words' raised KeyError: 'voice'"),
        ("app", "The start-up of the app of 'roost_test_served:Words' raised RuntimeError: no table 'words'"),
    ],
)
def test_what_a_serve_app_raises_at_its_start_is_said(stored: Stored, fail: str, said: str) -> None:
    with pytest.raises(ModelDeployFailed) as raised:
        asyncio.run(runtime.start(app_spec(stored, config={"fail": fail})))
    assert raised.value.message == said


@pytest.mark.parametrize(
    ("fail", "said"),
    [
        ("load", "load_model of 'roost_test_served:Reader' raised OSError: no GPU"),
        ("warmup", "The warm-up of 'roost_test_served:Reader' raised AttributeError: 'str' object has no"),
    ],
)
def test_what_a_model_raises_at_its_start_is_said(stored: Stored, fail: str, said: str) -> None:
    with pytest.raises(ModelDeployFailed) as raised:
        asyncio.run(runtime.start(stored(MODEL, "roost_test_served:Reader", config={"fail": fail})))
    assert raised.value.message.startswith(said)


def test_a_module_that_cannot_be_imported_is_named(stored: Stored) -> None:
    spec = stored("import roost_no_such_module", "roost_test_served:Words")
    with pytest.raises(
        ModelDeployFailed, match="ModuleNotFoundError: No module named 'roost_no_such_module'"
    ):
        asyncio.run(runtime.start(spec))


def test_missing_artifacts_are_named(stored: Stored) -> None:
    spec = app_spec(stored)
    missing = spec.servable.model_copy(update={"bundle_fingerprint": "0" * 64})
    with pytest.raises(ModelDeployFailed, match=r"Fetching the bundle raised ArtifactNotFound: .*0000"):
        asyncio.run(runtime.start(spec.model_copy(update={"servable": missing})))
    with pytest.raises(ModelDeployFailed, match=r"Fetching the weights raised ArtifactNotFound: .*1111"):
        asyncio.run(runtime.start(spec.model_copy(update={"weights_digest": "1" * 64})))


def test_the_health_check_is_the_servables_own(stored: Stored) -> None:
    async def run() -> None:
        replica = await runtime.start(app_spec(stored, config={"fail": "health"}))
        await replica.check_health()

    with pytest.raises(RuntimeError, match="lost the words"):
        asyncio.run(run())


def test_a_model_whose_thread_ended_is_unhealthy(stored: Stored) -> None:
    others = set(threading.enumerate())

    async def run() -> None:
        replica = await runtime.start(stored(MODEL, "roost_test_served:Reader"))
        await _shut_down(replica.app)
        await asyncio.to_thread(_join, "model fam/suf/run", others)
        await replica.check_health()

    with pytest.raises(Unavailable, match="thread has ended"):
        asyncio.run(run())


def _join(name: str, others: set[threading.Thread]) -> None:
    for thread in set(threading.enumerate()) - others:
        if thread.name == name:
            thread.join(10)
