"""Turns encoded bytes into an RGB image, with bounds checked before pixels are decoded."""

from __future__ import annotations

from io import BytesIO

# Registers the allowed decoders and no others; Pillow would load all of them for a missing one.
from PIL import (
    BmpImagePlugin,  # noqa: F401
    GifImagePlugin,  # noqa: F401
    Image,
    ImageOps,
    JpegImagePlugin,  # noqa: F401
    PngImagePlugin,  # noqa: F401
    TiffImagePlugin,  # noqa: F401
    UnidentifiedImageError,
    WebPImagePlugin,  # noqa: F401
)

from roost.capabilities.policy import MediaPolicy
from roost.errors import InvalidMedia, PayloadTooLarge, RoostError


def decode_image(data: bytes, policy: MediaPolicy) -> Image.Image:
    """The image in `data` as RGB, upright; of an animation the first frame.

    Alpha is dropped; 16-bit grey is scaled to 8 bits.

    Raises:
        InvalidMedia: when no allowed decoder knows it, or it is broken or cut off.
        PayloadTooLarge: for more bytes or pixels than the policy allows.
    """
    policy.check_size(len(data), "image")
    try:
        image = Image.open(BytesIO(data), formats=policy.allowed_formats)
        policy.check_pixels(image.width, image.height, "image")
        image.load()
        ImageOps.exif_transpose(image, in_place=True)
        return _to_rgb(image)
    except (RoostError, MemoryError):
        raise
    except UnidentifiedImageError as error:
        raise InvalidMedia(
            f"image of {len(data)} bytes is none of {', '.join(policy.allowed_formats)}.",
            hint="Send the bytes of an encoded image.",
        ) from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise PayloadTooLarge(
            "image has more pixels than can be decoded safely.", hint="Send a smaller image."
        ) from error
    except Exception as error:  # hostile bytes make Pillow's decoders raise almost anything
        raise InvalidMedia(
            "image is broken or cut off: it could not be decoded.",
            hint="Open it in a viewer to check it, and send all of its bytes.",
        ) from error


def _to_rgb(image: Image.Image) -> Image.Image:
    if image.mode == "RGB":
        return image
    if image.mode.startswith("I;16"):
        return image.point(lambda level: level * (1 / 256)).convert("L").convert("RGB")
    if image.mode in ("I", "F"):
        raise InvalidMedia(
            f"image has pixels of mode {image.mode!r}, whose range is not known.",
            hint="Send 8 bits or 16 bits a channel.",
        )
    if image.mode == "P" and "transparency" in image.info:
        return image.convert("RGBA").convert("RGB")
    return image.convert("RGB")
