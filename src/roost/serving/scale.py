"""How many replicas: the part of an application that changes without restarting any.

Every application has an autoscaling config, also one with a fixed count: Ray 2.60 hashes whether there is
one into the code version, so that adding it later, to pause or to scale by load, would restart all replicas.
(docs/decisions/0008-always-autoscaled.md)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from roost.contracts.autoscaling import Autoscaling

_NEVER_S: Final = 86_400.0 * 365

_REPORT_S: Final = 2.0
"""Between two reports of load to Ray's controller."""

_REPORT_ASLEEP_S: Final = 1.0
"""Within so long a request that is held is known, and wakes."""


def fixed(num_replicas: int) -> dict[str, Any]:
    """Ray's autoscaling config of a fixed count; it scales at once, to exactly that."""
    return _config(
        num_replicas, num_replicas, num_replicas, {"upscale_delay_s": 0.0, "downscale_delay_s": 0.0}
    )


def by_load(autoscaling: Autoscaling, initial: int) -> dict[str, Any]:
    """Ray's autoscaling config of `autoscaling`, starting with `initial` kept between its bounds.

    At least one starts, also where none need be kept: a model that cannot start is to be found out.
    """
    low, high = autoscaling.min_replicas, autoscaling.max_replicas
    delays: dict[str, Any] = {
        "target_ongoing_requests": autoscaling.target_ongoing_requests,
        "upscale_delay_s": autoscaling.upscale_delay_s,
        "downscale_delay_s": autoscaling.downscale_delay_s,
        # Ray takes the mean of so long before the delays begin to count: its 30 s would blur shorter ones.
        "look_back_period_s": 3 * _REPORT_S,
    }
    if autoscaling.downscale_to_zero_delay_s is not None:
        delays["downscale_to_zero_delay_s"] = autoscaling.downscale_to_zero_delay_s
    return _config(low, high, max(1, low, min(initial, high)), delays)


def asleep() -> dict[str, Any]:
    """Ray's autoscaling config of a paused deployment: none until a request comes, then one."""
    wakes = {
        "upscale_delay_s": 0.0,
        "downscale_delay_s": 0.0,
        "downscale_to_zero_delay_s": _NEVER_S,
        "metrics_interval_s": _REPORT_ASLEEP_S,
        # Ray looks at the requests held within the last while. Their mean is not 0 while the one that woke it
        # the last time is among them: it would wake again at once. Their minimum is.
        "look_back_period_s": 3 * _REPORT_ASLEEP_S,
        "aggregation_function": "min",
    }
    return _config(0, 1, 0, wakes)


def bounds(app: Mapping[str, Any]) -> tuple[int, int]:
    """Fewest and most replicas that an application may have."""
    config = app["deployments"][0]["autoscaling_config"]
    return config["min_replicas"], config["max_replicas"]


def initial(app: Mapping[str, Any]) -> int:
    """How many replicas an application starts with."""
    count: int = app["deployments"][0]["autoscaling_config"]["initial_replicas"]
    return count


def _config(low: int, high: int, start: int, more: Mapping[str, Any]) -> dict[str, Any]:
    # Ray goes to `initial_replicas` at once whenever the config changes: no wait for its next decision.
    counts = {"min_replicas": low, "max_replicas": high, "initial_replicas": start}
    return {**counts, "metrics_interval_s": _REPORT_S, **more}
