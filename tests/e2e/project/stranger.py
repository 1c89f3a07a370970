"""A Serve application that somebody else deploys by hand."""

from __future__ import annotations

import os

from ray import serve
from starlette.requests import Request


class Stranger:
    async def __call__(self, request: Request) -> str:
        return str(os.getpid())


app = serve.deployment(ray_actor_options={"num_cpus": 0.1})(Stranger).bind()
