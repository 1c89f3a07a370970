"""Arguments that make no sense are told by their Python names, and nothing is sent."""

from __future__ import annotations

from typing import Any

import pytest

import roost
from roost.contracts.autoscaling import Autoscaling
from roost.errors import InvalidConfig, ValidationFailed
from roost.testing.in_process import InProcessServer

MODEL = ("f", "s", "r")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_replicas": "3"}, "num_replicas='3' is not valid: Input should be a valid integer."),
        ({"num_replicas": True}, "num_replicas=True is not valid: Input should be a valid integer."),
        ({"num_replicas": 2.0}, "num_replicas=2.0 is not valid: Input should be a valid integer."),
        (
            {"num_replicas": 0},
            "num_replicas=0 is not valid: Input should be greater than or equal to 1.",
        ),
        ({"pinned": "no"}, "pinned='no' is not valid: Input should be a valid boolean."),
        ({"take_name": 1}, "take_name=1 is not valid: Input should be a valid boolean."),
        ({"idle_timeout_s": "60"}, "idle_timeout_s='60' is not valid: Input should be a valid number."),
        ({"idle_timeout_s": True}, "idle_timeout_s=True is not valid: Input should be a valid number."),
        ({"name": 5}, "name=5 is not valid: Input should be a valid string."),
        ({"autoscaling": 2}, "autoscaling=2 is not valid: Input should be"),
        (
            {"autoscaling": {"foo": 2}},
            "autoscaling has no 'foo': it takes min_replicas, max_replicas, target_ongoing_requests, "
            "upscale_delay_s, downscale_delay_s and downscale_to_zero_delay_s.",
        ),
        ({"autoscaling": {"maxReplicas": 2}}, "autoscaling has no 'maxReplicas': it takes min_replicas, "),
        ({"autoscaling": {"min_replicas": 1}}, "autoscaling.max_replicas is missing."),
        (
            {"autoscaling": {"max_replicas": "2"}},
            "autoscaling.max_replicas='2' is not valid: Input should be a valid integer.",
        ),
        (
            {"autoscaling": {"min_replicas": 3, "max_replicas": 2}},
            "autoscaling={'min_replicas': 3, 'max_replicas': 2} is not valid: "
            "min_replicas=3 is more than max_replicas=2.",
        ),
    ],
)
@pytest.mark.parametrize("function", [roost.deploy_model, roost.plan_deploy])
def test_what_makes_no_sense_is_named_and_not_sent(
    server: InProcessServer, function: Any, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationFailed) as caught:
        function(*MODEL, **arguments)
    assert caught.value.message.startswith(message)
    assert server.requests == []


@pytest.mark.parametrize("timeout", ["abc", "3", True, float("nan"), [1]])
def test_a_time_out_that_is_no_number(server: InProcessServer, timeout: Any) -> None:
    message = r"^timeout=.* is not valid: it must be a number"
    with pytest.raises(ValidationFailed, match=message):
        roost.deploy_model(*MODEL, timeout=timeout)
    with pytest.raises(ValidationFailed, match=message):
        roost.wait_for_model_serving(roost.DeploymentKey(*MODEL), timeout)
    assert server.requests == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"family": 3}, "family=3 is not valid: it must be text."),
        ({"run_name": b"r"}, "run_name=b'r' is not valid: it must be text."),
        ({"limit": "3"}, "limit='3' is not valid: it must be a whole number of at least 1."),
        ({"limit": 0}, "limit=0 is not valid: it must be a whole number of at least 1."),
        ({"limit": True}, "limit=True is not valid: it must be a whole number of at least 1."),
    ],
)
def test_a_list_of_nothing_that_can_be(
    server: InProcessServer, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValidationFailed) as caught:
        roost.list_models(**arguments)
    assert (caught.value.message, caught.value.hint) == (message, "Leave it out for all of them.")
    assert server.requests == []


def test_issues_have_pythons_names_too(server: InProcessServer) -> None:
    with pytest.raises(ValidationFailed) as caught:
        roost.deploy_model(*MODEL, autoscaling={"target_ongoing_requests": 0, "min_replicas": 2000})
    assert [issue["loc"] for issue in caught.value.issues or ()] == [
        ["autoscaling", "min_replicas"],
        ["autoscaling", "max_replicas"],
        ["autoscaling", "target_ongoing_requests"],
    ]
    assert server.requests == []


def test_a_bad_config_is_not_sent_either(server: InProcessServer) -> None:
    with pytest.raises(InvalidConfig):
        roost.plan_deploy(*MODEL, config={"a": 1})  # type: ignore[dict-item]
    assert server.requests == []


def test_both_forms_of_autoscaling_are_taken(server: InProcessServer) -> None:
    as_model = Autoscaling(max_replicas=2, upscale_delay_s=1)
    for given in (as_model, {"max_replicas": 2, "upscale_delay_s": 1}):
        with pytest.raises(roost.errors.ModelNotFound):
            roost.deploy_model(*MODEL, autoscaling=given)
    assert len(server.requests) == 2
