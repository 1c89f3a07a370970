"""Cost of `import`: time and memory over bare Python, each import in a fresh interpreter."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from bench.report import table, write
from bench.setup_peers import python_of

CASES: tuple[tuple[str, Path, str], ...] = (
    ("bare Python", Path(sys.executable), "pass"),
    ("import roost", Path(sys.executable), "import roost"),
    ("roost.Client()", Path(sys.executable), "import roost; roost.Client()"),
    ("from roost import save_model", Path(sys.executable), "from roost import save_model"),
    ("import pixano_inference.client", python_of("pixano"), "import pixano_inference.client"),
    ("import bentoml", python_of("bentoml"), "import bentoml; bentoml.service"),
    ("import litserve", python_of("litserve"), "import litserve"),
    ("from ray import serve", Path(sys.executable), "from ray import serve"),
)
# Of the process itself: `ru_maxrss` would carry over what its parent had before the exec.
_PEAK = "print(next(l.split()[1] for l in open('/proc/self/status') if l.startswith('VmHWM')))"
TIME_TARGET_S, MEMORY_TARGET_MB = 0.15, 40.0


def run(rounds: int) -> None:
    """Interleaved rounds; medians."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name, _, _ in CASES}
    for at in range(rounds + 1):
        for name, python, code in CASES:
            seconds, memory = _once(python, code)
            if at:  # the first round warms the page cache
                taken[name].append((seconds, memory))
    base = _median(taken["bare Python"])
    rows = []
    for name, runs in taken.items():
        seconds, memory = _median(runs)
        rows.append((name, f"{seconds - base[0]:.3f}", f"{memory - base[1]:.0f}"))
    seconds, memory = _median(taken["import roost"])
    met = seconds - base[0] <= TIME_TARGET_S and memory - base[1] <= MEMORY_TARGET_MB
    verdict = f"Target for `import roost`: at most {TIME_TARGET_S} s and {MEMORY_TARGET_MB:g} MB: {'met' if met else 'missed'}."
    about = f"Over bare Python (median {base[0]:.3f} s, {base[1]:.0f} MB); medians of {rounds} fresh interpreters each.\n"
    columns = ("what", "seconds over bare", "MB over bare")
    write(
        "importing",
        "Import",
        f"python -m bench importing --rounds {rounds // 5}",
        [about, table(columns, rows), "", verdict],
    )


def _once(python: Path, code: str) -> tuple[float, float]:
    started = time.perf_counter()
    output = subprocess.run(
        [python, "-c", f"{code}\n{_PEAK}"], check=True, capture_output=True, text=True
    ).stdout
    return time.perf_counter() - started, int(output.split()[-1]) / 1024


def _median(runs: list[tuple[float, float]]) -> tuple[float, float]:
    return statistics.median(r[0] for r in runs), statistics.median(r[1] for r in runs)
