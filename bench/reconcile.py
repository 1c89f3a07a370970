"""The reconciler's cost with 500 recorded deployments: CPU of a cycle, calls to Ray, how soon waiters hear."""

from __future__ import annotations

import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.report import table, write
from roost.contracts.deployment import DeployRequest
from roost.keys import ModelKey
from roost.testing.deploying_server import DeployingServer, open_records
from roost.testing.fake_serve import FakeServe
from roost.testing.ready_models import save_ready_model

COUNT, BURST, THREADS = 500, 100, 10
IDLE_TARGET_MS, HEARD_TARGET_MS = 50.0, 300.0
LONG_S = 60.0


def run(rounds: int) -> None:
    """All parts on one fleet; the dashboard is a fake one in this process, over real HTTP."""
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder, FakeServe() as ray:
        db = open_records(Path(folder) / "roost.db")
        server = DeployingServer(db, ray.url)
        for number in range(COUNT):
            server.deploy(f"run{number}")
        for _ in range(5):
            server.reconciler.cycle()
        size_mb = len(server.api.dashboard.get("/api/serve/applications/").content) / 1e6
        idle, calls = _idle(server, ray, rounds * 50)
        changed = [_changed(server, number) for number in range(rounds * 5)]
        server.start()
        bursts = [_burst(server, ray, at) for at in range(rounds)]
        ray.instant = False
        heard = [_heard(server, ray) for _ in range(rounds * 10)]
        server.stop()
        db.close()
    _report(rounds, size_mb, idle, calls, changed, bursts, heard)


def _idle(server: DeployingServer, ray: FakeServe, cycles: int) -> tuple[list[float], dict[str, int]]:
    """CPU milliseconds of each cycle in which nothing changed, and the calls of all."""
    before = len(ray.requests)
    taken = [_cpu_ms(server.reconciler.cycle) for _ in range(cycles)]
    methods = [method for method, _ in ray.requests[before:]]
    return taken, {method: methods.count(method) for method in sorted(set(methods))}


def _changed(server: DeployingServer, number: int) -> float:
    """CPU milliseconds of the cycle that finds one change and PUTs."""
    server.deploy("run0", num_replicas=2 + number % 2)
    taken = _cpu_ms(server.reconciler.cycle)
    for _ in range(3):
        server.reconciler.cycle()
    return taken


def _burst(server: DeployingServer, ray: FakeServe, at: int) -> tuple[float, int]:
    """Seconds that 100 deploys of new code from ten threads took, and the PUTs until all ran."""
    models = [ModelKey("f", "s", f"run{number}") for number in range(BURST)]
    for model in models:
        save_ready_model(server.db, model, bundle=f"{at:064x}")
    before = len(ray.puts)
    started = time.perf_counter()
    with ThreadPoolExecutor(THREADS) as pool:
        list(
            pool.map(
                lambda model: server.deployments.deploy(model, DeployRequest(name=model.run_name)), models
            )
        )
    taken = time.perf_counter() - started
    for number in range(BURST):
        _wait(server, f"run{number}", "running")
    return taken, len(ray.puts) - before


def _heard(server: DeployingServer, ray: FakeServe) -> float:
    """Milliseconds from the moment Ray shows a deployment running until a waiter has read it."""
    ray.crash("f__s__run499")
    _wait(server, "run499", "unhealthy")
    heard_at: list[float] = []

    def wait() -> None:
        _wait(server, "run499", "running")
        heard_at.append(time.perf_counter())

    waiter = threading.Thread(target=wait)
    waiter.start()
    ray.finish("f__s__run499")
    shown_at = time.perf_counter()
    waiter.join()
    return (heard_at[0] - shown_at) * 1000


def _wait(server: DeployingServer, run_name: str, phase: str) -> None:
    deadline = time.monotonic() + LONG_S
    while True:
        seen = server.changes.version
        shown = server.show(run_name)
        if shown.phase == phase and shown.observed_generation == shown.generation:
            return
        assert time.monotonic() < deadline, shown
        server.changes.wait_blocking(seen, LONG_S)


def _cpu_ms(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return (time.thread_time() - started) * 1000


def _report(
    rounds: int,
    size_mb: float,
    idle: list[float],
    calls: dict[str, int],
    changed: list[float],
    bursts: list[tuple[float, int]],
    heard: list[float],
) -> None:
    puts = [count for _, count in bursts]
    rows = [
        (
            "CPU of a cycle without a change, ms",
            *_spread(idle),
            _met(statistics.median(idle), IDLE_TARGET_MS),
        ),
        ("CPU of a cycle that PUTs one change, ms", *_spread(changed), ""),
        (
            f"PUTs for {BURST} deploys from {THREADS} threads",
            *_spread(puts),
            _met(statistics.median(puts), 1),
        ),
        ("from shown by Ray to read by a waiter, ms", *_spread(heard), _met(max(heard), HEARD_TARGET_MS)),
    ]
    quiet = ", ".join(f"{count} {method}" for method, count in calls.items())
    burst_s = statistics.median(seconds for seconds, _ in bursts)
    about = (
        f"{COUNT} recorded deployments on `FakeServe` over HTTP; one GET answers {size_mb:.1f} MB. CPU is the reconciler "
        "thread's own (`time.thread_time`), so that what else runs on the machine counts little; the time of waiters is "
        f"wall time and counts it fully. {len(idle)} cycles without a change made {quiet}. A burst took {burst_s:.2f} s "
        f"to be recorded, while the reconciler ran. Load of the machine meanwhile: {os.getloadavg()[0]:.1f}.\n"
    )
    write(
        "reconcile",
        "Reconciler with 500 deployments",
        f"python -m bench reconcile --rounds {rounds}",
        [about, table(("what", "median", "worst", "target"), rows)],
    )


def _spread(values: list[float] | list[int]) -> tuple[str, str]:
    return f"{statistics.median(values):.3g}", f"{max(values):.3g}"


def _met(value: float, target: float) -> str:
    return f"at most {target:g}: {'met' if value <= target else 'missed'}"
