from __future__ import annotations

import pytest

from roost.engine.node.refusal import find_refusal
from roost.errors import EngineStartFailed, EngineUnavailable

ADDRESS = "10.0.0.5:6379"
WRONG_TOKEN = (
    "[2026-11-30 15:27:28 W 1 1] gcs_client.cc:210: Failed to get cluster ID from GCS server: "
    "Unauthenticated: RPC error: InvalidAuthToken: Authentication token is missing or incorrect\n"
)
OTHER_VERSIONS = """RuntimeError: Version mismatch: The cluster was started with:
    Ray: 2.59.1
    Python: 3.12.3
This process on node 10.0.0.6 was started with:
    Ray: 2.60.0
    Python: 3.11.7
"""
NO_HEAD = (
    "Exception: Head node temp_dir not found in NodeInfo, either GCS or head node's raylet may not have "
    "started successfully.\n"
)


def test_a_wrong_token() -> None:
    error = find_refusal(WRONG_TOKEN, ADDRESS)
    assert isinstance(error, EngineUnavailable)
    assert error.message == "The cluster at '10.0.0.5:6379' refuses our token."
    assert "ROOST_RAY_TOKEN" in (error.hint or "")


def test_other_versions_are_both_named() -> None:
    error = find_refusal(f"\x1b[31m{OTHER_VERSIONS}\x1b[0m", ADDRESS)
    assert isinstance(error, EngineStartFailed)
    assert error.message == (
        "The cluster at '10.0.0.5:6379' runs Ray 2.59.1 on Python 3.12.3, this machine Ray 2.60.0 on "
        "Python 3.11.7: all nodes of a cluster must have the same."
    )
    assert error.hint == "Install Python 3.12.3 and ray[serve]==2.59.1 here."


def test_versions_in_another_form_are_still_told() -> None:
    error = find_refusal("The cluster was started with: something else", ADDRESS)
    assert error is not None
    assert error.message == "The cluster at '10.0.0.5:6379' runs other versions of Ray or Python."


def test_a_cluster_without_a_head_node() -> None:
    error = find_refusal(NO_HEAD, ADDRESS)
    assert error is not None
    assert error.message == "The cluster at '10.0.0.5:6379' has no head node yet."


@pytest.mark.parametrize("said", ["", "Local node IP: 127.0.0.1\nRay runtime started.\n"])
def test_nothing_is_made_up(said: str) -> None:
    assert find_refusal(said, ADDRESS) is None
