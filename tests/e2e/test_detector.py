"""The main path: real weights, a real deployment, real pictures, by every route."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from PIL import Image

import roost
from roost.contracts.serving_model import DeployModelRequest
from roost.errors import InvalidMedia, ModelNotDeployed, NameTaken, NotFound, WrongCapability
from roost.testing.server_process import ServerProcess
from roost_detector import SsdMobileNetV2, weights_dir

if TYPE_CHECKING:
    from tests.e2e.conftest import Project, Ran

KEY = roost.DeploymentKey("ssd", "mobilenet-v2", "imported")


@pytest.fixture(scope="module")
def _deployed(server: ServerProcess) -> Iterator[roost.Deployment]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ROOST_URL", server.url)
        saved = roost.import_model(weights_dir, SsdMobileNetV2, "ssd", "mobilenet-v2")
        assert (saved.phase, saved.capability, saved.size_bytes) == ("ready", "detection", 69_798_036)
        yield roost.deploy_model("ssd", "mobilenet-v2", "imported", name="detector", wait=True, timeout=240)
        roost.undeploy_model(KEY)


@pytest.fixture
def detector(_deployed: roost.Deployment, at: ServerProcess) -> roost.Deployment:
    return _deployed


@pytest.fixture
def chelsea(picture: Callable[[str], Path]) -> bytes:
    return picture("chelsea.png").read_bytes()


def post_json(url: str, image: bytes, **more: Any) -> httpx2.Response:
    body = {"model": "detector", "image": base64.b64encode(image).decode(), **more}
    return httpx2.post(f"{url}/v1/inference/detection", json=body, timeout=60)


def post_binary(url: str, image: bytes, **more: Any) -> httpx2.Response:
    parts: dict[str, tuple[str | None, str | bytes, str]] = {
        "metadata": (None, json.dumps({"model": "detector", **more}), "application/json"),
        "image": ("chelsea.png", image, "image/png"),
    }
    return httpx2.post(f"{url}/v1/inference/detection/binary", files=parts, timeout=60)


def error_of(answer: httpx2.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    assert answer.headers["x-request-id"] == error["requestId"]
    return error


def test_it_runs_under_its_name(detector: roost.Deployment, at: ServerProcess) -> None:
    assert (detector.key, detector.name, detector.phase) == (KEY, "detector", "running")
    serve_url = at.info().engine.serve_url
    assert detector.url == f"{serve_url}/r/ssd/mobilenet-v2/imported"
    assert roost.model_serving_status(KEY).phase == "running"
    (replica,) = roost.model_replica_placements(KEY)
    assert (replica.state, replica.node_ip) == ("RUNNING", "127.0.0.1")


def test_every_route_gives_the_same_answer(
    detector: roost.Deployment, at: ServerProcess, chelsea: bytes
) -> None:
    """By the gateway and by the deployment's own URL, as JSON and as bytes."""
    answers = [post(url, chelsea) for url in (at.url, detector.url) for post in (post_json, post_binary)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 200]
    assert [answer.json()["data"] for answer in answers] == [answers[0].json()["data"]] * 4
    found = answers[0].json()
    assert found["data"]["classes"] == ["cat"]
    assert found["data"]["boxes"][0] == pytest.approx([9, 0, 408, 297], abs=3)
    assert found["data"]["scores"][0] == pytest.approx(0.91, abs=0.01)
    assert found["status"] == "SUCCESS"
    assert found["metadata"] == {
        "model": "detector",
        "capability": "detection",
        "modelClass": "SsdMobileNetV2",
        "deployment": "ssd/mobilenet-v2/imported",
    }


def test_the_typed_client_calls_it_by_name_and_by_key(
    detector: roost.Deployment, picture: Callable[[str], Path]
) -> None:
    with roost.Client() as client:
        assert client.detection("detector", picture("chelsea.png")).data.classes == ["cat"]
        assert client.detection(str(KEY), Image.open(picture("chelsea.png"))).data.classes == ["cat"]
        assert client.detection("detector", picture("coffee.png"), box_threshold=0.8).data.classes == [
            "cup",
            "bowl",
        ]


def test_importing_again_uploads_nothing(detector: roost.Deployment) -> None:
    def source() -> Path:
        raise AssertionError("the source is not needed again")

    again = roost.import_model(source, SsdMobileNetV2, "ssd", "mobilenet-v2")
    assert again.bundle_fingerprint == detector.bundle_fingerprint


