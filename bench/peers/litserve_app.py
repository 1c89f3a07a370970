"""The same two models as LitServe APIs: `litserve_app.py noop|boxes PORT`."""

import sys
from typing import Any

import litserve

from boxes import bright_box, decode


class Noop(litserve.LitAPI):
    """Finds nothing."""

    def setup(self, device: str) -> None:
        """Nothing to load."""

    def decode_request(self, request):  # unannotated: LitServe reads the types to choose how it parses
        """The picture's base64."""
        image: str = request["image"]
        return image

    def predict(self, _image: str) -> list[list[int]]:
        """No boxes."""
        return []

    def encode_response(self, output: list[list[int]]) -> dict[str, Any]:
        """The answer."""
        return {"boxes": output, "scores": [1.0] * len(output), "classes": ["bright"] * len(output)}


class Boxes(Noop):
    """One box around the bright part."""

    def predict(self, image: str) -> list[list[int]]:
        """The box."""
        return [bright_box(decode(image))]


if __name__ == "__main__":
    api = {"noop": Noop, "boxes": Boxes}[sys.argv[1]](api_path=f"/{sys.argv[1]}")
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1)
    server.run(
        host="127.0.0.1",
        port=int(sys.argv[2]),
        num_api_servers=1,
        generate_client_file=False,
        log_level="warning",
    )
