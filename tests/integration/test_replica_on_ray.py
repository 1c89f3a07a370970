"""Replicas inside a real Ray with HAProxy ingress, called as a caller would."""

from __future__ import annotations

import base64
import gc
import io
import json
import socket
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from PIL import Image

from roost.bundle.pack import pack
from roost.bundle.trace import Traced
from roost.contracts.replica import ReplicaLimits, ReplicaSpec
from roost.contracts.servable import ServableRef
from roost.engine.embedded.cluster import EmbeddedCluster
from roost.engine.logs import replica_log
from roost.engine.serve_api import ServeApi
from roost.keys import DeploymentKey, config_fingerprint
from roost.serving.observed import parse_serve
from roost.serving.scale import fixed
from roost.serving.settings import ServeSettings
from roost.serving.spec import application as describe_application
from roost.storage.artifacts import StoredArtifacts
from roost.storage.store import ObjectStore

pytestmark = [pytest.mark.ray, pytest.mark.timeout(400)]

SERVABLES = Path(__file__).with_name("replica_servables.py")


@dataclass(frozen=True)
class Cluster:
    """A Ray of our own and the storage its replicas read."""

    home: Path
    ray: EmbeddedCluster
    serve: ServeApi

    def put(self, *applications: dict[str, Any]) -> None:
        port = self.ray.state.ports.serve
        options = {"host": "127.0.0.1", "port": port}
        body = {"proxy_location": "HeadOnly", "http_options": options, "applications": list(applications)}
        self.serve.put(body)

    def applications(self) -> dict[str, Any]:
        found: dict[str, Any] = self.serve.get()["applications"]
        return found

    def wait_for(self, statuses: dict[str, str]) -> dict[str, Any]:
        def reached() -> bool:
            applications = self.applications()
            return {name: applications.get(name, {}).get("status") for name in statuses} == statuses

        wait_until(reached, lambda: json.dumps(self.applications(), default=str)[:4000])
        return self.applications()

    def url(self, key: DeploymentKey) -> str:
        return self.ray.serve_url + key.route_prefix

    def replica_url(self, key: DeploymentKey) -> str:
        """The deployment's URL on a replica's own port, past HAProxy."""
        first, last = self.ray.state.ports.replica_http
        for port in range(first, last + 1):
            try:
                routes = httpx2.get(f"http://127.0.0.1:{port}/-/routes").json()
            except httpx2.TransportError:
                continue
            if routes == {key.route_prefix: key.app_name}:
                return f"http://127.0.0.1:{port}{key.route_prefix}"
        raise AssertionError(f"no replica of {key} listens on {first} to {last}")


def wait_until(reached: Callable[[], bool], describe: Callable[[], str], timeout_s: float = 150) -> None:
    deadline = time.monotonic() + timeout_s
    while not reached():
        assert time.monotonic() < deadline, describe()
        time.sleep(0.2)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    home = tmp_path_factory.mktemp("roost")
    # Callers of a replica that goes are drained for 30 s otherwise.
    environment = {
        "RAY_SERVE_DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "1",
        # All that Ray's uv may install.
        "UV_FIND_LINKS": str(home / "wheels"),
        "UV_NO_INDEX": "1",
    }
    ray = EmbeddedCluster(home, num_cpus=4, environment=environment)
    ray.start()
    with warnings.catch_warnings():
        # The start leaves its own connection to the dashboard open.
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()
    try:
        serve = ServeApi(ray.dashboard_url, ray.token, timeout_s=60)
        yield Cluster(home, ray, serve)
        serve.close()
    finally:
        ray.stop()


