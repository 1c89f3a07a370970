"""Draws results on pictures. Needs Pillow, which the base install does not bring."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roost.contracts.detection import DetectionOutput

if TYPE_CHECKING:
    from PIL.Image import Image

_COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#008080", "#9a6324", "#808000")

Rectangle = tuple[int, int, int, int]


def draw_detections(image: Image, output: DetectionOutput) -> Image:
    """A copy of `image` (RGB) with each box and its `class score` drawn on it; one colour a class."""
    from PIL import ImageDraw, ImageFont  # noqa: PLC0415  # optional dependency

    picture = image.convert("RGB")
    canvas = ImageDraw.Draw(picture)
    line = max(2, round(max(picture.size) / 250))
    font = ImageFont.load_default(size=max(12, max(picture.size) // 40))
    colours = {name: _COLOURS[at % len(_COLOURS)] for at, name in enumerate(dict.fromkeys(output.classes))}
    for box, name in zip(output.boxes, output.classes, strict=True):
        canvas.rectangle(tuple(box), outline=colours[name], width=line)
    placed: list[Rectangle] = []
    for (x1, y1, _, _), score, name in zip(output.boxes, output.scores, output.classes, strict=True):
        label = f"{name} {score:.2f}"
        left, top, right, bottom = (round(edge) for edge in canvas.textbbox((0, 0), label, font=font))
        place = _free_place(x1, y1, right - left + 2 * line, bottom - top + 2 * line, placed)
        placed.append(place)
        canvas.rectangle(place, fill=colours[name])
        canvas.text((place[0] + line - left, place[1] + line - top), label, fill="white", font=font)
    return picture


def _free_place(x: int, y: int, width: int, height: int, placed: list[Rectangle]) -> Rectangle:
    """On top of the box, or as far below that as it takes not to cover another label."""
    top = max(0, y - height)
    while any(_overlap((x, top, x + width, top + height), other) for other in placed):
        top += height + 1
    return (x, top, x + width, top + height)


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
