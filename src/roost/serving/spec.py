"""The application that is PUT to Ray for a deployment.

Ray hashes `import_path`, `args` and `runtime_env` into the code version and restarts every
replica when one changes. What may change without a restart is in the overrides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from packaging.requirements import InvalidRequirement, Requirement

from roost.contracts.replica import ReplicaSpec
from roost.serving.scale import asleep
from roost.serving.settings import ServeSettings

IMPORT_PATH: Final = "roost.replica.builder:build"
SERVE_DEPLOYMENT: Final = "App"
"""Name of the one Serve deployment inside each application."""

_RESTARTS_ARG: Final = "restarts"


def application(
    spec: ReplicaSpec, *, scale: dict[str, Any], actor_options: dict[str, Any], settings: ServeSettings
) -> dict[str, Any]:
    """The application of one deployment, as plain JSON values.

    Args:
        scale: Ray's autoscaling config (`serving.scale`); its change restarts nothing.
        actor_options: What one replica needs and where it may run (`serving.placement`).
    """
    app: dict[str, Any] = {
        "name": spec.key.app_name,
        "route_prefix": spec.key.route_prefix,
        "import_path": IMPORT_PATH,
        "args": spec.model_dump(mode="json", by_alias=True),
    }
    runtime_env = {
        "py_modules": [spec.runtime_zip] if spec.runtime_zip else [],
        "uv": missing_pins(spec.servable.pins, settings.installed_version),
    }
    if any(runtime_env.values()):
        app["runtime_env"] = {name: entries for name, entries in runtime_env.items() if entries}
    # A line for each request would cost more than the request; errors are logged by the replica itself.
    app["logging_config"] = {"enable_access_log": False}
    app["deployments"] = [
        {
            "name": SERVE_DEPLOYMENT,
            "autoscaling_config": scale,
            "max_ongoing_requests": settings.max_ongoing_requests,
            "max_queued_requests": settings.max_queued_requests,
            "backpressure_config": {"retry_after_s": 1.0},
            # New replicas start before old ones stop, so that a failed update leaves the old ones serving.
            "max_surge_percent": 100,
            "health_check_period_s": settings.health_check_period_s,
            "health_check_timeout_s": settings.health_check_timeout_s,
            "graceful_shutdown_timeout_s": settings.drain_s,
            "ray_actor_options": actor_options,
        }
    ]
    return app


def missing_pins(pins: Iterable[str], installed_version: Callable[[str], str | None]) -> list[str]:
    """The pins the workers' environment does not satisfy, sorted; one that cannot be read is among them."""
    return sorted({pin for pin in pins if not _is_installed(pin, installed_version)})


def with_restarts(app: dict[str, Any], restarts: int) -> dict[str, Any]:
    """`app` as it is PUT to make Ray start it afresh for the `restarts`-th time; itself for 0."""
    if restarts == 0:
        return app
    return {**app, "args": {**app["args"], _RESTARTS_ARG: restarts}}


def as_paused(app: dict[str, Any]) -> dict[str, Any]:
    """`app` without replicas, until a request comes."""
    return _with_overrides(app, autoscaling_config=asleep())


def as_in_place(app: dict[str, Any]) -> dict[str, Any]:
    """`app` as it is PUT to stop old replicas before new ones start."""
    return _with_overrides(app, max_surge_percent=0)


def replica_options(app: Mapping[str, Any]) -> dict[str, Any]:
    """The actor options of one replica of `app`."""
    options: dict[str, Any] = app["deployments"][0]["ray_actor_options"]
    return options


def restarts_replicas(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether Ray replaces the replicas when `new` is PUT over `old`."""
    return any(old.get(part) != new.get(part) for part in ("import_path", "args", "runtime_env")) or (
        _actor_options(old) != _actor_options(new)
    )


def _with_overrides(app: dict[str, Any], **overrides: Any) -> dict[str, Any]:
    return {**app, "deployments": [{**app["deployments"][0], **overrides}]}


def _actor_options(app: Mapping[str, Any]) -> list[Any]:
    return [(part.get("name"), part.get("ray_actor_options")) for part in app.get("deployments", [])]


def _is_installed(pin: str, installed_version: Callable[[str], str | None]) -> bool:
    try:
        requirement = Requirement(pin)
    except InvalidRequirement:
        return False
    version = installed_version(requirement.name)
    return version is not None and requirement.specifier.contains(version, prereleases=True)
