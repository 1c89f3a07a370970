"""Which media a replica may load, and how much of it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from roost.errors import BadRequest, PayloadTooLarge

IMAGE_FORMATS: Final = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
"""The decoders that can be allowed, by Pillow's names."""

_POSITIVE: Final = (
    "max_image_pixels",
    "max_frames",
    "max_video_pixels",
    "connect_timeout_s",
    "read_timeout_s",
    "total_timeout_s",
)

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


@dataclass(frozen=True, slots=True, kw_only=True)
class MediaPolicy:
    """Bounds on the media of one request. The defaults allow public URLs and no local path.

    Attributes:
        max_image_pixels: Width times height, checked before an image is decoded.
        max_frames: Most frames of one video.
        max_video_pixels: Sum over all frames of width times height; decoded, each takes 3 bytes.
        max_bytes: Most bytes of one encoded image or video, however it comes; 0 = no limit.
        allowed_formats: The only decoders that see the bytes; a subset of `IMAGE_FORMATS`.
        media_roots: Directories below which local paths may be read, links resolved.
        allowed_networks: Networks (`10.1.0.0/16`) that URLs may reach although they are not public.
        connect_timeout_s: Longest wait for a connection.
        read_timeout_s: Longest silence of a server.
        total_timeout_s: Longest time for one medium from a URL, redirects included. Name resolution
            is bounded by the system's resolver instead.
        max_redirects: Redirects followed for one URL.

    Raises:
        BadRequest: for an unknown format, a malformed network or a bound that is not positive.
    """

    max_image_pixels: int = 64_000_000
    max_frames: int = 4096
    max_video_pixels: int = 512_000_000
    max_bytes: int = 100 * 1024 * 1024
    allowed_formats: tuple[str, ...] = IMAGE_FORMATS
    media_roots: tuple[Path, ...] = ()
    allowed_networks: tuple[str, ...] = ()
    connect_timeout_s: float = 5.0
    read_timeout_s: float = 10.0
    total_timeout_s: float = 30.0
    max_redirects: int = 3
    networks: tuple[Network, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        unknown = set(self.allowed_formats) - set(IMAGE_FORMATS)
        if unknown or not self.allowed_formats:
            raise BadRequest(
                f"allowed_formats={self.allowed_formats!r} is not valid: it must be some of {IMAGE_FORMATS}."
            )
        for name in (
            "max_image_pixels",
            "max_frames",
            "max_video_pixels",
            "connect_timeout_s",
            "read_timeout_s",
            "total_timeout_s",
        ):
            value = getattr(self, name)
            if not value > 0:
                raise BadRequest(f"{name}={value!r} is not valid: it must be positive.")
        for name in ("max_bytes", "max_redirects"):
            value = getattr(self, name)
            if value < 0:
                raise BadRequest(f"{name}={value!r} is not valid: it must be 0 or positive.")
        object.__setattr__(self, "networks", tuple(_network(text) for text in self.allowed_networks))

    def check_size(self, size_bytes: int, what: str) -> None:
        """Let `size_bytes` pass when it is within `max_bytes`.

        Raises:
            PayloadTooLarge: when it is not.
        """
        if self.max_bytes and size_bytes > self.max_bytes:
            raise PayloadTooLarge(
                f"{what} has more than {self.max_bytes} bytes, the most that are allowed.",
                hint="Send a smaller one.",
            )

    def check_pixels(self, width: int, height: int, what: str) -> None:
        """Let one picture pass when it is within `max_image_pixels`.

        Raises:
            PayloadTooLarge: when it is not.
        """
        if width * height > self.max_image_pixels:
            raise PayloadTooLarge(
                f"{what} has {width}x{height} pixels; at most {self.max_image_pixels} are allowed.",
                hint="Send a smaller one.",
            )


def _network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text)
    except ValueError as error:
        raise BadRequest(
            f"allowed network {text!r} is not valid.", hint="Write it as 10.1.0.0/16 or 127.0.0.1/32."
        ) from error
