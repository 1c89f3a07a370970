"""Events, as `import roost` offers them."""

from __future__ import annotations

from roost.client import control_calls
from roost.contracts.event import Event
from roost.keys import DeploymentKey
from roost.sdk.connection import current_client


def list_events(
    key: DeploymentKey | None = None, limit: int = 100, after_id: int | None = None
) -> list[Event]:
    """What happened to the deployments, oldest first; kept for 30 days.

    What repeats more than four times an hour is counted in the last event like it: `times` and `until` in
    its `data`.

    Args:
        key: Only of this deployment.
        limit: At most so many, 1 to 1000: with `after_id` the first after it, else the last.
        after_id: Only events after the one with this `id`.

    Raises:
        ValidationFailed: for a `limit` or an `after_id` out of range.
    """
    return current_client().run(control_calls.list_events(key, limit=limit, after_id=after_id)).items
