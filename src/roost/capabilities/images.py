"""Several images of one request, bounded together."""

from __future__ import annotations

from collections.abc import Iterable

from PIL import Image

from roost.capabilities.media import load_image
from roost.capabilities.policy import MediaPolicy
from roost.errors import PayloadTooLarge


def load_images(sources: Iterable[str | bytes], policy: MediaPolicy) -> list[Image.Image]:
    """The images as RGB, in their order.

    Raises:
        InvalidMedia: as `load_image`.
        PayloadTooLarge: as `load_image`, and for too many images, or pixels of all together.
    """
    return collect((load_image(source, policy) for source in sources), policy)


def collect(images: Iterable[Image.Image], policy: MediaPolicy) -> list[Image.Image]:
    """Images as they are decoded; none is taken beyond the policy's bounds on all together.

    Raises:
        PayloadTooLarge: for too many of them, or too many pixels.
    """
    kept: list[Image.Image] = []
    pixels = 0
    for image in images:
        if len(kept) == policy.max_frames:
            raise PayloadTooLarge(
                f"there are more than {policy.max_frames} images or frames, the most that are allowed.",
                hint="Send fewer at once.",
            )
        pixels += image.width * image.height
        if pixels > policy.max_video_pixels:
            raise PayloadTooLarge(
                f"the first {len(kept) + 1} images or frames have {pixels} pixels; "
                f"at most {policy.max_video_pixels} are allowed for one request.",
                hint="Send fewer or smaller ones.",
            )
        kept.append(image)
    return kept