def application(
    cluster: Cluster, class_name: str, config: dict[str, str], **limits: Any
) -> tuple[DeploymentKey, dict[str, Any]]:
    """Store a servable and describe its Serve application."""
    class_path = f"replica_servables:{class_name}"
    bundle = pack(Traced(files={SERVABLES.name: SERVABLES}, class_path=class_path, pins=[]))
    storage_url = (cluster.home / "storage").as_uri()
    StoredArtifacts(ObjectStore.open(storage_url)).put("bundles", bundle.fingerprint, bundle.data)
    is_model = class_name == "Sizes"
    key = DeploymentKey("test", class_name.lower(), "run", config_fingerprint(config))
    spec = ReplicaSpec(
        key=key,
        servable=ServableRef(
            class_path=class_path,
            kind="inference_model" if is_model else "serve_app",
            capability="detection" if is_model else None,
            bundle_fingerprint=bundle.fingerprint,
        ),
        config=config,
        storage_url=storage_url,
        cache_dir=str(cluster.home / "cache"),
        limits=ReplicaLimits(**limits),
    )
    override = {
        "name": "App",
        "num_replicas": 1,
        "max_ongoing_requests": 1 if is_model else 4,
        "health_check_period_s": 1,
        "graceful_shutdown_timeout_s": 30,  # within it a loaded machine unloads, too
        "ray_actor_options": {"num_cpus": 0.1},
    }
    return key, {
        "name": key.app_name,
        "route_prefix": key.route_prefix,
        "import_path": "roost.replica.builder:build",
        "args": json.loads(spec.to_json()),
        "deployments": [override],
    }


def detection(box_threshold: float = 0.5, image: bytes | None = None) -> dict[str, Any]:
    stream = io.BytesIO()
    Image.new("RGB", (8, 6)).save(stream, "PNG")
    encoded = base64.b64encode(image or stream.getvalue()).decode()
    return {"model": "test/sizes", "image": encoded, "boxThreshold": box_threshold}


def leave(url: str, request: bytes) -> socket.socket:
    """A request whose caller does not wait for the answer; closing the socket is leaving."""
    host, port = url.split("/")[2].split(":")
    caller = socket.create_connection((host, int(port)))
    caller.sendall(request)
    return caller


def test_replicas_on_ray(cluster: Cluster) -> None:
    notes = cluster.home / "notes"
    hello, hello_app = application(cluster, "Greeter", {"greeting": "hello"}, max_body_bytes=1000)
    salut, salut_app = application(cluster, "Greeter", {"greeting": "salut"}, max_body_bytes=1000)
    broken, broken_app = application(cluster, "Greeter", {"greeting": "x", "broken": "you"})
    sizes, sizes_app = application(
        cluster, "Sizes", {"notes": str(notes)}, max_body_bytes=100_000, timeout_s=8
    )
    cluster.put(hello_app, salut_app, broken_app, sizes_app)
    statuses = {key.app_name: "RUNNING" for key in (hello, salut, sizes)}
    applications = cluster.wait_for(statuses | {broken.app_name: "DEPLOY_FAILED"})

    message = applications[broken.app_name]["deployments"]["App"]["message"]
    assert "raised ValueError: no greeting for 'you'" in message

    for base in (cluster.url(hello), cluster.replica_url(hello)):
        check_serve_app(base, "hello")
    for base in (cluster.url(salut), cluster.replica_url(salut)):
        check_serve_app(base, "salut")
    for base in (cluster.url(sizes), cluster.replica_url(sizes)):
        check_model(base, sizes)
    log = partial(replica_log, cluster.serve, hello.app_name)
    wait_until(lambda: "RuntimeError: a secret of the app" in log(), log, 10)
    check_leavers_of_serve_app(cluster.url(hello))
    check_leavers_of_model(cluster.url(sizes), notes)
    check_wedged_model_is_replaced(cluster, sizes)

    cluster.put()
    wait_until(lambda: cluster.applications() == {}, lambda: str(cluster.applications()))
    assert notes.with_suffix(".unloaded").exists()


