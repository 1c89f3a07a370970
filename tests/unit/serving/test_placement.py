"""What a replica asks for, and where it could ever run."""

import pytest

from roost.contracts.info import NodeInfo
from roost.contracts.requirements import ModelRequirements
from roost.errors import Infeasible
from roost.serving.placement import actor_options, card_mib, check_feasible

GIB = 1024**3


def node(name: str, *, alive: bool = True, vram: str = "", **resources: float) -> NodeInfo:
    labels = {"vram_mib": vram} if vram else {}
    return NodeInfo(
        node_id=f"id-{name}", name=name, ip="10.0.0.1", alive=alive, labels=labels, resources=resources
    )


SMALL = node("small", CPU=2, memory=8 * GIB)
TWO_CARDS = node("two-cards", vram="24576", CPU=16, GPU=2, memory=64 * GIB, vram_mib=49152)


@pytest.mark.parametrize(
    ("requirements", "options"),
    [
        (ModelRequirements(), {"num_cpus": 0.1}),
        (ModelRequirements(num_gpus=0.5), {"num_cpus": 0.1, "num_gpus": 0.5}),
        (ModelRequirements(ram_gb=1.5), {"num_cpus": 0.1, "memory": 1610612736}),
        (
            ModelRequirements(num_gpus=1, vram_gb=8),
            {"num_cpus": 0.1, "num_gpus": 1, "resources": {"vram_mib": 8192}},
        ),
    ],
)
def test_actor_options(requirements: ModelRequirements, options: dict[str, object]) -> None:
    assert actor_options(requirements, 0.1) == options


@pytest.mark.parametrize(
    ("requirements", "replica_cpus"),
    [
        (ModelRequirements(), 0.1),
        (ModelRequirements(), 2),
        (ModelRequirements(ram_gb=8), 0.1),
        (ModelRequirements(num_gpus=2, vram_gb=48), 1),
        (ModelRequirements(num_gpus=0.5, vram_gb=24), 1),
    ],
)
def test_feasible(requirements: ModelRequirements, replica_cpus: float) -> None:
    check_feasible(requirements, replica_cpus, [SMALL, TWO_CARDS])


@pytest.mark.parametrize(
    ("requirements", "replica_cpus", "nodes", "message"),
    [
        (
            ModelRequirements(num_gpus=1),
            0.1,
            [SMALL],
            "one replica needs 0.1 CPUs, 1 GPUs, which no node has: 'small' comes nearest with 0 GPUs.",
        ),
        (
            ModelRequirements(ram_gb=100),
            0.1,
            [SMALL, TWO_CARDS],
            "one replica needs 0.1 CPUs, 100 GiB of memory, which no node has: "
            "'two-cards' comes nearest with 64 GiB of memory.",
        ),
        (
            ModelRequirements(num_gpus=1, vram_gb=40),
            0.1,
            [SMALL, TWO_CARDS],
            "one replica needs 0.1 CPUs, 1 GPUs, 40960 MiB of GPU memory on one card, "
            "40960 MiB of GPU memory advertised, which no node has: "
            "'two-cards' comes nearest with 24576 MiB of GPU memory on one card.",
        ),
        (
            ModelRequirements(),
            3,
            [SMALL],
            "one replica needs 3 CPUs, which no node has: 'small' comes nearest with 2 CPUs.",
        ),
        (ModelRequirements(), 0.1, [node("dead", alive=False, CPU=64)], "no node of the cluster is alive."),
        (ModelRequirements(), 0.1, [], "no node of the cluster is alive."),
    ],
)
def test_infeasible(
    requirements: ModelRequirements, replica_cpus: float, nodes: list[NodeInfo], message: str
) -> None:
    with pytest.raises(Infeasible) as raised:
        check_feasible(requirements, replica_cpus, nodes)
    assert raised.value.message == message
    assert raised.value.hint


@pytest.mark.parametrize(
    ("label", "mib"),
    [
        ("24576", 24576),
        ("", None),
        ("0", None),
        ("-1", None),
        ("24 GB", None),
        ("1e4", None),
        ("٣", None),
        ("9" * 5000, None),
    ],
)
def test_malformed_labels_are_skipped(label: str, mib: int | None) -> None:
    assert card_mib({"vram_mib": label}) == mib
    assert card_mib({}) is None
