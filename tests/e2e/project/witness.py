"""Tells which Roost its replica runs, and in which process."""

from __future__ import annotations

import os

from fastapi import FastAPI

import roost

app = FastAPI()


@roost.serve.ingress(app)
class Witness:
    def __init__(self, key: roost.DeploymentKey) -> None:
        self.key = key

    @app.get("/roost")
    def runtime(self) -> dict[str, str]:
        return {"file": str(roost.__file__), "version": roost.__version__}

    @app.get("/pid")
    def pid(self) -> int:
        return os.getpid()
