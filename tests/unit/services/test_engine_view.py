"""What is known of Ray."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from roost.contracts.info import NodeInfo
from roost.errors import EngineUnavailable
from roost.services.engine_view import EngineView
from roost.testing.fake_clock import EPOCH, FakeClock

NODE = NodeInfo(node_id="n1", name="node-one", ip="10.0.0.1", alive=True)


class Ray:
    def __init__(self) -> None:
        self.asked = 0
        self.away = False

    def nodes(self) -> Sequence[NodeInfo]:
        self.asked += 1
        if self.away:
            raise EngineUnavailable("Ray does not answer.")
        return [NODE]


@pytest.fixture
def ray() -> Ray:
    return Ray()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def view(ray: Ray, clock: FakeClock) -> EngineView:
    return EngineView(ray.nodes, lambda name, tail: "", monotonic=lambda: clock.now().timestamp())


def test_work_is_done_when_ray_is_seen_until_it_succeeds(view: EngineView) -> None:
    answers: list[bool | Exception] = [ValueError("no"), False, True, True]
    done: list[bool | Exception] = []

    def work() -> bool:
        done.append(answers.pop(0))
        if isinstance(done[-1], Exception):
            raise done[-1]
        return done[-1]

    view.when_seen(work)
    assert done == []
    for _ in range(5):
        view.saw(EPOCH)
    assert done[1:] == [False, True]
    assert isinstance(done[0], ValueError)
    assert view.last_seen == EPOCH


def test_nodes_are_asked_for_when_what_is_known_is_old(view: EngineView, ray: Ray, clock: FakeClock) -> None:
    assert view.node_names() == {}
    assert view.find_nodes() == [NODE]
    clock.advance(1.9)
    view.find_nodes()
    assert ray.asked == 1
    clock.advance(0.2)
    view.find_nodes()
    assert ray.asked == 2
    assert view.node_names() == {"n1": "node-one"}


def test_while_ray_is_away_no_nodes_are_known(view: EngineView, ray: Ray) -> None:
    ray.away = True
    assert view.find_nodes() is None
    ray.away = False
    assert view.find_nodes() == [NODE]


def test_nobody_waits_for_a_ray_that_is_known_to_be_away(view: EngineView, ray: Ray) -> None:
    view.saw(EPOCH)
    assert view.lost("no route") == EPOCH
    assert (view.trouble, view.last_seen) == ("no route", EPOCH)
    assert view.find_nodes() is None
    assert ray.asked == 0
    view.saw(EPOCH)
    assert view.trouble == ""
    assert view.find_nodes() == [NODE]


def test_who_asks_for_nodes_in_vain_knows_why(view: EngineView, ray: Ray) -> None:
    """Also a server that does not lead, which nobody tells that Ray is out of reach."""
    ray.away = True
    assert view.find_nodes() is None
    assert view.trouble == "Ray does not answer."
    ray.away = False
    assert view.find_nodes() == [NODE]
    assert view.trouble == ""
