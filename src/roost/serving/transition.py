"""How one deployment moves on: what is recorded, what Ray shows, and the time, to what is recorded next.

    step `apply`  the application is in the set that is PUT
    step `clear`  it is left out until Ray has forgotten it (and `retry_at` has come), then applied afresh:
                  an identical PUT does not make Ray retry an application that failed

A failed first start is retried with growing pauses. A failed update is not: its old replicas serve,
and it is removed neither now nor when it is deployed again; then the `restarts` counter in the
application's arguments makes it another application to Ray.

A paused deployment is PUT with room for no replica until Ray, on a request, wants one: then it is `waking`,
and PUT as it is awake, which leaves the replica that Ray has begun to start. A start that fails ends the
pause: what then starts it again is not the request any more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from roost.contracts.deployment import DeploymentPhase
from roost.serving.observed import ObservedApp, ObservedReplica
from roost.serving.phases import effective_status, phase_of
from roost.serving.scale import bounds
from roost.serving.spec import restarts_replicas
from roost.serving.state import NOT_STARTED, RUNNING, SERVING, State, Wanted, target_of

MAX_STARTS: Final = 3
"""Starts of one generation before it counts as failed."""

FIRST_PAUSE_S: Final = 1.0
"""Before the second start; each later pause is twice as long."""

WOKEN: Final = "A request woke it."
IN_PLACE: Final = (
    "There was no room beside the version before, so that one was stopped first. Requests wait until it runs."
)

_STILL_SERVED = "The replicas of the version before go on serving."


@dataclass(frozen=True, slots=True)
class Moved:
    """The next state, and the application to PUT; None leaves it out of the set."""

    state: State
    application: dict[str, Any] | None


def move(
    wanted: Wanted, state: State, app: ObservedApp | None, config: dict[str, Any] | None, now: datetime
) -> Moved:
    """One step of one deployment.

    Args:
        app: What Ray shows of it; None when Ray does not list it.
        config: The application Ray was last given, as we gave it; None when it has none.
    """
    if not wanted.present:
        return Moved(_leaving(wanted, state, app), None)
    if state.step == "clear":
        if app is not None or (state.retry_at is not None and now < state.retry_at):
            return Moved(_clearing(state, app), None)
        state = replace(state, step="apply", retry_at=None)
    if app is None:
        return Moved(_unlisted(state), target_of(wanted, state))
    return _applied(wanted, state, app, config, now)


def _leaving(wanted: Wanted, state: State, app: ObservedApp | None) -> State:
    gone = app is None
    return replace(
        state,
        step="apply",
        failures=0,
        retry_at=None,
        restarts=0,
        pause="",
        in_place=False,
        phase="not_deployed" if gone else "deleting",
        message="",
        ray_status=NOT_STARTED if app is None else app.status,
        replicas=() if app is None else app.replicas,
        replaced_bundle_fingerprint="",
        observed_generation=wanted.generation if gone else state.observed_generation,
    )


def _clearing(state: State, app: ObservedApp | None) -> State:
    return replace(
        state,
        phase="deploying",
        ray_status=NOT_STARTED if app is None else app.status,
        replicas=() if app is None else app.replicas,
    )


def _unlisted(state: State) -> State:
    """Ray was never told, or has lost it; it is in what is PUT next."""
    lost = state.phase not in ("not_started", "deploying")
    if state.pause == "paused":
        return replace(state, phase="paused", ray_status=NOT_STARTED, replicas=())
    return replace(
        state,
        phase="not_started" if state.phase == "not_started" else "deploying",
        message="Ray no longer had this application; it is started again." if lost else state.message,
        ray_status=NOT_STARTED,
        replicas=(),
        replaced_bundle_fingerprint="",
    )


def _applied(
    wanted: Wanted, state: State, app: ObservedApp, config: dict[str, Any] | None, now: datetime
) -> Moved:
    target = target_of(wanted, state)
    status = effective_status(app.status, list(app.statuses))
    serves = any(replica.state in SERVING for replica in app.replicas)
    if config != target:
        if status == "DEPLOY_FAILED" and not serves:
            cleared = replace(state, step="clear", retry_at=None, message="", replaced_bundle_fingerprint="")
            return Moved(_clearing(cleared, app), None)
        return Moved(_about_to_put(state, app, config, target), target)
    if status == "DEPLOY_FAILED":
        return _failed(wanted, state, app, serves, now)
    if _is_flash(wanted, state, app):
        return Moved(state, target)
    # Right after the PUT that paused it, while Ray says DEPLOYING, it still shows the target from before.
    if state.pause == "paused" and app.target and status != "DEPLOYING":
        state = replace(state, pause="waking", message=WOKEN, used_at=now)
        return Moved(_about_to_put(state, app, config, target_of(wanted, state)), target_of(wanted, state))
    seen = _seen(wanted, state, app, status, now)
    return Moved(seen, target_of(wanted, seen))


def _is_flash(wanted: Wanted, state: State, app: ObservedApp) -> bool:
    """Whether it only shows the DEPLOYING that each PUT gives every application: nothing of this one changed.

    Written down, it would be two writes of all records for each PUT of one.
    """
    rests = state.phase in ("running", "paused") and state.observed_generation == wanted.generation
    return rests and app.status == "DEPLOYING" and set(app.statuses) == {"HEALTHY"}


def _about_to_put(
    state: State, app: ObservedApp, config: dict[str, Any] | None, target: dict[str, Any]
) -> State:
    """Ray shows an older version: its state says nothing about the wanted one."""
    replaced = config is None or restarts_replicas(config, target)
    replicas = _known(app.replicas, state.replicas) or _kept(state, app)
    if replaced:
        replicas = tuple(replace(replica, outdated=True) for replica in replicas)
    phase: DeploymentPhase = "paused" if state.pause == "paused" else "deploying"
    if not replaced and state.phase == "running":
        phase = "running"  # another count, or another pace: what runs goes on
    return replace(state, phase=phase, ray_status=app.status, replicas=replicas)


def _failed(wanted: Wanted, state: State, app: ObservedApp, serves: bool, now: datetime) -> Moved:
    """The wanted version did not start. Ray has tried it several times by itself."""
    target = target_of(wanted, replace(state, pause=""))
    seen = replace(
        state,
        pause="",
        ray_status=app.status,
        replicas=_known(app.replicas, state.replicas),
        observed_generation=wanted.generation,
    )
    if state.phase == "failed" and state.observed_generation == wanted.generation:
        return Moved(seen, target)
    failures = state.failures + 1
    reason = app.message or "Ray gave no reason; the replica's log may have it."
    if serves or failures >= MAX_STARTS:
        message = f"{_STILL_SERVED} {reason}" if serves else reason
        return Moved(replace(seen, failures=failures, phase="failed", message=message), target)
    pause_s = FIRST_PAUSE_S * 2 ** (failures - 1)
    waiting = replace(
        seen,
        step="clear",
        failures=failures,
        retry_at=now + timedelta(seconds=pause_s),
        phase="deploying",
        message=f"Start {failures} of {MAX_STARTS} failed, the next follows in {pause_s:g} s. {reason}",
    )
    return Moved(waiting, None)


def _seen(wanted: Wanted, state: State, app: ObservedApp, status: str, now: datetime) -> State:
    settled = status == RUNNING  # Ray is done: whatever runs is the wanted version
    replicas = _known(app.replicas, () if settled else state.replicas) or _kept(state, app)
    fresh = sum(replica.state in SERVING and not replica.outdated for replica in replicas)
    # Right after a PUT the deployments still show the target from before it.
    target = app.target if settled or _is_within(app.target, target_of(wanted, state)) else None
    phase = phase_of(status, target=target, running=fresh)
    asleep = state.phase == "paused" and state.observed_generation == wanted.generation
    if state.pause == "paused" or (asleep and target == 0):  # also in the flash of another's PUT
        phase = "paused"
    came_up = phase == "running" and state.phase == "deploying"
    woken = state.pause == "waking" and phase == "running"
    up = phase in ("running", "paused")
    draining = any(replica.outdated for replica in replicas)
    return replace(
        state,
        failures=0 if up else state.failures,
        retry_at=None,
        pause="" if woken else state.pause,
        in_place=state.in_place and not settled,
        # However long it took to start: whoever wanted it has not had time to ask yet.
        used_at=now if woken or came_up else state.used_at,
        phase=phase,
        message=_message(state, app, up=up, draining=draining),
        ray_status=app.status,
        replicas=replicas,
        replaced_bundle_fingerprint="" if up and not draining else state.replaced_bundle_fingerprint,
        observed_generation=wanted.generation,
    )


def _is_within(target: int | None, app: dict[str, Any]) -> bool:
    low, high = bounds(app)
    return target is not None and low <= target <= high


def _message(state: State, app: ObservedApp, *, up: bool, draining: bool) -> str:
    if state.pause == "paused":
        return state.message
    if up:
        return "The replicas of the version before finish their last requests." if draining else ""
    if app.message:
        return app.message
    if state.pause == "waking":
        return WOKEN
    if state.in_place:
        return IN_PLACE
    # Between two starts Ray says nothing; why the last one failed is worth keeping until it does.
    return state.message if state.failures else ""


def _known(
    seen: tuple[ObservedReplica, ...], before: tuple[ObservedReplica, ...]
) -> tuple[ObservedReplica, ...]:
    """What is seen now, with what is known about it from before."""
    outdated = {replica.replica_id for replica in before if replica.outdated}
    return tuple(replace(replica, outdated=replica.replica_id in outdated) for replica in seen)


def _kept(state: State, app: ObservedApp) -> tuple[ObservedReplica, ...]:
    """While Ray builds a new version it lists no deployment, though the old replicas serve."""
    return state.replicas if app.target is None and app.status == "DEPLOYING" else ()
