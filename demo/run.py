"""The main job, end to end, on real input: store a detector, deploy it on Ray, call it over HTTP.

Writes demo/out/chelsea.png and demo/out/coffee.png with the boxes drawn on them.
"""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import httpx2
from PIL import Image

import roost
from greeting import Greeting
from roost.client.draw import draw_detections
from roost.contracts.detection import DetectionOutput, DetectionResponse
from roost_detector.model import SsdMobileNetV2
from roost_detector.weights import weights_dir
from server import running_server
from steps import console, show, step

OUT = Path(__file__).parent / "out"


def main() -> None:
    """Run every step; a failure shows itself and the server is stopped all the same."""
    started = time.monotonic()
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir()
    with tempfile.TemporaryDirectory(prefix="roost-demo-") as home:
        starting = time.monotonic()
        console.print("[bold]==> Start Roost with an embedded Ray (roost up)[/bold]")
        with running_server(Path(home)) as url:
            show(f"{url} is ready")
            console.print(f"    [dim]{time.monotonic() - starting:.1f} s[/dim]")
            detect(url)
            greet()
            console.print("[bold]==> Stop Roost and Ray[/bold]")
            stopping = time.monotonic()
        console.print(f"    [dim]{time.monotonic() - stopping:.1f} s[/dim]")
    console.print(f"[bold]Done in {time.monotonic() - started:.0f} s.[/bold]")


def detect(url: str) -> None:
    """The detector: weights into the registry, a deployment, two pictures by two routes."""
    with step("Import the detector's weights into the registry (roost.import_model)"):
        saved = roost.import_model(weights_dir, SsdMobileNetV2, "ssd", "mobilenet-v2")
        show(
            f"{saved.key} is {saved.phase}: {saved.size_bytes / 2**20:.1f} MiB, "
            f"bundle {saved.bundle_fingerprint[:12]}"
        )

    with step("Deploy it on Ray and wait until it serves (roost.deploy_model)"):
        deployment = roost.deploy_model(*_parts(saved.key), name="detector", wait=True)
        show(f"{deployment.name!r} is {deployment.phase} at {deployment.url}")

    with step("POST chelsea.png as base64 JSON to /v1/inference/detection"):
        chelsea = picture("chelsea.png")
        body = {"model": "detector", "image": base64.b64encode(chelsea.read_bytes()).decode()}
        answer = httpx2.post(f"{url}/v1/inference/detection", json=body, timeout=60)
        answer.raise_for_status()
        report(chelsea, DetectionResponse.model_validate_json(answer.content).data)

    with step("POST coffee.png as raw bytes to /v1/inference/detection/binary (roost.Client)"):
        coffee = picture("coffee.png")
        with roost.Client() as client:
            report(coffee, client.detection("detector", coffee).data)

    with step("Undeploy the detector (roost.undeploy_model)"):
        roost.undeploy_model(deployment.key)
        show_phase(deployment)


def greet() -> None:
    """A serve-app of ten lines, deployed with two configs: two deployments, two URLs, two answers."""
    with step("Deploy a serve-app of ten lines (demo/greeting.py) with two configs"):
        model = roost.register_model(Greeting, "greeting", "demo")
        wanted = [
            roost.deploy_model(*_parts(model.key), config={"word": word}) for word in ("Hello", "Bonjour")
        ]
        for deployment in wanted:
            roost.wait_for_model_serving(deployment.key, timeout=120)
            answer = httpx2.get(f"{deployment.url}/greet/Ray", timeout=30).raise_for_status()
            show(f"{deployment.url}/greet/Ray -> {json.dumps(answer.json())}")

    with step("Undeploy both"):
        for deployment in wanted:
            roost.undeploy_model(deployment.key)
            show_phase(deployment)


def show_phase(deployment: roost.Deployment) -> None:
    """Say how a deployment stands now."""
    show(f"{deployment.name!r} is {roost.model_serving_status(deployment.key).phase}")


def picture(name: str) -> Path:
    """One of scikit-image's pictures. The package is not imported: only its files are installed."""
    spec = find_spec("skimage")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("scikit-image's pictures are not installed; run `make setup`.")
    return Path(spec.submodule_search_locations[0]) / "data" / name


def report(source: Path, output: DetectionOutput) -> None:
    """Print each box and write the picture with the boxes drawn on it."""
    for box, score, name in zip(output.boxes, output.scores, output.classes, strict=True):
        show(f"{name} {score:.2f} {box}")
    target = OUT / source.name
    draw_detections(Image.open(source), output).save(target)
    show(f"wrote {target.relative_to(Path.cwd()) if target.is_relative_to(Path.cwd()) else target}")


def _parts(key: roost.ModelKey) -> tuple[str, str, str]:
    return key.family, key.suffix, key.run_name


if __name__ == "__main__":
    main()
