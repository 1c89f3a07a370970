"""Each command: what it prints for people and for programs, and its exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

import roost
from roost.contracts.model import ClaimRequest
from roost.keys import ModelKey
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

if TYPE_CHECKING:
    from tests.unit.cli.conftest import Ran

Cli = Callable[..., "Ran"]
MODEL = ModelKey("f", "s", "r")


@pytest.fixture
def model(server: InProcessServer) -> ModelKey:
    save_ready_model(
        server.db,
        MODEL,
        requirements=roost.ModelRequirements(num_gpus=0, ram_gb=0.5),
        config={"a": "1", "b": "2"},
    )
    return MODEL


class TestModels:
    def test_the_list(self, cli: Cli, server: InProcessServer, model: ModelKey) -> None:
        ran = cli("models")
        assert (ran.code, ran.err) == (0, "")
        header, row = ran.out.splitlines()
        assert header.split() == ["MODEL", "PHASE", "SIZE", "CAPABILITY", "CREATED"]
        assert row.split()[:4] == ["f/s/r", "ready", "0", "B"]
        assert cli("models", "list", "--family", "f").out == ran.out
        assert [item["family"] for item in cli("models", "--json").json] == ["f"]
        assert cli("models", "list", "--phase", "broken", "--json").json == []

    def test_no_models_say_what_to_do(self, cli: Cli, server: InProcessServer) -> None:
        assert (
            cli("models").out == "No models yet. Store one with `roost models save`, or roost.save_model.\n"
        )
        assert cli("models", "--json").json == []

    def test_one(self, cli: Cli, model: ModelKey) -> None:
        lines = dict(
            line.split(maxsplit=1)
            for line in cli("models", "show", "f/s/r").out.splitlines()
            if " " in line.strip()
        )
        assert lines["model"] == "f/s/r"
        assert lines["needs"] == "0 GPU, 0 GiB VRAM, 0.5 GiB RAM"
        assert lines["config"] == "a=1 b=2"
        assert cli("models", "show", "f/s/r", "--json").json["config"] == {"a": "1", "b": "2"}

    def test_one_being_written(self, cli: Cli, server: InProcessServer) -> None:
        server.models.claim(MODEL, ClaimRequest(mode="register", writer="eve"))
        assert "uploading" in cli("models").out
        assert "no weights" in cli("models").out


class TestDeployments:
    def test_from_deploy_to_undeploy(self, cli: Cli, model: ModelKey) -> None:
        ran = cli("deploy", "f/s/r", "--name", "mine", "-n", "2")
        assert (ran.code, ran.out, ran.err) == (0, "mine is running at http://serve.test/r/f/s/r\n", "")
        header, row = cli("deployments").out.splitlines()
        assert header.split() == ["NAME", "DEPLOYMENT", "PHASE", "REPLICAS", "URL"]
        assert row.split() == ["mine", "f/s/r", "running", "2/2", "http://serve.test/r/f/s/r"]
        assert [item["name"] for item in cli("deployments", "list", "--json").json] == ["mine"]
        ran = cli("undeploy", "f/s/r")
        assert (ran.code, ran.out, ran.err) == (0, "", "f/s/r is being removed.\n")
        assert cli("undeploy", "f/s/r").err == "f/s/r is gone.\n"
        assert cli("undeploy", "f/s/r", "--json").json["phase"] == "not_deployed"
        assert cli("deployments").out == (
            "Nothing is deployed. Deploy a model with `roost deploy family/suffix/run_name`.\n"
        )

    def test_a_config_is_part_of_the_key(self, cli: Cli, model: ModelKey) -> None:
        shown = cli("deploy", "f/s/r", "-c", "b=3", "-c", "c=x=y", "--json").json
        assert shown["config"] == {"b": "3", "c": "x=y"}
        key = f"f/s/r@{shown['configFingerprint']}"
        for command in (("status", key), ("deployments", "show", "f/s/r", "-c", "c=x=y", "-c", "b=3")):
            assert key in cli(*command).out
        assert cli("status", key, "-c", "b=3").code == 2
        assert cli("undeploy", "f/s/r", "-c", "b=3", "-c", "c=x=y").code == 0

    def test_a_name_stands_for_its_key(self, cli: Cli, model: ModelKey) -> None:
        cli("deploy", "f/s/r", "--name", "mine")
        assert cli("status", "mine", "--json").json["runName"] == "r"
        assert cli("deployments", "show", "mine", "--json").json["name"] == "mine"
        told = cli("status", "other", "--json")
        assert (told.code, told.error["reason"]) == (1, "model_not_deployed")
        assert cli("undeploy", "mine").err == "f/s/r is being removed.\n"

    def test_without_waiting(self, cli: Cli, server: InProcessServer, model: ModelKey) -> None:
        server.ray.slow.add("f__s__r")
        ran = cli("deploy", "f/s/r", "--no-wait")
        assert (ran.code, ran.out) == (0, "f/s is not_started at http://serve.test/r/f/s/r\n")
        ran = cli("deploy", "f/s/r", "--timeout", "0")
        assert ran.code == 1
        assert ran.err.splitlines() == [
            "error: 'f/s/r' did not serve within 0 s: f/s/r is deploying.",
            "  hint: It goes on; see `roost status f/s/r` and `roost logs f/s/r`.",
        ]

    def test_one(self, cli: Cli, model: ModelKey) -> None:
        cli("deploy", "f/s/r")
        out = cli("status", "f/s/r").out
        assert "running of 1" in out
        assert "observed" in out
        assert "RUNNING on node-one" in out
        assert cli("status", "f/s/r", "--json").json["replicas"][0]["nodeName"] == "node-one"

    def test_logs(self, cli: Cli, server: InProcessServer, model: ModelKey) -> None:
        server.ray.logs["f__s__r"] = "one\n[bold]two[/bold]\nthree " + "x" * 300 + "\n"
        cli("deploy", "f/s/r")
        assert cli("logs", "f/s/r", "--tail", "2").out == f"[bold]two[/bold]\nthree {'x' * 300}\n"
        assert cli("logs", "f/s/r", "--tail", "1", "--json").json == {"lines": [f"three {'x' * 300}"]}


class TestStatus:
    def test_the_server(self, cli: Cli, server: InProcessServer, model: ModelKey) -> None:
        out = cli("status").out
        assert "ray          ready (embedded)" in out
        assert "nodes        1 (2 CPU, 0 GPU)" in out
        assert "models       1" in out
        assert cli("status", "--json").json["engine"]["state"] == "ready"

    def test_doctor_when_all_is_well(self, cli: Cli, server: InProcessServer, model: ModelKey) -> None:
        cli("deploy", "f/s/r")
        ran = cli("doctor", "--json")
        checks = {check["check"]: check["result"] for check in ran.json["checks"]}
        assert (ran.code, checks["server"], checks["ray"], checks["deployment f/s"]) == (0, "ok", "ok", "ok")

    def test_doctor_when_ray_is_away(self, cli: Cli, server: InProcessServer) -> None:
        server.ray.away = True
        ran = cli("doctor")
        assert ran.code == 1
        assert "Look into /logs." in ran.out

    def test_doctor_when_a_deployment_failed(
        self, cli: Cli, server: InProcessServer, model: ModelKey
    ) -> None:
        server.ray.broken["f__s__r"] = "ValueError: no"
        cli("deploy", "f/s/r", "--no-wait")
        server.settle()
        ran = cli("doctor", "--json")
        (check,) = [check for check in ran.json["checks"] if check["check"] == "deployment f/s"]
        assert (ran.code, check["result"], check["nextStep"]) == (1, "failed", "roost logs f/s/r")
        assert "ValueError: no" in check["detail"]


class TestErrors:
    @pytest.mark.parametrize(
        ("arguments", "reason", "code"),
        [
            (("deploy", "f/s/other"), "model_not_found", 1),
            (("deploy", "f/s"), "invalid_name", 2),
            (("deploy", "a__b/s/r"), "invalid_name", 2),
            (("deploy", "f/s/r", "--name", "a__b"), "invalid_name", 1),
            (("deploy", "f/s/r", "-c", "a"), "invalid_config", 2),
            (("deploy", "f/s/r", "-c", "=a"), "invalid_config", 2),
            (("deploy", "f/s/big"), "infeasible", 1),
            (("status", "f/s/r"), "model_not_deployed", 1),
            (("undeploy", "f/s/r"), "model_not_deployed", 1),
            (("logs", "f/s/r"), "model_not_deployed", 1),
            (("models", "show", "f/s/other"), "model_not_found", 1),
        ],
    )
    def test_each_is_told_with_its_exit_code(
        self,
        cli: Cli,
        server: InProcessServer,
        model: ModelKey,
        arguments: tuple[str, ...],
        reason: str,
        code: int,
    ) -> None:
        save_ready_model(
            server.db, ModelKey("f", "s", "big"), requirements=roost.ModelRequirements(num_gpus=1)
        )
        ran = cli(*arguments)
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.startswith("error: ")
        ran = cli(*arguments, "--json")
        assert (ran.code, ran.out, ran.error["reason"]) == (code, "", reason)
        assert ran.error["message"]

    def test_a_server_that_is_away(self, cli: Cli, server: InProcessServer) -> None:
        server.down = True
        for command in ("status", "models", "deployments"):
            ran = cli(command)
            assert (ran.code, ran.out) == (1, "")
            assert ran.err.splitlines() == [
                "error: No Roost server answers at 'http://roost.test'.",
                "  hint: Start one with `roost up`, or set ROOST_URL to where it runs.",
            ]
        doctor = cli("doctor")
        assert doctor.code == 1
        assert "No Roost server answers" in doctor.out

    @pytest.mark.parametrize(
        "arguments",
        [("deploy",), ("deploy", "f/s/r", "-n", "0"), ("logs", "f/s/r", "--tail", "0"), ("what",)],
    )
    def test_usage_is_exit_code_2(self, cli: Cli, arguments: tuple[str, ...]) -> None:
        assert cli(*arguments).code == 2

    def test_ctrl_c_is_130(self, cli: Cli, server: InProcessServer, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(url: str, key: str | None) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("roost.sdk.connection._client", interrupted)
        assert cli("status").code == 130

    def test_help_and_version(self, cli: Cli) -> None:
        assert cli("--version").out == f"roost {roost.__version__}\n"
        assert "deployments" in cli("--help").out
