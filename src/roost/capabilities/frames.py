"""Loads the frames of a video: a file, or images in their order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

from PIL import Image

from roost.capabilities.images import collect, load_images
from roost.capabilities.media import read_media
from roost.capabilities.policy import MediaPolicy
from roost.errors import InvalidMedia, RoostError, Unavailable

if TYPE_CHECKING:
    from av.container import InputContainer

_SIGNATURES: Final[tuple[tuple[int, bytes, str], ...]] = (
    (4, b"ftyp", "mp4"),
    (0, b"\x1a\x45\xdf\xa3", "matroska"),
    (8, b"AVI ", "avi"),
)
"""Where a container's bytes tell what it is, and the only demuxer that then sees them."""


def load_frames(sources: Sequence[str | bytes], policy: MediaPolicy) -> list[Image.Image]:
    """The frames as RGB, in their order.

    Args:
        sources: One MP4, Matroska, WebM or AVI file, or one image a frame; as `load_image` takes each.

    Raises:
        InvalidMedia: for media that are broken or of another format.
        PayloadTooLarge: for more frames or pixels than the policy allows.
        Unavailable: for a video file where PyAV is not installed.
    """
    first = read_media(sources[0], policy)
    kind = _container(first)
    if kind is None:
        return load_images((first, *sources[1:]), policy)
    if len(sources) > 1:
        raise InvalidMedia(
            "frame 0 is a video file, but there are more frames.", hint="Send one video file, or images."
        )
    policy.check_size(len(first), "video")
    return _decode(first, kind, policy)


def _container(data: bytes) -> str | None:
    for offset, signature, kind in _SIGNATURES:
        if data[offset : offset + len(signature)] == signature:
            return kind
    return None


def _decode(data: bytes, kind: str, policy: MediaPolicy) -> list[Image.Image]:
    try:
        import av  # noqa: PLC0415  # an extra: few replicas read video files
    except ImportError as error:
        raise Unavailable(
            "This replica cannot read video files: PyAV is not installed.",
            hint="Send the frames as images, or install roost[video] where the model runs.",
        ) from error
    try:
        with av.open(BytesIO(data), mode="r", format=kind) as container:
            frames = collect(_frames(container, policy), policy)
    except (RoostError, MemoryError):
        raise
    except Exception as error:  # hostile bytes make FFmpeg's decoders raise almost anything
        raise InvalidMedia(
            "video is broken or of a codec that is not known: it could not be decoded.",
            hint="Open it in a player to check it, and send all of its bytes.",
        ) from error
    if not frames:
        raise InvalidMedia("video has no frames.", hint="Open it in a player to check it.")
    return frames


def _frames(container: InputContainer, policy: MediaPolicy) -> Iterable[Image.Image]:
    if not container.streams.video:
        raise InvalidMedia("video has no stream of pictures.", hint="Send a file with a video stream.")
    stream: Any = container.streams.video[0]
    policy.check_pixels(stream.width, stream.height, "video frame")
    for frame in container.decode(stream):
        policy.check_pixels(frame.width, frame.height, "video frame")
        yield frame.to_image()
