"""Ray's answer, read tolerantly."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.serving.observed import ObservedApp, ObservedReplica, ObservedServe, clean_message, parse_serve

FAILED: dict[str, Any] = {
    "controller_info": {},
    "http_options": {"host": "127.0.0.1", "port": 18000},
    "proxy_location": "HeadOnly",
    "target_capacity": 50.0,
    "proxies": {"n1": {"status": "HEALTHY"}},
    "applications": {
        "f__a__b": {
            "name": "f__a__b",
            "status": "DEPLOY_FAILED",
            "message": "Failed to update the deployments ['App'].",
            "deployed_app_config": {"name": "f__a__b", "import_path": "roost.replica.builder:build"},
            "deployments": {
                "App": {
                    "status": "DEPLOY_FAILED",
                    "message": "\x1b[36mray::App\x1b[39m\nValueError: no such file",
                    "target_num_replicas": 2,
                    "replicas": [
                        {
                            "replica_id": "r1",
                            "state": "RUNNING",
                            "node_id": "n1",
                            "node_ip": "10.0.0.1",
                            "pid": 5,
                            "start_time_s": 1.0,
                        },
                        {"replica_id": "r2", "state": "STARTING", "node_id": None},
                    ],
                }
            },
        }
    },
}


def test_a_failed_update() -> None:
    assert parse_serve(FAILED) == ObservedServe(
        apps={
            "f__a__b": ObservedApp(
                status="DEPLOY_FAILED",
                message="ray::App\nValueError: no such file",
                config={"name": "f__a__b", "import_path": "roost.replica.builder:build"},
                statuses=("DEPLOY_FAILED",),
                target=2,
                replicas=(
                    ObservedReplica("r1", "RUNNING", "n1", "10.0.0.1"),
                    ObservedReplica("r2", "STARTING", None, None),
                ),
            )
        },
        http_options={"host": "127.0.0.1", "port": 18000},
        proxy_location="HeadOnly",
        target_capacity=50.0,
    )


def test_serve_does_not_run() -> None:
    empty: dict[str, Any] = {"proxies": {}, "applications": {}, "target_capacity": None}
    assert parse_serve(empty) == ObservedServe(apps={})


@pytest.mark.parametrize(
    ("own", "deployment", "shown"),
    [
        ("", "", ""),
        ("Failed to update the deployments ['App'].", "ValueError: x", "ValueError: x"),
        ("The deployments ['App'] are UNHEALTHY.", "health check failed", "health check failed"),
        ("Failed to update the deployments ['App'].", "", "Failed to update the deployments ['App']."),
        ("Deploying app failed:\nImportError: y", "", "Deploying app failed:\nImportError: y"),
        ("ImportError: y", "waiting", "ImportError: y\nwaiting"),
        ("same", "same", "same"),
    ],
)
def test_the_most_telling_message(own: str, deployment: str, shown: str) -> None:
    details = {
        "applications": {
            "a": {"status": "X", "message": own, "deployments": {"App": {"message": deployment}}}
        }
    }
    assert parse_serve(details).apps["a"].message == shown


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("bell\x07 and\ttab\n", "bell and\ttab"),
        ("ends in escape\x1b", "ends in escape"),
    ],
)
def test_no_terminal_codes(text: str, clean: str) -> None:
    assert clean_message(text) == clean


def test_a_long_message_keeps_its_end() -> None:
    message = clean_message("start " + "x" * 50_000 + " ValueError: the reason")
    assert len(message) == 4000
    assert message.startswith("start xxx")
    assert message.endswith("xxx ValueError: the reason")
    assert "\n...\n" in message


@given(st.text())
def test_messages_are_printable_and_bounded(text: str) -> None:
    message = clean_message(text)
    assert "\x1b" not in message
    assert "\x00" not in message
    assert len(message) <= 4000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "applications",
                    "a",
                    "deployments",
                    "App",
                    "replicas",
                    "status",
                    "message",
                    "target_num_replicas",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.sampled_from(["applications", "http_options", "proxy_location"]), JSON))
def test_odd_parts_do_not_stop_the_rest(details: dict[str, Any]) -> None:
    good = FAILED["applications"]["f__a__b"]
    if isinstance(details.get("applications"), dict):
        details["applications"]["f__a__b"] = good
    seen = parse_serve(details)
    if isinstance(details.get("applications"), dict):
        assert seen.apps["f__a__b"].target == 2


def test_of_a_failed_start_the_replicas_own_sentence_is_kept() -> None:
    text = (
        'The deployment failed to start 3 times in a row.\n  File "/ray/replica.py", line 1, in init\n'
        "roost.errors.ModelDeployFailed: The constructor of 'm:M' raised ValueError: no such word\n"
    )
    assert clean_message(text) == "The constructor of 'm:M' raised ValueError: no such word"