def check_serve_app(base: str, greeting: str) -> None:
    with httpx2.Client(timeout=30) as client:
        answer = client.get(f"{base}/greet/you", headers={"X-Request-ID": "mine-1"})
        assert (answer.status_code, answer.json()) == (200, f"{greeting} you")
        assert answer.headers.get_list("x-request-id") == ["mine-1"]
        assert client.get(f"{base}/nowhere").json() == {"detail": "Not Found"}
        schema = client.get(f"{base}/openapi.json")
        assert "self" not in [p["name"] for p in schema.json()["paths"]["/greet/{name}"]["get"]["parameters"]]
        assert client.get(f"{base}/docs").status_code == 200
        over = client.post(
            f"{base}/length",
            content=iter([b"x" * 600, b"x" * 600]),
            headers={"Content-Type": "application/json"},
        )
        assert (over.status_code, over.json()["error"]["code"]) == (413, "payload_too_large")
        failed = client.get(f"{base}/fail")
        assert (failed.status_code, failed.json()["error"]["code"]) == (500, "model_error")
        assert failed.headers.get_list("x-request-id") == [failed.json()["error"]["requestId"]]
        assert "secret" not in failed.text


def check_model(base: str, key: DeploymentKey) -> None:
    url = f"{base}/v1/inference/detection"
    with httpx2.Client(timeout=30) as client:
        answer = client.post(url, json=detection())
        assert (answer.status_code, answer.json()["data"]["boxes"]) == (200, [[0, 0, 8, 6]])
        assert answer.json()["metadata"]["deployment"] == str(key)
        assert answer.headers.get_list("x-request-id") == [answer.json()["id"]]
        binary = client.post(
            f"{url}/binary",
            files={
                "metadata": (None, b'{"model": "m"}', "application/json"),
                "image": ("a.png", base64.b64decode(detection()["image"]), "image/png"),
            },
        )
        assert (binary.status_code, binary.json()["data"]["boxes"]) == (200, [[0, 0, 8, 6]])
        bad = client.post(url, json=detection(image=b"no image"))
        assert (bad.status_code, bad.json()["error"]["reason"]) == (400, "invalid_media")
        chunks = iter([b"x" * 60_000, b"x" * 60_000])
        over = client.post(url, content=chunks, headers={"Content-Type": "application/json"})
        assert (over.status_code, over.json()["error"]["code"]) == (413, "payload_too_large")
        assert client.get(f"{base}/v1/interface").json() is None
        assert client.get(f"{base}/v1/health").json() == {"status": "ok"}


def check_leavers_of_serve_app(base: str) -> None:
    """The app holds 4 requests at once; of callers who leave, none stays behind."""
    _, _, host, path = base.split("/", 3)
    request = f"GET /{path}/hold HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
    with httpx2.Client(timeout=20) as client:

        def wait_for_running(number: int) -> None:
            wait_until(
                lambda: client.get(f"{base}/running").json() == number, lambda: f"not {number} run", 20
            )

        callers = [leave(base, request) for _ in range(3)]
        wait_for_running(3)
        callers += [leave(base, request) for _ in range(97)]
        for caller in callers:
            caller.close()
        wait_for_running(0)


