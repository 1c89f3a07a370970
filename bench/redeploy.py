"""A redeploy that changes nothing: its time, and that Ray is not asked."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import roost
from bench import systems
from bench.report import table, write
from roost.client import Client, control_calls

TARGET_MS = 10.0


def run(times: int) -> None:
    """Deploy once, then the same again and again."""
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder, systems.roost_server(Path(folder)):
        key = roost.list_deployed_models()[0].key
        same = {"num_replicas": 1, "name": "boxes"}
        before = _deployment(key)
        taken = []
        for _ in range(times):
            started = time.perf_counter()
            roost.deploy_model(key.family, key.suffix, key.run_name, **same)
            taken.append((time.perf_counter() - started) * 1000)
        after = _deployment(key)
    assert before.generation == after.generation, "the redeploy changed the record"
    cuts = statistics.quantiles(taken, n=100)
    rows = [
        ("median", f"{statistics.median(taken):.1f}"),
        ("p95", f"{cuts[94]:.1f}"),
        ("p99", f"{cuts[98]:.1f}"),
    ]
    met = "met" if statistics.median(taken) <= TARGET_MS else "missed"
    verdict = (
        f"Target: at most {TARGET_MS:g} ms (median): {met}. The record's generation stayed {after.generation}; that such a "
        "redeploy makes no call to Ray is a test (tests/unit/services/test_deployments.py)."
    )
    about = f"`roost.deploy_model` {times} times with unchanged arguments: one HTTP request each.\n"
    write(
        "redeploy",
        "Redeploy without a change",
        "python -m bench redeploy",
        [about, table(("", "ms"), rows), "", verdict],
    )


def _deployment(key: roost.DeploymentKey) -> roost.Deployment:
    with Client() as client:
        return client.run(control_calls.get_deployment(key))
