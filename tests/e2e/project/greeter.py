"""A serve-app without weights; its config says how it greets, or that it cannot start."""

from __future__ import annotations

import os

from fastapi import FastAPI, Request

import roost

app = FastAPI()


@roost.serve.ingress(app)
class Greeter:
    def __init__(self, key: roost.DeploymentKey) -> None:
        config = roost.model_config(key)
        if "broken" in config:
            raise ValueError(f"no greeting for {config['broken']!r}")
        self.word = config.get("word", "Hello")
        print(f"greets with {self.word}", flush=True)

    @app.get("/greet/{name}")
    def greet(self, name: str) -> str:
        return f"{self.word}, {name}!"

    @app.get("/pid")
    def pid(self) -> int:
        return os.getpid()

    @app.post("/length")
    async def length(self, request: Request) -> int:
        return len(await request.body())