class TestBadRequests:
    def test_an_unknown_model_gets_close_names(
        self, detector: roost.Deployment, at: ServerProcess, chelsea: bytes
    ) -> None:
        answer = post_json(at.url, chelsea, model="detectr")
        error = error_of(answer)
        assert (answer.status_code, error["code"], error["reason"]) == (
            404,
            "not_found",
            "model_not_deployed",
        )
        assert error["message"] == "no model 'detectr' is deployed."
        assert error["hint"] == "Did you mean 'detector'?"
        with roost.Client() as client, pytest.raises(ModelNotDeployed, match="'detectr'"):
            client.detection("detectr", chelsea)

    def test_a_model_of_another_capability_is_named(
        self, detector: roost.Deployment, at: ServerProcess, chelsea: bytes, project: Project
    ) -> None:
        model = roost.register_model(project.load("greeter").Greeter, "wrong", "capability")
        app = roost.deploy_model("wrong", "capability", model.run_name, name="an-app", wait=True, timeout=240)
        try:
            answer = post_json(at.url, chelsea, model="an-app")
            error = error_of(answer)
            assert (answer.status_code, error["code"], error["reason"]) == (
                400,
                "bad_request",
                "wrong_capability",
            )
            assert error["hint"] == f"Call it at {app.url}"
            with roost.Client() as client, pytest.raises(WrongCapability):
                client.detection("an-app", chelsea)
        finally:
            roost.undeploy_model(app.key)

    def test_an_unknown_capability_lists_the_routes(self, at: ServerProcess) -> None:
        answer = httpx2.post(f"{at.url}/v1/inference/poetry", json={"model": "detector"})
        error = error_of(answer)
        assert (answer.status_code, error["code"]) == (404, "not_found")
        assert "detection" in error["hint"]

    def test_a_model_asked_for_what_it_does_not_do(
        self, detector: roost.Deployment, at: ServerProcess
    ) -> None:
        for url in (at.url, detector.url):
            answer = httpx2.post(
                f"{url}/v1/inference/segmentation", json={"model": "detector", "image": "aGk="}
            )
            error = error_of(answer)
            assert (answer.status_code, error["reason"]) == (400, "wrong_capability")
            assert "detection" in error["message"] + error["hint"]

    @pytest.mark.parametrize("post", [post_json, post_binary])
    @pytest.mark.parametrize("own_url", [False, True])
    def test_a_broken_image(
        self,
        detector: roost.Deployment,
        at: ServerProcess,
        chelsea: bytes,
        post: Callable[..., httpx2.Response],
        own_url: bool,
    ) -> None:
        for image in (b"no image at all", chelsea[:20_000]):
            answer = post(detector.url if own_url else at.url, image)
            error = error_of(answer)
            assert (answer.status_code, error["code"], error["reason"]) == (
                400,
                "bad_request",
                "invalid_media",
            )
            assert error["hint"]

    def test_a_broken_image_through_the_client(self, detector: roost.Deployment) -> None:
        with roost.Client() as client, pytest.raises(InvalidMedia):
            client.detection("detector", b"\x89PNG\r\n\x1a\n broken")

    def test_a_class_the_model_does_not_have(
        self, detector: roost.Deployment, at: ServerProcess, chelsea: bytes
    ) -> None:
        answer = post_json(at.url, chelsea, classes=["unicorn"])
        assert (answer.status_code, error_of(answer)["code"]) == (400, "bad_request")
        assert "'unicorn'" in error_of(answer)["message"]

    def test_fields_that_break_their_rules_are_listed(
        self, detector: roost.Deployment, at: ServerProcess, chelsea: bytes
    ) -> None:
        answer = post_json(at.url, chelsea, boxThreshold=3)
        error = error_of(answer)
        assert (answer.status_code, error["code"]) == (422, "validation_error")
        assert [issue["loc"] for issue in error["issues"]] == [["boxThreshold"]]


