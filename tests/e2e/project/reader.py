"""A serve-app that reads its weights from the registry."""

from __future__ import annotations

from fastapi import FastAPI

import roost

app = FastAPI()
EDITION = "first"


@roost.serve.ingress(app)
class Reader:
    def __init__(self, key: roost.DeploymentKey) -> None:
        self.text = (roost.load_model(key.family, key.suffix, key.run_name) / "text.txt").read_text()

    @app.get("/read")
    def read(self) -> list[str]:
        return [EDITION, self.text]
