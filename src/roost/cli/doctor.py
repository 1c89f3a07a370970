"""`roost doctor`: checks every part and says what to do."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

import typer

import roost
from roost.bundle.worker import PROVIDES_VARIABLE
from roost.cli.doctor_storage import storage_findings
from roost.cli.finding import Finding
from roost.cli.nodes import describe_cards, has_cards
from roost.cli.output import JsonFlag, print_json, print_table
from roost.cli.unreachable import next_step
from roost.client import control_calls
from roost.client.environment import server_url
from roost.contracts.info import EngineInfo, NodeInfo, ServerInfo
from roost.errors import RoostError, ServerUnreachable
from roost.hosts import is_loopback
from roost.sdk.connection import current_client
from roost.sdk.deployments import list_deployed_models
from roost.storage.node_cache import default_cache_dir

_FREE_BYTES_WANTED = 5 * 1024**3
_SHM_BYTES_WANTED = 1024**3


def doctor(as_json: JsonFlag = False) -> None:
    """Check Python, disk, the server, Ray, storage and deployments; exit 1 when something failed."""
    findings = list(_findings())
    if as_json:
        print_json({"checks": [_plain(finding) for finding in findings]})
    else:
        print_table(
            ("CHECK", "RESULT", "DETAIL", "NEXT STEP"),
            ((f.check, f.result, f.detail, f.next_step) for f in findings),
            empty="",
        )
    if any(finding.result == "failed" for finding in findings):
        raise typer.Exit(1)


def _findings() -> Iterator[Finding]:
    yield Finding("python", "ok", f"{sys.version.split()[0]}, roost {roost.__version__}")
    yield _disk()
    yield from _shared_memory()
    try:
        info = current_client().run(control_calls.info(exposed=True))
    except ServerUnreachable as error:
        yield Finding("server", "failed", error.message, next_step(error))
        return
    except RoostError as error:
        yield Finding("server", "failed", error.message, error.hint or "")
        return
    yield from _server(info)
    yield from _engine(info)
    yield from _deployments()


def _disk() -> Finding:
    folder = default_cache_dir()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    detail = f"{free / 1024**3:.1f} GiB free at {folder}"
    if free < _FREE_BYTES_WANTED:
        return Finding(
            "disk", "warning", detail, "Free some, or set ROOST_HOME and ROOST_CACHE_DIR elsewhere."
        )
    return Finding("disk", "ok", detail)


def _shared_memory() -> Iterator[Finding]:
    if not os.path.isdir("/dev/shm"):  # noqa: PTH112, S108  # a device, not a temporary file
        return
    total = shutil.disk_usage("/dev/shm").total  # noqa: S108
    detail = f"{total / 1024**3:.1f} GiB of shared memory"
    if total < _SHM_BYTES_WANTED:
        yield Finding(
            "shared memory", "warning", detail, "Give the container more, for example --shm-size=2g."
        )
    else:
        yield Finding("shared memory", "ok", detail)


def _server(info: ServerInfo) -> Iterator[Finding]:
    yield Finding("server", "ok", f"{server_url()} answers (pid {info.pid})")
    if info.version != roost.__version__:
        yield Finding(
            "version",
            "warning",
            f"server {info.version}, client {roost.__version__}",
            f"Install the same one: pip install roost=={info.version}",
        )
    yield Finding("records", "ok", info.database)
    yield from storage_findings(current_client(), info.storage)


def _engine(info: ServerInfo) -> Iterator[Finding]:
    engine = info.engine
    if engine.state != "ready":
        step = (
            f"Look into {engine.log_dir}."
            if engine.log_dir
            else "Check ROOST_RAY_DASHBOARD_URL and the token."
        )
        yield Finding("ray", "failed", f"{engine.state}: {engine.message}".rstrip(": "), step)
        return
    alive = [node for node in engine.nodes if node.alive]
    yield Finding("ray", "ok", f"{len(alive)} node(s), dashboard {engine.dashboard_url}")
    for node in alive:
        yield from _cards(node)
    if not engine.embedded:
        yield from _existing(engine)
    if engine.embedded and not is_loopback(urlsplit(engine.serve_url).hostname):
        step = "Let only the machines of the cluster reach them (firewall)."
        yield Finding("exposed ports", "warning", f"{len(engine.exposed)}, as --cluster-host needs", step)
        return
    for listener in engine.exposed:
        yield Finding(
            "exposed port", "warning", listener, "Close it in the firewall; Ray cannot bind it to loopback."
        )


def _cards(node: NodeInfo) -> Iterator[Finding]:
    if not has_cards(node):
        return
    cards = describe_cards(node)
    if cards:
        yield Finding(f"node {node.name}", "ok", cards)
    else:
        yield Finding(
            f"node {node.name}",
            "warning",
            "its GPUs have no valid label vram_mib, so models with vram_gb do not run there",
            "Start it with roost node, or see the guide gpu-nodes.md.",
        )


def _existing(engine: EngineInfo) -> Iterator[Finding]:
    if engine.message:
        yield Finding("serve", "failed", engine.message, "The guide existing-cluster.md has each setting.")
    else:
        yield Finding("serve", "ok", engine.serve_url)
    provided = os.environ.get(PROVIDES_VARIABLE, "")
    more = f", and {provided} ({PROVIDES_VARIABLE})" if provided else ""
    yield Finding(
        "workers",
        "ok",
        f"the image must hold what roost[server] needs, torch if models do{more}; Ray installs the rest",
    )


def _deployments() -> Iterator[Finding]:
    for deployment in list_deployed_models():
        name = f"deployment {deployment.name}"
        if deployment.phase in {"failed", "unhealthy"}:
            yield Finding(
                name, "failed", deployment.message or deployment.phase, f"roost logs {deployment.key}"
            )
        elif deployment.phase in {"running", "paused"}:
            yield Finding(name, "ok", deployment.phase)
        else:
            yield Finding(name, "warning", deployment.phase, "It is on its way; ask again in a moment.")


def _plain(finding: Finding) -> dict[str, str]:
    return {
        "check": finding.check,
        "result": finding.result,
        "detail": finding.detail,
        "nextStep": finding.next_step,
    }