def check_leavers_of_model(base: str, notes: Path) -> None:
    """The model's one slot is freed by whoever leaves, and work that still waits never reaches it."""
    notes.write_text("")
    body = json.dumps(detection(0.75)).encode()
    _, _, host, path = base.split("/", 3)
    head = (
        f"POST /{path}/v1/inference/detection HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    )
    request = head.encode() + b"Content-Length: %d\r\n\r\n" % len(body) + body

    def slot_is_free(timeout_s: float) -> bool:
        try:
            return httpx2.get(f"{base}/v1/health", timeout=timeout_s).status_code == 200
        except httpx2.ReadTimeout:
            return False

    running = leave(base, request)
    wait_until(lambda: notes.read_text() == "0.75\n", notes.read_text, 20)
    assert not slot_is_free(0.5)
    running.close()
    assert slot_is_free(5)
    waiting = leave(base, request)
    wait_until(lambda: not slot_is_free(0.5), lambda: "the second caller takes no slot", 5)
    waiting.close()
    assert slot_is_free(5)
    notes.with_suffix(".gate").touch()
    answer = httpx2.post(f"{base}/v1/inference/detection", json=detection(0.25), timeout=20)
    assert answer.status_code == 200
    assert notes.read_text() == "0.75\n0.25\n"


def check_wedged_model_is_replaced(cluster: Cluster, key: DeploymentKey) -> None:
    def replicas() -> dict[str, str]:
        found = cluster.applications()[key.app_name]["deployments"]["App"]["replicas"]
        return {replica["replica_id"]: replica["state"] for replica in found}

    (before,) = replicas()
    url = f"{cluster.url(key)}/v1/inference/detection"
    wedged = httpx2.post(url, json=detection(0.875), timeout=30)
    assert (wedged.status_code, wedged.json()["error"]["code"]) == (504, "timeout")
    wait_until(lambda: "RUNNING" in replicas().values() and before not in replicas(), lambda: str(replicas()))
    wait_until(lambda: httpx2.post(url, json=detection(), timeout=30).status_code == 200, lambda: "no answer")


def test_pins_are_installed_for_the_replica_or_fail_the_deployment_by_name(cluster: Cluster) -> None:
    write_wheel(cluster.home / "wheels", "tiny-pinned", "1.5", "VERSION = '1.5'")
    pinned, pinned_app = pinned_application(cluster, "good", "tiny-pinned==1.5")
    absent, absent_app = pinned_application(cluster, "bad", "tiny-pinned==9.9")
    cluster.put(pinned_app, absent_app)
    cluster.wait_for({pinned.app_name: "RUNNING", absent.app_name: "DEPLOY_FAILED"})
    assert httpx2.get(f"{cluster.url(pinned)}/version", timeout=30).json() == "1.5"
    message = parse_serve(cluster.serve.get()).apps[absent.app_name].message
    assert message.startswith(
        "The pins of the bundle cannot be installed. uv says:\nerror: No solution found"
    )
    assert "there is no version of tiny-pinned==9.9" in message
    assert "Traceback" not in message
    cluster.put()
    wait_until(lambda: cluster.applications() == {}, lambda: str(cluster.applications()))


def pinned_application(cluster: Cluster, name: str, pin: str) -> tuple[DeploymentKey, dict[str, Any]]:
    """A servable that imports what `pin` brings, as the server describes it to Ray."""
    source = cluster.home / "pinned.py"
    source.write_text(
        "import fastapi, roost.serve, tiny_pinned\napp = fastapi.FastAPI()\n"
        "@roost.serve.ingress(app)\nclass Pinned:\n    def __init__(self, key): ...\n"
        "    @app.get('/version')\n    def version(self) -> str:\n        return tiny_pinned.VERSION\n"
    )
    bundle = pack(Traced(files={"pinned.py": source}, class_path="pinned:Pinned", pins=[pin]))
    storage_url = (cluster.home / "storage").as_uri()
    StoredArtifacts(ObjectStore.open(storage_url)).put("bundles", bundle.fingerprint, bundle.data)
    spec = ReplicaSpec(
        key=DeploymentKey("test", "pinned", name, ""),
        servable=ServableRef(
            class_path=bundle.class_path,
            kind="serve_app",
            bundle_fingerprint=bundle.fingerprint,
            pins=bundle.pins,
        ),
        storage_url=storage_url,
        cache_dir=str(cluster.home / "cache"),
    )
    settings = ServeSettings(serve_url=cluster.ray.serve_url, storage_url=storage_url)
    described = describe_application(spec, scale=fixed(1), actor_options={"num_cpus": 0.1}, settings=settings)
    return spec.key, described


def write_wheel(folder: Path, name: str, version: str, source: str) -> None:
    """Build a distribution of one module without a build tool."""
    folder.mkdir(exist_ok=True)
    module = name.replace("-", "_")
    info = f"{module}-{version}.dist-info"
    files = {
        f"{module}.py": source,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(folder / f"{module}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in files.items():
            wheel.writestr(path, text)
