"""What test_replica_on_ray.py deploys: a serve-app and an inference model."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

from fastapi import FastAPI

import roost.serve
from roost.capabilities import DetectionInput, DetectionModel, DetectionOutput
from roost.keys import DeploymentKey
from roost.replica.context import find_current

app = FastAPI()


@roost.serve.ingress(app)
class Greeter:
    """Greets as its config says; `broken` in it fails the constructor."""

    def __init__(self, key: DeploymentKey) -> None:
        replica = find_current()
        assert replica is not None
        assert replica.spec.key == key
        self.config = replica.spec.config
        self.running = 0
        if "broken" in self.config:
            raise ValueError(f"no greeting for {self.config['broken']!r}")

    @app.get("/greet/{name}")
    def greet(self, name: str) -> str:
        return f"{self.config['greeting']} {name}"

    @app.post("/length")
    async def length(self, body: dict[str, str]) -> int:
        return len(body)

    @app.get("/hold")
    async def hold(self) -> None:
        self.running += 1
        try:
            await asyncio.Event().wait()
        finally:
            self.running -= 1

    @app.get("/running")
    def count(self) -> int:
        return self.running

    @app.get("/fail")
    def fail(self) -> None:
        raise RuntimeError("a secret of the app")


class Sizes(DetectionModel):
    """Notes each threshold it is asked with. 0.75 waits for the gate file; 0.875 never ends."""

    def load_model(self) -> None:
        self.notes = Path(self.config["notes"])

    def predict(self, input: DetectionInput) -> DetectionOutput:
        with self.notes.open("a") as notes:
            notes.write(f"{input.box_threshold}\n")
        wait = threading.Event().wait
        if input.box_threshold == 0.875:
            wait()
        gate = self.notes.with_suffix(".gate")
        while input.box_threshold == 0.75 and not gate.exists():
            wait(0.02)
        width, height = input.image.size
        return DetectionOutput(boxes=[[0, 0, width, height]], scores=[1.0], classes=["size"])

    def unload(self) -> None:
        self.notes.with_suffix(".unloaded").touch()
