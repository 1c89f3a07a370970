"""A class that imports what its bundle does not have: nothing in its source names the module."""

from __future__ import annotations

import importlib

from fastapi import FastAPI

import roost

app = FastAPI()
secret = importlib.import_module("hidden_" + "helper")


@roost.serve.ingress(app)
class Lost:
    def __init__(self, key: roost.DeploymentKey) -> None:
        self.key = key
