"""The request bodies all systems get, byte for byte the same."""

from __future__ import annotations

import base64
import json
from io import BytesIO

import numpy as np
from PIL import Image
from PIL.PngImagePlugin import PngInfo

BODIES = ("1 KB", "70 KB", "JPEG 640x480")


def bodies() -> dict[str, bytes]:
    """1 KB and 70 KB of JSON around a valid 8x8 PNG, and a noisy 640x480 JPEG."""
    return {"1 KB": _padded(1_000), "70 KB": _padded(70_000), "JPEG 640x480": _json(_jpeg())}


def _padded(size: int) -> bytes:
    """A body of `size` bytes: the PNG is grown by a text chunk."""
    bare = len(_json(_png("")))
    return _json(_png("x" * max(0, (size - bare) * 3 // 4 - 16)))


def _json(image: bytes) -> bytes:
    # The peers address the model by URL; `MODEL` is replaced by what a system calls it.
    return json.dumps({"model": "MODEL", "image": base64.b64encode(image).decode()}).encode()


def _png(text: str) -> bytes:
    info = PngInfo()
    if text:
        info.add_text("padding", text)
    buffer = BytesIO()
    Image.new("RGB", (8, 8), (90, 120, 200)).save(buffer, "PNG", pnginfo=info)
    return buffer.getvalue()


def _jpeg() -> bytes:
    noise = np.random.default_rng(7).integers(0, 40, (480, 640, 3), dtype=np.uint8)
    noise[120:300, 200:460] += 150
    buffer = BytesIO()
    Image.fromarray(noise).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()
