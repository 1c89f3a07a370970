"""Boxes and labels are drawn where they belong, on a copy."""

from __future__ import annotations

from PIL import Image

from roost.client.draw import draw_detections
from roost.contracts.detection import DetectionOutput


def test_the_box_is_drawn_on_a_copy() -> None:
    blank = Image.new("RGB", (100, 80), "white")
    drawn = draw_detections(blank, DetectionOutput(boxes=[[20, 30, 60, 70]], scores=[0.9], classes=["cat"]))
    assert blank.getcolors() == [(8000, (255, 255, 255))]
    assert drawn.getpixel((60, 50)) == (0xE6, 0x19, 0x4B)
    assert drawn.getpixel((40, 50)) == (255, 255, 255)


def test_nothing_found_draws_nothing() -> None:
    blank = Image.new("RGB", (10, 10), "white")
    drawn = draw_detections(blank, DetectionOutput(boxes=[], scores=[], classes=[]))
    assert drawn.getcolors() == [(100, (255, 255, 255))]


def test_labels_of_boxes_at_one_place_do_not_cover_each_other() -> None:
    boxes = [[20, 60, 90, 90], [20, 60, 90, 90]]
    output = DetectionOutput(boxes=boxes, scores=[0.9, 0.8], classes=["cat", "dog"])
    drawn = draw_detections(Image.new("RGB", (200, 200), "white"), output)
    colours = {colour for _, colour in drawn.getcolors(40000) or []}
    red, green = (0xE6, 0x19, 0x4B), (0x3C, 0xB4, 0x4B)
    assert {red, green} <= colours
    pixels = [drawn.getpixel((22, y)) for y in range(40, 60)]
    assert red in pixels
