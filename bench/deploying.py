"""From `deploy_model` to the first answer, beside the same application PUT to Ray by hand."""

from __future__ import annotations

import http.client
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import roost
from bench.report import table, write
from roost.engine.serve_api import ServeApi
from roost.testing.server_process import ServerProcess, wait_until

PROJECT = Path(__file__).resolve().parents[1] / "tests" / "e2e" / "project"
FAMILY = "deploying"
TARGET = 1.15
PATH = "/greet/you"
TIMEOUT_S = 240.0
_PACE_S = 0.01
_SETTLE_S = 1.0


@dataclass(frozen=True, slots=True)
class Deployed:
    """Seconds from the beginning: the call was over, Ray's controller had it, the first answer came."""

    called_s: float
    with_ray_s: float
    answered_s: float


class Deploying:
    """Deploys by either way on one server, each time an application that Ray does not know yet."""

    def __init__(self, server: ServerProcess) -> None:
        cluster = server.cluster()
        self._server = server
        self._api = ServeApi(f"http://127.0.0.1:{cluster.ports.dashboard}", cluster.token)
        self._greeter = import_module("greeter").Greeter
        self._serve_url = f"http://127.0.0.1:{cluster.ports.serve}"
        self._template: dict[str, Any] = {}

    def warm_up(self) -> None:
        """Deploy once, so that bundle and bytecode are there; what Ray was given is what is PUT by hand."""
        self.by_roost("warm-up", keep=True)
        key = roost.DeploymentKey(FAMILY, "warm-up", roost.IMPORTED)
        self._template = self._server.ray_application(key.app_name)["deployed_app_config"]
        roost.undeploy_model(key)
        self._wait_until_gone(key.app_name)

    def by_roost(self, suffix: str, *, keep: bool = False) -> Deployed:
        """`deploy_model` of a model that is registered before."""
        roost.register_model(self._greeter, FAMILY, suffix)
        key = roost.DeploymentKey(FAMILY, suffix, roost.IMPORTED)
        time.sleep(_SETTLE_S)
        began, began_s = time.time(), time.perf_counter()
        deployment = roost.deploy_model(FAMILY, suffix, roost.IMPORTED)
        called_s = time.perf_counter() - began_s
        _first_answer(deployment.url)
        answered_s = time.perf_counter() - began_s
        done = self._deployed(key.app_name, began, called_s, answered_s)
        if not keep:
            roost.undeploy_model(key)
            self._wait_until_gone(key.app_name)
        return done

    def by_hand(self, suffix: str) -> Deployed:
        """A PUT of the same application under another name, beside all that Ray has."""
        name, route = f"by_hand__{suffix}", f"/by-hand/{suffix}"
        body = self._body()
        without = body["applications"]
        body["applications"] = [*without, {**self._template, "name": name, "route_prefix": route}]
        time.sleep(_SETTLE_S)
        began, began_s = time.time(), time.perf_counter()
        self._api.put(body)
        called_s = time.perf_counter() - began_s
        _first_answer(self._serve_url + route)
        answered_s = time.perf_counter() - began_s
        done = self._deployed(name, began, called_s, answered_s)
        self._api.put({**body, "applications": without})
        self._wait_until_gone(name)
        return done

    def close(self) -> None:
        """Close the connection to Ray."""
        self._api.close()

    def _body(self) -> dict[str, Any]:
        details = self._api.get()
        configs = [app["deployed_app_config"] for app in details["applications"].values()]
        body = {name: details[name] for name in ("http_options", "proxy_location")}
        return {**body, "applications": [config for config in configs if config is not None]}

    def _deployed(self, name: str, began: float, called_s: float, answered_s: float) -> Deployed:
        given = self._server.ray_application(name)["last_deployed_time_s"]
        return Deployed(called_s, given - began, answered_s)

    def _wait_until_gone(self, name: str) -> None:
        wait_until(lambda: name not in self._api.get()["applications"], TIMEOUT_S, f"{name} is gone")


def run(pairs: int) -> None:
    """Alternate which comes first; medians."""
    sys.path.insert(0, str(PROJECT))
    by_roost: list[Deployed] = []
    by_hand: list[Deployed] = []
    with tempfile.TemporaryDirectory(prefix="roost-bench-") as folder:
        server = ServerProcess(Path(folder, "home"), Path(folder, "cache"))
        os.environ |= {"ROOST_URL": server.url, "ROOST_CACHE_DIR": f"{folder}/cache"}
        try:
            deploying = Deploying(server.start_ready())
            deploying.warm_up()
            for pair in range(pairs):
                if pair % 2:
                    by_hand.append(deploying.by_hand(f"p{pair}"))
                by_roost.append(deploying.by_roost(f"p{pair}"))
                if not pair % 2:
                    by_hand.append(deploying.by_hand(f"p{pair}"))
                ours_s, bare_s = by_roost[-1].answered_s, by_hand[-1].answered_s
                print(f"pair {pair + 1}/{pairs}: roost {ours_s:.2f} s, by hand {bare_s:.2f} s", flush=True)
            deploying.close()
        finally:
            server.stop()
    _write(by_roost, by_hand)


def _write(by_roost: list[Deployed], by_hand: list[Deployed]) -> None:
    rows = [
        (what, *(f"{statistics.median(getattr(each, part) for each in runs):.2f}" for part in _PARTS))
        for what, runs in (("PUT to Ray by hand", by_hand), ("deploy_model", by_roost))
    ]
    pairs = [ours.answered_s / bare.answered_s for ours, bare in zip(by_roost, by_hand, strict=True)]
    ours_s, bare_s = (statistics.median(each.answered_s for each in runs) for runs in (by_roost, by_hand))
    ratio = ours_s / bare_s
    about = (
        f"{len(by_roost)} alternating pairs on one server: a serve-app's `deploy_model`, and the same application "
        "(import path, arguments, options) PUT to Ray by hand under another name. Both are asked on their own URL "
        f"every {_PACE_S * 1000:g} ms until the first answer. Medians, in seconds from the beginning.\n"
    )
    verdict = (
        f"Ratio of the medians: {ratio:.2f}; median of the pairs' ratios: {statistics.median(pairs):.2f} "
        f"({min(pairs):.2f} to {max(pairs):.2f}). Target: at most {TARGET}: {'met' if ratio <= TARGET else 'missed'}."
    )
    columns = ("what", "the call returned", "Ray's controller had it", "first answer")
    command = f"python -m bench deploying --rounds {(len(by_roost) - 1) // 2}"
    write("deploying", "From deploy to the first answer", command, [about, table(columns, rows), "", verdict])


_PARTS = ("called_s", "with_ray_s", "answered_s")


def _first_answer(url: str) -> None:
    """A new connection each time: one to an ingress that has been reloaded since knows nothing new."""
    parts = urlsplit(url)
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=30)
        try:
            connection.request("GET", parts.path + PATH)
            if connection.getresponse().status == 200:
                return
        finally:
            connection.close()
        time.sleep(_PACE_S)
    raise RuntimeError(f"{url} did not answer within {TIMEOUT_S:g} s")
