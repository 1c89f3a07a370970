"""Many processes deploy at the same moment while others undeploy and redeploy: nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import roost
from roost.testing.many_deployers import FAMILY, Step, at_once, wait_for_agreement
from roost.testing.server_process import ServerProcess

if TYPE_CHECKING:
    from tests.e2e.conftest import Project

TIMEOUT_S = 240.0
SUFFIXES = ("one", "two", "three", "four")


def test_all_sides_agree_in_the_end(at: ServerProcess, project: Project) -> None:
    for suffix in SUFFIXES:
        roost.register_model(project.load("greeter").Greeter, FAMILY, suffix)
    deployers: list[list[Step]] = [[("deploy", suffix)] for suffix in SUFFIXES]
    others: list[list[Step]] = [
        [("undeploy", first), ("deploy", first), ("undeploy", second), ("deploy", second)]
        for first, second in (SUFFIXES[:2], SUFFIXES[1:3])
    ]
    try:
        at_once(at.url, deployers + others, timeout_s=TIMEOUT_S)
        wait_for_agreement(at, SUFFIXES, timeout_s=TIMEOUT_S)
    finally:
        at_once(at.url, [[("undeploy", suffix)] for suffix in SUFFIXES], timeout_s=TIMEOUT_S)
