"""What is lost when many deploy at once, and when each part is killed under load."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

import roost
from bench.kills import KEY, Healed, Killer, Route
from bench.report import table, write
from roost.testing.many_deployers import FAMILY, Step, at_once, wait_for_agreement
from roost.testing.server_process import ServerProcess

PROJECT = Path(__file__).resolve().parents[1] / "tests" / "e2e" / "project"
DOCS = Path(__file__).resolve().parents[1] / "docs" / "reliability.md"
DEPLOYERS = 20
TIMEOUT_S = 600.0


def run(rounds: int) -> None:
    """Both parts, each on a server of its own."""
    sys.path.insert(0, str(PROJECT))
    with _server() as server:
        deployed = [_deploy_round(server, number) for number in range(1, rounds + 1)]
    kills: dict[str, list[Healed]] = defaultdict(list)
    with _server() as server, tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        roost.register_model(import_module("spotter").Spotter, KEY.family, KEY.suffix)
        for _ in range(rounds):
            for healed in Killer(server, Path(folder)).run():
                kills[healed.part].append(healed)
    parts = [_deployers_table(deployed), _kills_table(kills, rounds)]
    _into_docs("\n".join(part.replace("## ", "### ", 1) for part in parts))
    write("reliability", "Reliability", f"python -m bench reliability --rounds {rounds}", parts)


@contextmanager
def _server() -> Iterator[ServerProcess]:
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        server = ServerProcess(Path(folder, "home"), Path(folder, "cache"))
        os.environ |= {"ROOST_URL": server.url, "ROOST_CACHE_DIR": f"{folder}/cache"}
        try:
            yield server.start_ready()
        finally:
            server.stop()


def _deploy_round(server: ServerProcess, number: int) -> tuple[int, float, float]:
    """Deploy all and undeploy them; seconds until all calls had returned, and until all sides agreed."""
    suffixes = [f"m{number}-{index:02}" for index in range(DEPLOYERS)]
    for suffix in suffixes:
        roost.register_model(import_module("greeter").Greeter, FAMILY, suffix)
    deployers: list[list[Step]] = [[("deploy", suffix)] for suffix in suffixes]
    others = [_over_and_over(suffixes[:4]), _over_and_over(suffixes[2:6])]
    began_s = time.monotonic()
    called_s = at_once(server.url, deployers + others, timeout_s=TIMEOUT_S)
    wait_for_agreement(server, suffixes, timeout_s=TIMEOUT_S)
    agreed_s = time.monotonic() - began_s
    print(f"round {number}: called {called_s:.1f} s, agreed {agreed_s:.1f} s", flush=True)
    at_once(server.url, [[("undeploy", suffix)] for suffix in suffixes], timeout_s=TIMEOUT_S)
    wait_for_agreement(server, [], timeout_s=TIMEOUT_S)
    return number, called_s, agreed_s


def _over_and_over(suffixes: list[str]) -> list[Step]:
    steps: list[Step] = []
    for suffix in suffixes:
        steps += [("undeploy", suffix), ("deploy", suffix)]
    return steps


def _deployers_table(deployed: list[tuple[int, float, float]]) -> str:
    about = (
        f"{DEPLOYERS} processes deploy {DEPLOYERS} models at the same moment; two others undeploy and redeploy some of "
        "them. In the end the records, Ray's applications and the answers agree (each URL answers with its own config, "
        "every generation was observed), and after all are undeployed Ray has none of them. The run fails otherwise."
    )
    rows = [
        (number, f"{called_s:.1f}", f"{agreed_s:.1f}", DEPLOYERS, 0)
        for number, called_s, agreed_s in deployed
    ]
    columns = ("round", "all calls returned after s", "all sides agree after s", "deployed", "missing")
    return f"## Many deployers\n\n{about}\n\n{table(columns, rows)}\n"


def _kills_table(kills: dict[str, list[Healed]], rounds: int) -> str:
    about = (
        f"One caller asks the deployment's own URL, one the gateway, each with 20 ms between its requests, none sent "
        f"twice. Rounds: {rounds}. Times are medians; failed requests are the most of any round. Healed: the records and Ray "
        "agree that all runs. Longest gap: between two good answers."
    )
    rows = [
        (
            part,
            f"{statistics.median(each.seconds for each in runs):.1f}",
            *_route([each.own for each in runs]),
            *_route([each.gateway for each in runs]),
            ", ".join(dict.fromkeys(phase for each in runs for phase in each.phases)),
        )
        for part, runs in kills.items()
    ]
    columns = (
        "killed",
        "healed after s",
        "own URL: failed of asked",
        "longest gap s",
        "gateway: failed of asked",
        "longest gap s",
        "`status` meanwhile",
    )
    return f"## Kills under load\n\n{about}\n\n{table(columns, rows)}\n"


def _route(seen: list[Route]) -> tuple[str, str]:
    worst = max(seen, key=lambda route: route.failed)
    return f"{worst.failed} of {worst.asked}", f"{statistics.median(route.gap_s for route in seen):.1f}"


def _into_docs(measured: str) -> None:
    begin, end = "<!-- measured: written by `python -m bench reliability` -->", "<!-- /measured -->"
    before, _, rest = DOCS.read_text().partition(begin)
    DOCS.write_text(f"{before}{begin}\n{measured}{end}{rest.partition(end)[2]}")
