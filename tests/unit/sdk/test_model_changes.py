"""Changing and deleting models through the SDK, against the real services."""

from __future__ import annotations

from typing import Any, cast

import pytest

import roost
from roost.contracts.model import ClaimRequest
from roost.errors import InvalidConfig, InvalidName, InvalidRequirements, ModelBusy, ModelInUse, ModelNotFound
from roost.keys import ModelKey
from roost.testing.in_process import InProcessServer
from roost.testing.ready_models import save_ready_model

KEY = ModelKey("f", "s", "r")


@pytest.fixture(autouse=True)
def _model(server: InProcessServer) -> None:
    save_ready_model(server.db, KEY, config={"old": "1"})


class TestSettings:
    def test_each_replaces_the_whole(self, server: InProcessServer) -> None:
        assert roost.set_model_config("f", "s", "r", {"a": "ü", "b": ""}).config == {"a": "ü", "b": ""}
        gpu = roost.ModelRequirements(num_gpus=0.5, vram_gb=4)
        assert roost.set_model_requirements("f", "s", "r", gpu).requirements == gpu
        saved = roost.set_model_config("f", "s", "r", {})
        assert (saved.config, saved.requirements) == ({}, gpu)
        assert roost.model_registry_status("f", "s", "r") == saved

    def test_deployments_have_them_from_their_next_deploy_on(self, server: InProcessServer) -> None:
        deployment = roost.deploy_model("f", "s", "r")
        roost.set_model_config("f", "s", "r", {"new": "2"})
        (told,) = server.ray.puts[-1]["applications"]
        assert told["args"]["config"] == {"old": "1"}
        roost.redeploy_model(deployment.key)
        (told,) = server.ray.puts[-1]["applications"]
        assert told["args"]["config"] == {"new": "2"}

    def test_bad_ones_are_refused_before_they_are_sent(self, server: InProcessServer) -> None:
        for config in ({"": "x"}, {"a": 1}, {1: "a"}, ["a"]):
            with pytest.raises(InvalidConfig):
                roost.set_model_config("f", "s", "r", cast(Any, config))
        for requirements in ({"num_gpus": 1}, None, 1):
            with pytest.raises(InvalidRequirements):
                roost.set_model_requirements("f", "s", "r", cast(Any, requirements))
        for change in (roost.set_model_config, roost.set_model_requirements):
            with pytest.raises(InvalidName):
                cast(Any, change)("f", "..", "r", {})
        assert server.requests == []

    def test_an_unknown_model_is_refused(self, server: InProcessServer) -> None:
        with pytest.raises(ModelNotFound, match="'f/s/other'"):
            roost.set_model_config("f", "s", "other", {"a": "b"})
        with pytest.raises(ModelNotFound, match="'f/s/other'"):
            roost.set_model_requirements("f", "s", "other", roost.ModelRequirements())
        assert roost.model_registry_status("f", "s", "other") is None


class TestDelete:
    def test_once(self, server: InProcessServer) -> None:
        roost.delete_model("f", "s", "r")
        assert server.requests == [("DELETE", "/api/models/f/s/r")]
        assert roost.model_registry_status("f", "s", "r") is None
        with pytest.raises(ModelNotFound, match="'f/s/r'"):
            roost.delete_model("f", "s", "r")
        assert [event.kind for event in roost.list_events()] == ["model_deleted"]

    def test_it_is_refused_while_it_is_used(self, server: InProcessServer) -> None:
        deployment = roost.deploy_model("f", "s", "r")
        with pytest.raises(ModelInUse, match=r"by the deployment 'f/s/r'\. .*`roost undeploy f/s/r`"):
            roost.delete_model("f", "s", "r")
        roost.undeploy_model(deployment.key)
        roost.delete_model("f", "s", "r")
        roost.undeploy_model(deployment.key)  # the deployment's record outlives its model

    def test_it_is_refused_while_it_is_uploaded(self, server: InProcessServer) -> None:
        server.models.claim(KEY, ClaimRequest(mode="save", writer="eve@far (pid 9)"))
        with pytest.raises(ModelBusy, match=r"being saved by 'eve@far \(pid 9\)'"):
            roost.delete_model("f", "s", "r")

    def test_bad_names_are_not_sent(self, server: InProcessServer) -> None:
        for name in ("..", "a/b", "", "%2e%2e", "a b"):
            with pytest.raises(InvalidName):
                roost.delete_model("f", "s", name)
        assert server.requests == []


class TestPages:
    def test_a_page_begins_behind_a_key(self, server: InProcessServer) -> None:
        for run in ("r1", "r2", "r3"):
            save_ready_model(server.db, ModelKey("f", "s", run))
        first = roost.list_models(limit=2)
        assert [model.run_name for model in first] == ["r", "r1"]
        roost.delete_model("f", "s", "r")
        assert [model.run_name for model in roost.list_models(after=first[-1].key)] == ["r2", "r3"]
        assert [model.run_name for model in roost.list_models(after=first[-1].key, limit=1)] == ["r2"]
        assert roost.list_models(family="f", after=ModelKey("f", "s", "r3")) == []

    def test_all_of_many_come_in_few_requests(self, server: InProcessServer) -> None:
        for number in range(1001):
            save_ready_model(server.db, ModelKey("g", "s", f"r{number}"))
        server.requests.clear()
        assert len(roost.list_models(family="g")) == 1001
        assert len(server.requests) == 3
