"""How replicas are started, where nothing else says so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from roost.contracts.replica import ReplicaLimits


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """Settings that every new or changed deployment takes over into its application.

    Attributes:
        serve_url: Address of Ray Serve's HTTP ingress, without a trailing slash.
        storage_url: Where replicas read bundles, manifests and chunks.
        cache_dir: The nodes' cache folder; None leaves it to each node.
        replica_cpus: CPUs that Ray books for a replica (docs/decisions/0004-replica-cpus.md).
        max_ongoing_requests: Requests a replica works on at once.
        max_queued_requests: Requests that wait for a replica before callers get 503.
        health_check_period_s, health_check_timeout_s: Between and for Ray's health checks.
        drain_s: How long a replica that is to stop may finish what it has begun.
        timeout_s: Longest time of a request to a serve-app; an inference model takes its capability's.
        installed_version: Version of a distribution in the workers' environment, or None when it
            is absent there. The default knows of none, so that every pin is installed by Ray.
        runtime_zip: URI of the replica runtime that workers run; None where they have this server's own.
    """

    serve_url: str
    storage_url: str
    cache_dir: str | None = None
    replica_cpus: float = 0.1
    max_ongoing_requests: int = 64
    max_queued_requests: int = 256
    health_check_period_s: float = 2.0
    health_check_timeout_s: float = 30.0
    drain_s: float = 20.0
    timeout_s: float = 60.0
    limits: ReplicaLimits = field(default_factory=ReplicaLimits)
    installed_version: Callable[[str], str | None] = field(default=lambda _name: None)
    runtime_zip: str | None = None
