"""Which models are paused for replicas that wait."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.contracts.info import NodeInfo
from roost.serving.occupancy import Holder, Waiting
from roost.serving.scheduler import Decision, make_room

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def node(name: str, *, gpus: float = 0, shares: Sequence[float] = (), **more: Any) -> NodeInfo:
    return NodeInfo(
        node_id=name,
        name=f"node-{name}",
        ip="10.0.0.1",
        alive=more.pop("alive", True),
        labels=more.pop("labels", {}),
        resources={"CPU": 8.0, "GPU": float(gpus), **more.pop("resources", {})},
        used={"CPU": 1.0, "GPU": sum(shares)},
        used_gpu_shares=list(shares),
    )


def wants(gpus: float, *, key: str = "f/s/new", **more: Any) -> Waiting:
    labels = more.pop("labels", None)
    options = {"num_cpus": 0.1, "num_gpus": gpus} | ({"label_selector": labels} if labels else {})
    return Waiting(key, options, **more)


def holds(key: str, gpus: float, *nodes: str, idle_s: float = 600, obstacle: str = "") -> Holder:
    counts = {name: nodes.count(name) for name in nodes}
    used_at = NOW - timedelta(seconds=idle_s)
    return Holder(key, {"num_cpus": 0.1, "num_gpus": gpus}, counts, used_at, obstacle)


def decide(
    item: Waiting,
    nodes: list[NodeInfo],
    holders: list[Holder],
    leaving: dict[str, dict[str, float]] | None = None,
) -> Decision:
    return make_room([item], nodes, holders, leaving or {}, NOW)[item.key]


FULL = node("a", gpus=2, shares=(1, 1))
SHARED = node("a", gpus=2, shares=(1, 0.5, 0.5))


@pytest.mark.parametrize(
    ("item", "nodes", "holders", "victims"),
    [
        pytest.param(wants(1), [node("a", gpus=2, shares=(1,))], [holds("old", 1, "a")], (), id="it fits"),
        pytest.param(
            wants(1),
            [FULL],
            [holds("older", 1, "a", idle_s=900), holds("newer", 1, "a", idle_s=800)],
            ("older",),
            id="the least recently used",
        ),
        pytest.param(
            wants(2),
            [FULL],
            [holds("one", 1, "a", idle_s=900), holds("two", 1, "a", idle_s=900)],
            ("one", "two"),
            id="as many as it takes",
        ),
        pytest.param(
            wants(1),
            [SHARED],
            [
                holds("small", 0.5, "a", idle_s=900),
                holds("tiny", 0.5, "a", idle_s=900),
                holds("big", 1, "a", idle_s=300),
            ],
            ("big",),
            id="the fewest",
        ),
        pytest.param(
            wants(1),
            [SHARED],
            [
                holds("small", 0.5, "a", idle_s=900),
                holds("tiny", 0.5, "a", idle_s=900),
                holds("just deployed", 1, "a", idle_s=3),
            ],
            ("small", "tiny"),
            id="rather two old ones than one just used",
        ),
        pytest.param(
            wants(2),
            [FULL],
            [holds("old", 1, "a", idle_s=900), holds("just deployed", 1, "a", idle_s=3)],
            ("old", "just deployed"),
            id="one just used when it takes that",
        ),
        pytest.param(
            wants(1),
            [FULL],
            [holds("busy", 1, "a", obstacle="is busy"), holds("idle", 1, "a", idle_s=5)],
            ("idle",),
            id="never one with an obstacle",
        ),
        pytest.param(
            wants(2),
            [FULL],
            [holds("busy", 1, "a", obstacle="is busy"), holds("idle", 1, "a")],
            (),
            id="nobody when that is not enough",
        ),
        pytest.param(
            wants(1),
            [node("a", gpus=1, shares=(1,)), node("b", gpus=1, shares=(1,))],
            [holds("newer", 1, "a", idle_s=100), holds("older", 1, "b", idle_s=900)],
            ("older",),
            id="of all nodes the least recently used",
        ),
        pytest.param(
            wants(2),
            [FULL, node("b", gpus=2, shares=(1, 1))],
            [
                holds("a1", 1, "a", idle_s=900),
                holds("a2", 1, "a", idle_s=900),
                holds("b1", 2, "b", idle_s=100),
            ],
            ("b1",),
            id="the node with the fewest",
        ),
        pytest.param(
            wants(2),
            [node("a", gpus=2, shares=(1,)), node("b", gpus=2, shares=(1, 1))],
            [holds("a1", 1, "a"), holds("b1", 1, "b"), holds("b2", 1, "b")],
            ("a1",),
            id="never across nodes",
        ),
        pytest.param(
            wants(1),
            [FULL, node("b", gpus=2, shares=(1, 1))],
            [holds("spread", 1, "a", "b", idle_s=900), holds("single", 1, "a", idle_s=100)],
            ("single",),
            id="rather one that is on one node only",
        ),
        pytest.param(
            wants(1),
            [node("a", gpus=1, shares=(1,)), node("b", gpus=1, shares=(1,))],
            [holds("spread", 1, "a", "b", idle_s=900)],
            ("spread",),
            id="one that is on two nodes, where no other is",
        ),
        pytest.param(
            wants(2),
            [node("a", gpus=2, shares=(1, 1)), node("b", gpus=2, shares=(1,))],
            [holds("spread", 1, "a", "b"), holds("other", 1, "a", obstacle="is pinned")],
            ("spread",),
            id="which gives each node its share only",
        ),
        pytest.param(
            wants(1, labels={"vram_mib": "24576"}),
            [
                node("a", gpus=1, shares=(1,), labels={"vram_mib": "12288"}),
                node("b", gpus=1, shares=(1,), labels={"vram_mib": "24576"}),
            ],
            [holds("wrong card", 1, "a", idle_s=900), holds("right card", 1, "b", idle_s=100)],
            ("right card",),
            id="where its labels let it go",
        ),
        pytest.param(
            wants(1),
            [node("a", gpus=1, shares=(1,), alive=False)],
            [holds("dead", 1, "a")],
            (),
            id="never on a dead node",
        ),
        pytest.param(
            wants(1, replicas=2),
            [FULL],
            [holds("one", 1, "a", idle_s=900), holds("two", 1, "a", idle_s=800)],
            ("one", "two"),
            id="for each replica that waits",
        ),
        pytest.param(
            wants(1),
            [node("a", gpus=3, shares=[0.05] * 60)],
            [holds(f"m{number}", 0.05, "a", idle_s=100 + number) for number in range(60)],
            tuple(f"m{number}" for number in range(59, 39, -1)),
            id="many small ones, the longest unused",
        ),
    ],
)
def test_who_is_paused(
    item: Waiting, nodes: list[NodeInfo], holders: list[Holder], victims: tuple[str, ...]
) -> None:
    assert sorted(decide(item, nodes, holders).victims) == sorted(victims)


def test_nobody_is_paused_while_room_is_on_its_way() -> None:
    decision = decide(wants(1), [FULL], [holds("idle", 1, "a")], {"a": {"GPU": 1.0, "CPU": 0.1}})
    assert decision == Decision(
        message="Waits for room: one replica needs 0.1 CPUs, 1 GPUs; it is being made on 'node-a'."
    )


def test_room_on_its_way_is_for_one_only() -> None:
    first, second = wants(1, key="f/s/first"), wants(1, key="f/s/second")
    decisions = make_room([first, second], [FULL], [holds("idle", 1, "a")], {"a": {"GPU": 1.0}}, NOW)
    assert [decision.victims for decision in decisions.values()] == [(), ("idle",)]


def test_two_that_wait_do_not_take_the_same_victim() -> None:
    first, second = wants(1, key="f/s/first"), wants(1, key="f/s/second")
    decisions = make_room([first, second], [FULL], [holds("idle", 1, "a")], {}, NOW)
    assert [(decision.victims, decision.stuck) for decision in decisions.values()] == [
        (("idle",), False),
        ((), True),
    ]


def test_an_update_in_place_stops_its_own_old_replicas_first() -> None:
    item = wants(1, beside=True, rollout="in_place")
    assert decide(item, [FULL], [holds("idle", 1, "a")]) == Decision(in_place=True)
    assert decide(item, [node("a", gpus=2, shares=(1,))], []) == Decision()


def test_an_update_that_waits_may_pause_others_else_it_says_what_would_help() -> None:
    item = wants(1, beside=True)
    assert decide(item, [FULL], [holds("idle", 1, "a")]).victims == ("idle",)
    assert decide(item, [FULL], []) == Decision(
        message="Waits for room: one replica needs 0.1 CPUs, 1 GPUs; no node has it free "
        "(largest: 'node-a' with 7 CPUs, 0 GPUs). The replicas of the version before go on serving; "
        "rollout='in_place' would replace them, with a gap.",
        stuck=True,
    )


def test_why_it_waits() -> None:
    gib = 1024**3
    item = Waiting(
        "f/s/new", {"num_cpus": 0.1, "num_gpus": 0.65, "memory": 4 * gib, "resources": {"vram_mib": 8000}}
    )
    nodes = [
        node("a", gpus=1, shares=(1,), resources={"memory": 16.0 * gib, "vram_mib": 12288.0}),
        node("b", gpus=1, shares=(0.5,), resources={"memory": 16.0 * gib, "vram_mib": 12288.0}),
        node("c", resources={"memory": 64.0 * gib}),
    ]
    holders = [
        holds("f/s/a", 1, "a", obstacle="is pinned"),
        holds("f/s/b", 0.5, "b", obstacle="is busy"),
    ]
    assert decide(item, nodes, holders) == Decision(
        message="Waits for room: one replica needs 0.1 CPUs, 0.65 GPUs, 4 GiB of memory, "
        "8000 MiB of GPU memory; no node has it free (largest: 'node-b' with 7 CPUs, 0.5 GPUs, "
        "16 GiB of memory, 12288 MiB of GPU memory). Pausing idle models would not make room: "
        "'f/s/a' is pinned, 'f/s/b' is busy.",
        stuck=True,
    )


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([], "Waits for room: one replica needs 0.1 CPUs, 4 GPUs; no node is alive."),
        (
            [FULL],
            "Waits for room: one replica needs 0.1 CPUs, 4 GPUs; no node has that much, also when empty.",
        ),
    ],
)
def test_what_can_never_be_placed_says_so(nodes: list[NodeInfo], message: str) -> None:
    assert decide(wants(4), nodes, []) == Decision(message=message, stuck=True)


def test_of_many_in_the_way_three_are_named() -> None:
    holders = [holds(f"f/s/{number}", 0.1, "a", obstacle="is busy") for number in range(5)]
    assert decide(wants(1), [FULL], holders).message.endswith(
        ": 'f/s/0' is busy, 'f/s/1' is busy, 'f/s/2' is busy, 2 more."
    )


AMOUNTS = st.integers(1, 4).map(float)
HOLDERS = st.lists(
    st.tuples(
        AMOUNTS, st.lists(st.sampled_from("ab"), min_size=1, max_size=3), st.integers(0, 500), st.booleans()
    ),
    max_size=7,
)


def seats(amount: float) -> dict[str, Any]:
    return {"num_cpus": 0, "resources": {"seats": amount}}


@given(AMOUNTS, HOLDERS)
def test_what_is_paused_makes_room_and_none_of_it_is_needless(
    amount: float, rows: list[tuple[float, list[str], int, bool]]
) -> None:
    """On nodes that are full."""
    holders = [
        Holder(
            f"m{number}",
            seats(each),
            {name: nodes.count(name) for name in nodes},
            NOW - timedelta(seconds=idle_s),
            "is busy" if busy else "",
        )
        for number, (each, nodes, idle_s, busy) in enumerate(rows)
    ]
    full = {name: sum(holder.share(name).get("seats", 0.0) for holder in holders) for name in "ab"}
    nodes = [
        NodeInfo(
            node_id=name, name=name, ip="", alive=True, resources={"seats": taken}, used={"seats": taken}
        )
        for name, taken in full.items()
    ]
    item = Waiting("f/s/new", seats(amount))
    chosen = [holder for holder in holders if holder.key in decide(item, nodes, holders).victims]

    def fits(victims: list[Holder]) -> bool:
        freed = [sum(each.share(name).get("seats", 0.0) for each in victims) for name in "ab"]
        return max(freed) >= amount

    assert not any(holder.obstacle for holder in chosen)
    if chosen:
        assert fits(chosen)
        assert not any(fits([each for each in chosen if each is not spared]) for spared in chosen)
    else:
        assert not fits([holder for holder in holders if not holder.obstacle])
