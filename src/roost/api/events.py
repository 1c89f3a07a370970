"""`/api/events`: what happened to deployments."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from roost.contracts.event import EventList
from roost.keys import DeploymentKey
from roost.services.changes import Changes
from roost.services.events import Events

MAX_WAIT_S = 30.0
MAX_EVENTS = 1000
_MAX_ID = 2**63 - 1


def events_router(events: Events, changes: Changes) -> APIRouter:
    """The route of events."""
    router = APIRouter(prefix="/api/events", tags=["events"])

    @router.get("", summary="List events, or wait for those that come next")
    async def list_events(
        subject: Annotated[str | None, Query(description="A deployment's key; without it, of all.")] = None,
        after_id: Annotated[
            int | None,
            Query(alias="afterId", ge=0, le=_MAX_ID, description="Those after this one; else the last."),
        ] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_EVENTS)] = 100,
        wait_s: Annotated[
            float,
            Query(alias="waitS", ge=0, le=MAX_WAIT_S, description="With `afterId`: wait for one so long."),
        ] = 0.0,
    ) -> EventList:
        key = DeploymentKey.parse(subject) if subject is not None else None
        return await changes.read_until(
            lambda: events.list(subject=key, after_id=after_id, limit=limit),
            lambda found: bool(found.items) or after_id is None,
            timeout_s=wait_s,
        )

    return router
