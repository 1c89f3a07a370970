"""A driver of test_placement_on_ray.py: makes bare actors as told on stdin, one JSON line an order.

It runs in a process of its own, since a driver cannot leave a cluster without a trace.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import ray
from ray import serve


class Placed:
    """Holds its room, and knows where."""

    def where(self) -> dict[str, Any]:
        return {
            "node": ray.get_runtime_context().get_node_id(),
            "cards": sorted(int(card) for card in ray.get_gpu_ids()),
        }


class Where:
    """A Serve application that answers with the id of its node."""

    async def __call__(self, request: Any) -> str:
        return str(ray.get_runtime_context().get_node_id())


app = serve.deployment(name="App")(Where).bind()


def main(address: str) -> None:
    """Orders: `{"make": {name: options}}`, `{"where": [names]}` (until they run), `{"end": [names]}`."""
    ray.init(address=address, log_to_driver=False)
    actors: dict[str, Any] = {}
    for line in sys.stdin:
        order = json.loads(line)
        for name, options in order.get("make", {}).items():
            actors[name] = ray.remote(Placed).options(name=name, **options).remote()
        places = {name: actors[name].where.remote() for name in order.get("where", [])}
        for name in order.get("end", []):
            ray.kill(actors.pop(name))
        print(json.dumps({name: ray.get(place) for name, place in places.items()}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
