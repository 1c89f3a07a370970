"""The environment of all processes of an embedded cluster, or of a node that joins one."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import cache_from_source, find_spec
from pathlib import Path
from typing import Final

import psutil

from roost.engine.embedded.haproxy import write_wrapper
from roost.engine.embedded.host import LOOPBACK
from roost.engine.embedded.processes import MARK
from roost.engine.embedded.state import ClusterState
from roost.hosts import is_loopback

# A request with a small picture passes in one piece: with HAProxy's 16 KiB a body of 70 KB took twice
# as long and gave half the throughput (docs/decisions/0005-ingress-buffers.md).
_INGRESS_BUFFER: Final = 96 * 1024
_INGRESS_THREADS_MAX: Final = 4
_LONGEST_REQUEST_S: Final = 900

# They would make Ray join, or its tools ask, another cluster.
_DROPPED: Final = (
    "RAY_ADDRESS",
    "RAY_API_SERVER_ADDRESS",
    "RAY_AUTH_TOKEN",
    "RAY_AUTH_TOKEN_PATH",
    "RAY_JOB_CONFIG_JSON_ENV_VAR",
    "RAY_NAMESPACE",
    "RAY_NODE_ID",
    "RAY_RAYLET_PID",
    "RAY_REDIS_ADDRESS",
    "RAY_TMPDIR",
)
# The server's own settings hold keys and passwords; a replica needs none but these.
_KEPT_OF_ROOST: Final = ("ROOST_CACHE_DIR", "ROOST_CACHE_MAX_GB", "ROOST_WORKER_PROVIDES")


def start_environment(
    state: ClusterState, inherited: Mapping[str, str], added: Mapping[str, str], bytecode_dir: Path
) -> dict[str, str]:
    """The environment of all processes of a cluster, or of a node of one: Serve is set up alike on each.

    Writes the HAProxy wrapper into its run directory.
    """
    kept = {
        name: value
        for name, value in inherited.items()
        if name not in _DROPPED and (not name.startswith("ROOST_") or name in _KEPT_OF_ROOST)
    }
    wrapper = write_wrapper(Path(state.run_dir), state.host, state.ports.serve)
    ours = {
        MARK: state.cluster_id,
        "RAY_AUTH_MODE": "token" if state.token else "disabled",
        **({"RAY_AUTH_TOKEN": state.token} if state.token else {}),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0",
        "RAY_START_HOOK": "roost.engine.embedded.start_hook.keep_lean",
        # Ray's own switch for one-machine clusters: without it a loopback address is replaced by the
        # machine's outer one, and its processes listen on all interfaces.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0" if is_loopback(state.host) else "1",
        # Ray's own waits are for an idle machine; how long a start may take is for our time-out to say.
        "RAY_DASHBOARD_STARTUP_TIMEOUT_S": "600",
        "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": "600",
        "DASHBOARD_METRIC_PORT": str(state.ports.inner(7)),
        "NO_PROXY": _no_proxy(inherited, state.host),
        "no_proxy": _no_proxy(inherited, state.host),
        **_ingress(state, wrapper),
    }
    return {**kept, **_bytecode(kept, bytecode_dir), **added, **ours}


def _ingress(state: ClusterState, wrapper: Path | None) -> dict[str, str]:
    """Serve's settings: HAProxy as ingress where there is one, files and ports of our own."""
    directory = Path(state.run_dir) / "h"
    http, grpc = state.ports.replica_http, state.ports.replica_grpc
    settings = {
        "THROUGHPUT_OPTIMIZED": "1",
        # Without it a log shows nothing until a replica has written 1000 lines.
        "REQUEST_PATH_LOG_BUFFER_SIZE": "1",
        # Requests go there while Ray builds a new version. Ray binds its default of 8500 so that two clusters
        # of a machine share it, and one would answer for the other.
        "FALLBACK_PROXY_HTTP_PORT": str(state.ports.inner(10)),
        "FALLBACK_PROXY_GRPC_PORT": str(state.ports.inner(11)),
        # How long a replica that is to stop still takes requests, for the ingress to forget it; Ray's default
        # of 30 s would hold a paused model's room for so long (docs/decisions/0009-drain-and-wake.md).
        "DIRECT_INGRESS_MIN_DRAINING_PERIOD_S": "8",
        # Within so long a waiting request wakes a paused model, and load is seen.
        "HANDLE_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "1",
        "REPLICA_AUTOSCALING_METRIC_PUSH_INTERVAL_S": "2",
        # An ingress that died is noticed at the third look: after 12 s, not 30 s.
        "PROXY_HEALTH_CHECK_PERIOD_S": "4",
        "DIRECT_INGRESS_MIN_HTTP_PORT": str(http[0]),
        "DIRECT_INGRESS_MAX_HTTP_PORT": str(http[1]),
        "DIRECT_INGRESS_MIN_GRPC_PORT": str(grpc[0]),
        "DIRECT_INGRESS_MAX_GRPC_PORT": str(grpc[1]),
        "HAPROXY_CONFIG_FILE_LOC": str(directory / "haproxy.cfg"),
        "HAPROXY_SOCKET_PATH": str(directory / "admin.sock"),
        "HAPROXY_METRICS_SOCKET_PATH": str(directory / "metrics.sock"),
        "HAPROXY_SERVER_STATE_BASE": str(directory),
        "HAPROXY_SERVER_STATE_FILE": str(directory / "state"),
        "HAPROXY_STATS_PORT": str(state.ports.inner(8)),
        "HAPROXY_METRICS_PORT": str(state.ports.inner(9)),
        "HAPROXY_TUNE_BUFSIZE": str(_INGRESS_BUFFER),
        "HAPROXY_NBTHREAD": str(_ingress_threads()),
        # At each change of routes HAProxy is replaced; the old process ends with its last request, but no
        # later than this. Ray's default of 120 s would cut off what is held while a large model starts.
        "HAPROXY_HARD_STOP_AFTER_S": str(_LONGEST_REQUEST_S),
        # Ports of replicas that left are not given out again for so long. Ray derives it from the time above;
        # but an idle connection to an old process, which knows the old ports, ends after 90 s.
        "PORT_QUARANTINE_S": "150",
    }
    if wrapper is not None:
        settings |= {"ENABLE_HA_PROXY": "1", "HAPROXY_BINARY_PATH": str(wrapper)}
    return {f"RAY_SERVE_{name}": value for name, value in settings.items()}


def _ingress_threads() -> int:
    """Half of the cores at most: the replicas need the others."""
    return max(1, min(_INGRESS_THREADS_MAX, (psutil.cpu_count() or 1) // 2))


def _bytecode(environment: Mapping[str, str], bytecode_dir: Path) -> dict[str, str]:
    """Where Python keeps compiled modules: halves the start where Ray was installed without them.

    Each of Ray's twenty processes would otherwise compile all it imports (uv installs no bytecode,
    container images often forbid writing it).
    """
    spec = find_spec("ray")
    if spec is None or spec.origin is None or Path(cache_from_source(spec.origin)).exists():
        return {}
    return {
        "PYTHONPYCACHEPREFIX": environment.get("PYTHONPYCACHEPREFIX", str(bytecode_dir)),
        "PYTHONDONTWRITEBYTECODE": "",
    }


def _no_proxy(inherited: Mapping[str, str], host: str) -> str:
    known = inherited.get("no_proxy") or inherited.get("NO_PROXY") or ""
    outer = "" if is_loopback(host) else host
    return ",".join(part for part in (known, LOOPBACK, "localhost", outer) if part)