class TestModelsRoute:
    def test_it_lists_what_is_deployed(self, detector: roost.Deployment, at: ServerProcess) -> None:
        shown = {model["name"]: model for model in httpx2.get(f"{at.url}/v1/models").json()}["detector"]
        assert shown["interface"].pop("classNames")[:3] == ["person", "bicycle", "car"]
        assert shown == {
            "name": "detector",
            "capability": "detection",
            "modelClass": None,
            "modelPath": None,
            "status": "RUNNING",
            "phase": "running",
            "interface": {
                "capability": "detection",
                "classes": "closed",
                "thresholds": ["box"],
                "outputs": ["box", "score", "class"],
            },
            "url": detector.url,
            "deployment": "ssd/mobilenet-v2/imported",
        }

    def test_a_class_of_an_installed_package_is_deployed_and_removed_by_name(
        self, at: ServerProcess, picture: Callable[[str], Path]
    ) -> None:
        with roost.Client(timeout_s=300) as client:
            made = client.deploy_model(DeployModelRequest(name="declared", model_class="ssd-mobilenet-v2"))
            assert (made.name, made.status, made.capability) == ("declared", "RUNNING", "detection")
            assert made.deployment == "declared/default/declared"
            assert client.detection("declared", picture("chelsea.png")).data.classes == ["cat"]
            client.undeploy_model("declared")
            assert "declared" not in [model.name for model in client.list_models()]
            with pytest.raises(ModelNotDeployed, match="'declared'"):
                client.undeploy_model("declared")

    def test_it_is_201_and_names_are_unique(self, detector: roost.Deployment, at: ServerProcess) -> None:
        body = {"name": "detector", "modelClass": "ssd-mobilenet-v2"}
        answer = httpx2.post(f"{at.url}/v1/models", json=body, timeout=120)
        assert (answer.status_code, error_of(answer)["reason"]) == (409, "name_taken")
        with roost.Client() as client, pytest.raises(NameTaken, match="'detector'"):
            client.deploy_model(DeployModelRequest.model_validate(body))

    def test_an_unknown_class_gets_close_names(self, at: ServerProcess) -> None:
        with roost.Client() as client, pytest.raises(NotFound, match="'ssd-mobilenet'") as caught:
            client.deploy_model(DeployModelRequest(model_class="ssd-mobilenet"))
        assert caught.value.hint == "Did you mean 'ssd-mobilenet-v2'?"


class TestFromTheCommandLine:
    def test_list_status_and_logs(self, detector: roost.Deployment, cli: Callable[..., Ran]) -> None:
        listed = json.loads(cli("deployments", "--json").out)
        assert [item["name"] for item in listed if item["family"] == "ssd"] == ["detector"]
        shown = json.loads(cli("status", str(KEY), "--json").out)
        assert (shown["phase"], shown["observedGeneration"], shown["stale"]) == (
            "running",
            shown["generation"],
            False,
        )
        logs = cli("logs", str(KEY), "--tail", "50")
        assert logs.code == 0
        assert "\x1b" not in logs.out
        assert 0 < len(logs.out.splitlines()) <= 50

    def test_models_and_doctor(self, detector: roost.Deployment, cli: Callable[..., Ran]) -> None:
        (model,) = json.loads(cli("models", "list", "--family", "ssd", "--json").out)
        assert (model["phase"], model["sizeBytes"]) == ("ready", 69_798_036)
        doctor = cli("doctor")
        assert doctor.code == 0, doctor.out
        assert "deployment detector" in doctor.out


def test_load_model_is_verified_and_read_only(detector: roost.Deployment) -> None:
    folder = roost.load_model("ssd", "mobilenet-v2", "imported")
    assert sorted(path.name for path in folder.iterdir()) == [
        "frozen_inference_graph.pb",
        "ssd_mobilenet_v2_coco_2018_03_29.pbtxt",
    ]
    for path in (folder, *folder.iterdir()):
        assert path.stat().st_mode & 0o222 == 0
    for path in folder.iterdir():
        assert path.read_bytes() == (weights_dir() / path.name).read_bytes()


def test_a_large_picture_is_streamed_through(detector: roost.Deployment, at: ServerProcess) -> None:
    """Larger than what the gateway reads before it forwards."""
    image = Image.effect_noise((1200, 900), 80).convert("RGB")
    data = io.BytesIO()
    image.save(data, "PNG")
    assert len(data.getvalue()) > 1_000_000
    assert post_json(at.url, data.getvalue()).json()["status"] == "SUCCESS"
    assert post_binary(at.url, data.getvalue()).json()["status"] == "SUCCESS"
