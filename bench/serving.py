"""Serving: the gateway route and the own URL beside pixano-inference, BentoML, LitServe and plain uvicorn."""

from __future__ import annotations

import statistics
import tempfile
from collections import defaultdict
from pathlib import Path

from bench import systems
from bench.bodies import bodies
from bench.load import Measured, call, measure
from bench.report import table, write

CLIENTS = (1, 16)
ROWS = (("noop", "1 KB"), ("noop", "70 KB"), ("boxes", "JPEG 640x480"))
STARTERS = (systems.plain, systems.litserve, systems.bentoml, systems.pixano, systems.roost_server)
PEER = "pixano-inference 0.7.1"

Row = tuple[str, str, int]
Results = dict[Row, dict[str, list[Measured]]]


def run(rounds: int, seconds: float) -> None:
    """Each round starts every system in turn, alone on the machine, and measures every row."""
    results: Results = defaultdict(lambda: defaultdict(list))
    for round_number in range(1, rounds + 1):
        for starter in STARTERS:
            with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder, starter(Path(folder)) as found:
                for name, endpoints in found.items():
                    print(f"round {round_number}/{rounds}: {name}", flush=True)
                    _measure_system(name, endpoints, results, seconds)
    command = f"python -m bench serving --rounds {rounds} --seconds {seconds:g}"
    write(
        "serving",
        "Serving, side by side",
        command,
        [_explained(rounds), *_tables(results), _targets(results)],
    )


def _measure_system(name: str, endpoints: systems.Endpoints, results: Results, seconds: float) -> None:
    templates = bodies()
    for model, body_name in ROWS:
        endpoint = endpoints[model]
        body = endpoint.body(templates[body_name])
        answer = call(endpoint.url, body)
        _check(name, model, answer)
        measure(endpoint.url, body, clients=16, seconds=1)
        for clients in CLIENTS:
            measured = measure(endpoint.url, body, clients=clients, seconds=seconds)
            if measured.errors:
                raise SystemExit(f"{name}: {measured.errors} failed requests; the run is void")
            results[model, body_name, clients][name].append(measured)


def _check(name: str, model: str, answer: dict[str, object]) -> None:
    """Every system must have done the work before its speed counts."""
    output = answer.get("data", answer)
    expected = [] if model == "noop" else [[200, 120, 459, 299]]
    assert isinstance(output, dict), answer
    boxes = output["boxes"]
    near = len(boxes) == len(expected) and all(
        abs(a - b) <= 8
        for found, wanted in zip(boxes, expected, strict=True)
        for a, b in zip(found, wanted, strict=True)
    )
    if not near:
        raise SystemExit(f"{name} answered {answer!r} to {model}")


def _explained(rounds: int) -> str:
    return (
        f"Medians of {rounds} rounds. Every system runs alone, with one replica or worker, and gets the same bytes from "
        "wrk on the same machine. `noop` finds nothing; `boxes` decodes the picture and finds one box in numpy. Roost "
        "validates and decodes the picture in both; the peers decode it in `boxes` only.\n"
    )


def _tables(results: Results) -> list[str]:
    parts = []
    for (model, body, clients), by_system in results.items():
        peer = _p50(by_system[PEER]), _rate(by_system[PEER])
        rows = [
            (
                name,
                f"{_p50(runs):.2f}",
                f"{statistics.median(r.p99_ms for r in runs):.1f}",
                f"{_rate(runs):,.0f}",
                f"{_p50(runs) / peer[0]:.2f}",
                f"{_rate(runs) / peer[1]:.1f}",
            )
            for name, runs in by_system.items()
        ]
        columns = ("system", "p50 ms", "p99 ms", "requests/s", "p50 / pixano", "requests/s / pixano")
        who = f"{clients} client{'s' if clients > 1 else ''}"
        parts.append(f"## {model}, {body}, {who}\n\n{table(columns, rows)}\n")
    return parts


def _targets(results: Results) -> str:
    """The no-op rows against the targets: p50 with 1 client, throughput with 16."""
    rows = []
    for body in ("1 KB", "70 KB"):
        one, many = results["noop", body, 1], results["noop", body, 16]
        for name, p50_target, rate_target in (("Roost gateway", 0.35, 2.5), ("Roost own URL", 0.2, 5.0)):
            p50 = _p50(one[name]) / _p50(one[PEER])
            rate = _rate(many[name]) / _rate(many[PEER])
            rows.append(
                (f"{name}, {body}: p50 / pixano", f"<= {p50_target}", f"{p50:.2f}", _met(p50 <= p50_target))
            )
            rows.append(
                (
                    f"{name}, {body}: requests/s / pixano",
                    f">= {rate_target}",
                    f"{rate:.1f}",
                    _met(rate >= rate_target),
                )
            )
        for other in ("BentoML 1.4", "LitServe 0.2"):
            p50 = _p50(one["Roost own URL"]) / _p50(one[other])
            rate = _rate(many["Roost own URL"]) / _rate(many[other])
            rows.append((f"own URL, {body}: p50 / {other}", "< 1", f"{p50:.2f}", _met(p50 < 1)))
            rows.append((f"own URL, {body}: requests/s / {other}", "> 1", f"{rate:.1f}", _met(rate > 1)))
    return "## Targets\n\n" + table(("figure", "target", "measured", ""), rows) + "\n"


def _met(yes: bool) -> str:
    return "met" if yes else "missed"


def _p50(runs: list[Measured]) -> float:
    return statistics.median(run.p50_ms for run in runs)


def _rate(runs: list[Measured]) -> float:
    return statistics.median(run.requests_s for run in runs)
