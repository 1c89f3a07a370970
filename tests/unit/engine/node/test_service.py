from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

from roost.engine.node import service as service_module
from roost.engine.node.address import ClusterAddress
from roost.engine.node.service import NodeService
from roost.errors import EngineStartFailed, EngineUnavailable, RoostError

CLUSTER = ClusterAddress("10.0.0.5", 6379)
MOVES = "Leaving. Moves what is here elsewhere first, for up to 7 s; once more to leave at once."
RESTARTED = ClusterAddress("10.0.0.5", 6379, "another token")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WATCH_S", "GONE_AFTER_S", "FIRST_PAUSE_S", "LONGEST_PAUSE_S"):
        monkeypatch.setattr(service_module, name, 0.0)


@dataclass
class FakeNode:
    """Joins, or fails, as scripted; lives for so many looks."""

    results: list[RoostError | None] = field(default_factory=list)
    lives: list[int] = field(default_factory=list)
    left_behind: bool = False
    replicas_seen: list[int] = field(default_factory=list)
    replicas_left: int = 0
    joined: list[ClusterAddress] = field(default_factory=list)
    left_with: list[float] = field(default_factory=list)
    on_look: Callable[[], None] = lambda: None

    def join(self, cluster: ClusterAddress, should_abort: Callable[[], bool]) -> None:
        if (error := self.results.pop(0)) is not None:
            raise error
        self.joined.append(cluster)

    def alive(self) -> bool:
        self.on_look()
        if not self.lives or self.lives[0] == 0:
            self.lives[:1] = []
            return False
        self.lives[0] -= 1
        return True

    def leave(self, *, drain_s: float, hurry: Callable[[], bool], on_left: Callable[[int], None]) -> int:
        self.left_with.append(drain_s)
        for left in self.replicas_seen:
            on_left(left)
        return self.replicas_left

    def end_remains(self) -> bool:
        return self.left_behind


@dataclass
class Ran:
    """A service and what it told."""

    service: NodeService
    said: list[str]
    joined: list[ClusterAddress]

    def run(self) -> None:
        self.service.run(self.joined.append)


def serve(
    node: FakeNode, clusters: Iterator[ClusterAddress | None], answers: Callable[[ClusterAddress], bool]
) -> Ran:
    said: list[str] = []
    service = NodeService(node, lambda: next(clusters), said.append, drain_s=7.0, answers=answers)
    return Ran(service, said, [])


def test_it_stays_until_it_is_told_to_leave_and_drains() -> None:
    node = FakeNode(results=[None], lives=[99], replicas_seen=[3, 2], replicas_left=2)
    ran = serve(node, iter([CLUSTER]), lambda _: True)
    looks: list[int] = []

    def look() -> None:
        looks.append(1)
        if len(looks) == 3:
            ran.service.leave.set()

    node.on_look = look
    ran.run()
    assert (ran.joined, node.joined, node.left_with) == ([CLUSTER], [CLUSTER], [7.0])
    assert ran.said == [
        MOVES,
        "Still here: 3 replicas.",
        "Still here: 2 replicas.",
        "2 replicas did not find another place in time.",
        "This node has left the cluster.",
    ]


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([1, 0], [MOVES, "Still here: 1 replica.", "No replica is here any more."]),
        ([0], ["Leaving; no replica is here."]),
    ],
)
def test_a_node_that_is_empty_or_becomes_so_says_that(seen: list[int], said: list[str]) -> None:
    node = FakeNode(results=[None], lives=[99], replicas_seen=seen)
    ran = serve(node, iter([CLUSTER]), lambda _: True)
    node.on_look = ran.service.leave.set
    ran.run()
    assert ran.said == [*said, "This node has left the cluster."]


def test_a_cluster_that_is_starting_is_waited_for_and_told_once() -> None:
    node = FakeNode(results=[None], lives=[0])
    ran = serve(node, iter([None, None, CLUSTER]), lambda _: True)
    node.on_look = ran.service.leave.set
    ran.run()
    assert ran.joined == [CLUSTER]
    assert ran.said[0] == "The cluster is still starting; this node joins it as soon as it is up."
    assert ran.said.count(ran.said[0]) == 1


def test_the_first_failure_ends_it_with_nothing_left() -> None:
    node = FakeNode(results=[EngineUnavailable("refuses our token")], left_behind=True)
    ran = serve(node, iter([CLUSTER]), lambda _: True)
    with pytest.raises(EngineUnavailable):
        ran.run()
    assert ran.joined == []
    assert node.left_with == [7.0]
    assert ran.said == ["What an earlier run of this node left is ended."]


def test_a_join_that_is_interrupted_is_no_error() -> None:
    node = FakeNode(results=[EngineStartFailed("interrupted")])
    ran = serve(node, iter([CLUSTER]), lambda _: True)
    find = ran.service._find_cluster

    def interrupted() -> ClusterAddress | None:
        found = find()
        ran.service.leave.set()
        return found

    ran.service._find_cluster = interrupted
    ran.run()
    assert (ran.joined, node.left_with) == ([], [7.0])


def test_after_a_death_it_joins_again_with_what_is_true_then() -> None:
    """The raylet dies; then the cluster is away, starting, and back with another token."""
    node = FakeNode(results=[None, EngineStartFailed("busy"), None], lives=[1, 0])
    found: list[ClusterAddress | RoostError | None] = [
        CLUSTER,
        EngineUnavailable("nothing answers"),
        EngineUnavailable("nothing answers"),
        None,
        RESTARTED,
        RESTARTED,
    ]

    def clusters() -> ClusterAddress | None:
        each = found.pop(0)
        if isinstance(each, RoostError):
            raise each
        return each

    said: list[str] = []
    joined: list[ClusterAddress] = []
    service = NodeService(node, clusters, said.append, drain_s=0.0, answers=lambda _: True)

    def look() -> None:
        if len(node.joined) == 2:
            service.leave.set()

    node.on_look = look
    service.run(joined.append)
    assert (joined, node.joined) == ([CLUSTER], [CLUSTER, RESTARTED])
    assert said == [
        "The node or its cluster died; it joins again as soon as the cluster answers.",
        "Not yet: nothing answers",
        "Not yet: busy",
        "Joined again.",
    ]


def test_a_cluster_that_no_longer_answers_is_left_and_joined_again() -> None:
    node = FakeNode(results=[None, None], lives=[99, 99])
    ran = serve(node, iter([CLUSTER, RESTARTED]), lambda cluster: cluster == RESTARTED)

    def look() -> None:
        if len(node.joined) == 2:
            ran.service.leave.set()

    node.on_look = look
    ran.run()
    assert node.joined == [CLUSTER, RESTARTED]
    assert "Joined again." in ran.said
