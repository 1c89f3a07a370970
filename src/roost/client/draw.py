"""Draws results on pictures. Needs Pillow, which the base install does not bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.contracts.detection import DetectionOutput

if TYPE_CHECKING:
    from PIL.Image import Image

_COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#808000")


def draw_detections(image: Image, output: DetectionOutput) -> Image:
    """A copy of `image` (RGB) with each box and its `class score` drawn on it; one colour a class."""
    from PIL import ImageDraw, ImageFont  # noqa: PLC0415  # optional dependency

    picture = image.convert("RGB")
    canvas = ImageDraw.Draw(picture)
    line = max(2, round(max(picture.size) / 250))
    font = ImageFont.load_default(size=max(12, max(picture.size) // 40))
    colours = {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(dict.fromkeys(output.classes))}
    for (x1, y1, x2, y2), score, name in zip(output.boxes, output.scores, output.classes, strict=True):
        colour = colours[name]
        canvas.rectangle((x1, y1, x2, y2), outline=colour, width=line)
        label = f"{name} {score:.2f}"
        left, top, right, bottom = canvas.textbbox((x1, y1), label, font=font)
        above = max(0, y1 - (bottom - top) - 2 * line)
        canvas.rectangle(
            (x1, above, x1 + (right - left) + 2 * line, above + (bottom - top) + 2 * line), fill=colour
        )
        canvas.text((x1 + line, above + line - (top - y1)), label, fill="white", font=font)
    return picture
