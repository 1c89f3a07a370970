"""The floor: the same two models behind plain FastAPI on uvicorn, without Ray or limits."""

from __future__ import annotations

from fastapi import FastAPI
from pydantic import BaseModel

from boxes import bright_box, decode

app = FastAPI()


class Request(BaseModel):
    """A detection request."""

    model: str
    image: str


class Output(BaseModel):
    """A detection answer."""

    boxes: list[list[int]]
    scores: list[float]
    classes: list[str]


@app.post("/noop")
async def noop(_request: Request) -> Output:
    """Finds nothing."""
    return Output(boxes=[], scores=[], classes=[])


@app.post("/boxes")
def boxes(request: Request) -> Output:
    """One box around the bright part."""
    return Output(boxes=[bright_box(decode(request.image))], scores=[1.0], classes=["bright"])
