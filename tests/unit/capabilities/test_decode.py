from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from roost.capabilities import MediaPolicy
from roost.capabilities.decode import decode_image
from roost.errors import InvalidMedia, PayloadTooLarge

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")


def encoded(image: Image.Image, format: str = "PNG", **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def striped(width: int = 40, height: int = 20) -> Image.Image:
    """Red on the left, blue on the right."""
    image = Image.new("RGB", (width, height), (255, 0, 0))
    image.paste((0, 0, 255), (width // 2, 0, width, height))
    return image


def png_header(width: int, height: int) -> bytes:
    """A PNG that declares a size and holds a few bytes of pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = chunk(b"IDAT", zlib.compress(b"\0" * 100))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + pixels + chunk(b"IEND", b"")


@pytest.mark.parametrize("format", FORMATS)
def test_every_allowed_format_gives_rgb(format: str) -> None:
    image = decode_image(encoded(striped(), format), MediaPolicy())

    assert (image.mode, image.size) == ("RGB", (40, 20))
    assert image.getpixel((2, 10)) == pytest.approx((255, 0, 0), abs=8)
    assert image.getpixel((37, 10)) == pytest.approx((0, 0, 255), abs=8)


@pytest.mark.parametrize(
    ("mode", "color", "expected"),
    [
        ("1", 1, (255, 255, 255)),
        ("L", 100, (100, 100, 100)),
        ("LA", (100, 7), (100, 100, 100)),
        ("RGBA", (10, 20, 30, 0), (10, 20, 30)),
        ("P", 0, (0, 0, 0)),
        ("I;16", 65535, (255, 255, 255)),
        ("I;16", 32768, (128, 128, 128)),
        ("I;16", 255, (0, 0, 0)),
    ],
)
def test_every_mode_becomes_rgb(mode: str, color: Any, expected: tuple[int, int, int]) -> None:
    image = decode_image(encoded(Image.new(mode, (3, 2), color)), MediaPolicy())

    assert (image.mode, image.getpixel((1, 1))) == ("RGB", expected)


def test_cmyk_becomes_rgb() -> None:
    image = decode_image(encoded(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG"), MediaPolicy())

    assert image.getpixel((4, 4)) == pytest.approx((255, 0, 0), abs=8)


def test_a_palette_with_transparency_keeps_its_colors() -> None:
    image = Image.new("P", (2, 1))
    image.putpalette([9, 8, 7, 200, 100, 50])
    image.putpixel((1, 0), 1)

    loaded = decode_image(encoded(image, transparency=b"\0\x80"), MediaPolicy())

    assert [loaded.getpixel((x, 0)) for x in (0, 1)] == [(9, 8, 7), (200, 100, 50)]


def test_pixels_of_unknown_range_are_refused() -> None:
    with pytest.raises(InvalidMedia, match="mode 'F'"):
        decode_image(encoded(Image.new("F", (2, 2), 0.5), "TIFF"), MediaPolicy())


@pytest.mark.parametrize("format", ["GIF", "WEBP", "TIFF", "PNG"])
def test_of_an_animation_the_first_frame_is_taken(format: str) -> None:
    frames = [Image.new("RGB", (8, 8), color) for color in [(255, 0, 0), (0, 255, 0), (0, 0, 255)]]
    data = encoded(frames[0], format, save_all=True, append_images=frames[1:])

    assert decode_image(data, MediaPolicy()).getpixel((4, 4)) == pytest.approx((255, 0, 0), abs=4)


@pytest.mark.parametrize(
    ("orientation", "size", "red_at"),
    [
        (1, (40, 20), (2, 10)),
        (2, (40, 20), (37, 10)),
        (3, (40, 20), (37, 10)),
        (4, (40, 20), (2, 10)),
        (5, (20, 40), (10, 2)),
        (6, (20, 40), (10, 2)),
        (7, (20, 40), (10, 37)),
        (8, (20, 40), (10, 37)),
        (99, (40, 20), (2, 10)),
    ],
)
@pytest.mark.parametrize("format", ["JPEG", "PNG", "WEBP"])
def test_the_exif_orientation_is_applied(
    format: str, orientation: int, size: tuple[int, int], red_at: tuple[int, int]
) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation

    image = decode_image(encoded(striped(), format, exif=exif), MediaPolicy())

    assert image.size == size
    assert image.getpixel(red_at) == pytest.approx((255, 0, 0), abs=8)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.9])
def test_images_that_are_cut_off_are_refused(format: str, part: float) -> None:
    data = encoded(Image.effect_noise((64, 48), 90), format)

    with pytest.raises(InvalidMedia):
        decode_image(data[: int(len(data) * part)], MediaPolicy())


def test_a_jpeg_that_lacks_only_its_end_mark_is_refused() -> None:
    with pytest.raises(InvalidMedia, match="broken or cut off"):
        decode_image(encoded(striped(), "JPEG")[:-2], MediaPolicy())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"hello",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%PDF-1.7",
        b"\xff\xd8\xff",
        b"GIF89a",
    ],
)
def test_what_is_no_image_is_refused(data: bytes) -> None:
    with pytest.raises(InvalidMedia):
        decode_image(data, MediaPolicy())


@pytest.mark.parametrize("format", ["PPM", "TGA", "ICO", "PCX", "SGI", "JPEG2000", "AVIF", "DDS", "EPS"])
def test_decoders_that_are_not_allowed_never_run(format: str) -> None:
    with pytest.raises(InvalidMedia, match="is none of JPEG, PNG, WEBP, GIF, BMP, TIFF"):
        decode_image(encoded(striped(), format), MediaPolicy())


def test_the_policy_narrows_the_formats() -> None:
    policy = MediaPolicy(allowed_formats=("PNG",))

    assert decode_image(encoded(striped(), "PNG"), policy).size == (40, 20)
    with pytest.raises(InvalidMedia, match=r"is none of PNG\."):
        decode_image(encoded(striped(), "JPEG"), policy)


def test_the_pixel_cap_is_width_times_height() -> None:
    data = encoded(striped(40, 20))

    assert decode_image(data, MediaPolicy(max_image_pixels=800)).size == (40, 20)
    with pytest.raises(PayloadTooLarge, match="40x20 pixels; at most 799 are allowed"):
        decode_image(data, MediaPolicy(max_image_pixels=799))


@pytest.mark.parametrize("size", [(8001, 8000), (60_000, 60_000), (2_000_000_000, 1), (1, 2_000_000_000)])
def test_a_bomb_is_refused_by_what_it_declares_before_it_is_decoded(size: tuple[int, int]) -> None:
    with pytest.raises(PayloadTooLarge):
        decode_image(png_header(*size), MediaPolicy())


def test_a_bomb_is_refused_by_pillow_when_the_policy_allows_more_than_it_does() -> None:
    with pytest.raises(PayloadTooLarge, match="more pixels than can be decoded safely"):
        decode_image(png_header(60_000, 60_000), MediaPolicy(max_image_pixels=10**12))


def test_a_bomb_in_a_text_chunk_is_refused() -> None:
    data = encoded(striped())
    text = b"zTXt" + b"k\0\0" + zlib.compress(b"a" * 50_000_000)
    chunk = struct.pack(">I", len(text) - 4) + text + struct.pack(">I", zlib.crc32(text))

    with pytest.raises(InvalidMedia):
        decode_image(data[:33] + chunk + data[33:], MediaPolicy())


def test_the_byte_cap_counts_encoded_bytes() -> None:
    data = encoded(striped())

    assert decode_image(data, MediaPolicy(max_bytes=len(data))).size == (40, 20)
    assert decode_image(data, MediaPolicy(max_bytes=0)).size == (40, 20)
    with pytest.raises(PayloadTooLarge, match=f"more than {len(data) - 1} bytes"):
        decode_image(data, MediaPolicy(max_bytes=len(data) - 1))


@given(st.binary(max_size=200), st.sampled_from(FORMATS), st.integers(0, 300), st.integers(0, 40))
def test_altered_bytes_give_an_image_or_our_error(junk: bytes, format: str, start: int, removed: int) -> None:
    data = encoded(striped(), format)
    altered = data[:start] + junk + data[start + removed :]

    try:
        image = decode_image(altered, MediaPolicy(max_image_pixels=1_000_000))
    except (InvalidMedia, PayloadTooLarge):
        return
    assert image.mode == "RGB"
