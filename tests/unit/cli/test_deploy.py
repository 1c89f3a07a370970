"""`roost deploy`: how it scales, rolls out and pauses, and its plan; how that is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import roost
from roost.keys import DeploymentKey, ModelKey
from roost.records.deployments import find_deployment
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
MODEL = ModelKey("f", "s", "r")


@pytest.fixture(autouse=True)
def _model(server: InProcessServer) -> None:
    save_ready_model(server.db, MODEL)


def fields(ran: Ran) -> dict[str, str]:
    found = {}
    for line in ran.out.splitlines():
        name, _, value = line.partition("  ")
        found[name.strip()] = value.strip()
    return found


def test_how_it_is_to_be_run_is_told_and_shown(cli: Cli) -> None:
    ran = cli(
        *("deploy", "f/s/r", "-n", "2", "--min-replicas", "0", "--max-replicas", "4"),
        *("--target-ongoing-requests", "1.5", "--rollout", "in_place", "--pinned", "--idle-timeout", "60"),
        "--json",
    )
    told = ran.json
    assert (told["numReplicas"], told["rollout"], told["pinned"], told["idleTimeoutS"]) == (
        2,
        "in_place",
        True,
        60.0,
    )
    scale = told["autoscaling"]
    assert (scale["minReplicas"], scale["maxReplicas"], scale["targetOngoingRequests"]) == (0, 4, 1.5)
    shown = fields(cli("deployments", "show", "f/s/r"))
    assert shown["scaling"] == "0 to 4 by load, 1.5 ongoing requests each"
    assert shown["rollout"] == "in_place"
    assert shown["pause"] == "never for others (pinned), and after 60 s without a request"
    assert shown["last known use"] == "2026-01-01 00:00:00 UTC"


def test_what_is_left_out_takes_its_default(cli: Cli) -> None:
    cli("deploy", "f/s/r", "--max-replicas", "4", "--pinned", "--idle-timeout", "60")
    told = cli("deploy", "f/s/r", "--json").json
    assert (told["autoscaling"], told["pinned"], told["idleTimeoutS"]) == (None, False, None)
    shown = fields(cli("deployments", "show", "f/s/r"))
    assert (shown["scaling"], shown["rollout"], shown["pause"]) == ("fixed", "wait", "when others need room")
    assert "failures" not in shown
    assert "replaces" not in shown


def test_most_alone_scales_from_one(cli: Cli) -> None:
    scale = cli("deploy", "f/s/r", "--max-replicas", "4", "--json").json["autoscaling"]
    assert (scale["minReplicas"], scale["maxReplicas"]) == (1, 4)


def test_a_rollout_and_failures_are_shown(cli: Cli, server: InProcessServer) -> None:
    cli("deploy", "f/s/r")
    with server.db.write() as session:
        row = find_deployment(session, DeploymentKey("f", "s", "r"))
        assert row is not None
        row.replaced_bundle_fingerprint = "a" * 64
        row.failures = 2
        row.stale = True
    shown = fields(cli("deployments", "show", "f/s/r"))
    assert shown["replaces"] == "a" * 64
    assert shown["failures"] == "2 failed starts of this version"
    assert shown["observed"].endswith("UTC (stale: Ray has been out of reach since)")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--min-replicas", "1"), "--min-replicas without --max-replicas"),
        (
            ("--min-replicas", "1", "--target-ongoing-requests", "2"),
            "--min-replicas and --target-ongoing-requests without --max-replicas",
        ),
        (("--min-replicas", "3", "--max-replicas", "2"), "--min-replicas 3 is more than --max-replicas 2"),
        (("--replicas", "3", "--max-replicas", "2"), "--replicas 3 is more than --max-replicas 2"),
        (
            ("--max-replicas", "2", "--target-ongoing-requests", "0"),
            "--target-ongoing-requests 0 is not above 0",
        ),
        (("--idle-timeout", "0"), "--idle-timeout 0 is not above 0"),
        (("--idle-timeout", "nan"), "--idle-timeout nan is not above 0"),
        (("--max-replicas", "0"), "--max-replicas"),
        (("--rollout", "blue-green"), "--rollout"),
    ],
)
def test_combinations_that_make_no_sense(
    cli: Cli, server: InProcessServer, arguments: tuple[str, ...], told: str
) -> None:
    ran = cli("deploy", "f/s/r", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert server.requests == []


class TestPlan:
    def test_a_first_deploy(self, cli: Cli, server: InProcessServer) -> None:
        ran = cli("deploy", "f/s/r", "--plan")
        assert (ran.code, ran.err) == (0, "")
        first, *spec = ran.out.splitlines()
        assert first == ("f/s (f/s/r): It would be deployed as 'f/s'. 1 replica would start on 'node-one'.")
        assert "  deployments.App.ray_actor_options.num_cpus: none -> 0.1" in spec
        assert cli("deployments", "--json").json == []
        assert server.ray.puts == []

    def test_a_change_and_none(self, cli: Cli, server: InProcessServer) -> None:
        cli("deploy", "f/s/r")
        assert cli("deploy", "f/s/r", "--plan").out == "f/s (f/s/r): Nothing would change.\n"
        save_ready_model(server.db, MODEL, bundle="c" * 64)
        assert cli("deploy", "f/s/r", "--plan").out.splitlines() == [
            "f/s (f/s/r): 1 replica would be replaced: code. 1 replica would start on 'node-one'. "
            "Old and new fit beside each other: the old ones serve until the new ones run.",
            "  replaces r0 on node-one",
            f"  args.servable.bundleFingerprint: {'b' * 64} -> {'c' * 64}",
        ]

    def test_for_programs(self, cli: Cli) -> None:
        cli("deploy", "f/s/r")
        told = cli("deploy", "f/s/r", "-n", "3", "--plan", "--json").json
        assert (told["changes"], told["action"], len(told["newReplicas"])) == (True, "update", 2)
        change = {"path": "num_replicas", "old": 1, "new": 3}
        assert change in told["spec"]

    def test_errors_are_those_of_deploy(self, cli: Cli, server: InProcessServer) -> None:
        save_ready_model(server.db, MODEL, requirements=roost.ModelRequirements(num_gpus=1))
        ran = cli("deploy", "f/s/r", "--plan", "--json")
        assert (ran.code, ran.out, ran.error["reason"]) == (1, "", "infeasible")
