from __future__ import annotations

from typing import Any

import pytest

from roost.capabilities import MediaPolicy
from roost.errors import BadRequest


def test_the_default_allows_no_local_path_and_no_private_network() -> None:
    policy = MediaPolicy()

    assert (policy.media_roots, policy.allowed_networks) == ((), ())
    assert (policy.max_image_pixels, policy.max_bytes, policy.max_redirects) == (64_000_000, 104_857_600, 3)


@pytest.mark.parametrize(
    "fields",
    [
        {"allowed_formats": ("EPS",)},
        {"allowed_formats": ("jpeg",)},
        {"allowed_formats": ()},
        {"max_image_pixels": 0},
        {"max_bytes": -1},
        {"max_redirects": -1},
        {"connect_timeout_s": 0},
        {"read_timeout_s": -1.0},
        {"total_timeout_s": float("nan")},
        {"allowed_networks": ("localhost",)},
        {"allowed_networks": ("10.0.0.1/8",)},
    ],
)
def test_bounds_that_make_no_sense_are_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(BadRequest, match="is not valid"):
        MediaPolicy(**fields)
