"""A serve-app of ten lines: its config says which language it speaks."""

from fastapi import FastAPI

import roost

app = FastAPI()


@roost.serve.ingress(app)
class Greeting:
    def __init__(self, key: roost.DeploymentKey) -> None:
        self.word = roost.model_config(key)["word"]

    @app.get("/greet/{name}")
    def greet(self, name: str) -> dict[str, str]:
        return {"greeting": f"{self.word}, {name}!"}
