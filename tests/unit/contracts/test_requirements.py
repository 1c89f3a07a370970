from __future__ import annotations

import math
from typing import Any

import pytest

from roost.contracts.requirements import ModelRequirements
from roost.errors import InvalidRequirements


def test_the_default_is_no_hardware() -> None:
    assert ModelRequirements() == ModelRequirements(num_gpus=0, ram_gb=0, vram_gb=0)


@pytest.mark.parametrize(
    "fields",
    [
        {"num_gpus": 0.5},
        {"num_gpus": 1},
        {"num_gpus": 2.0, "vram_gb": 40},
        {"ram_gb": 0.25},
        {"num_gpus": 0.1, "vram_gb": 1.5},
    ],
)
def test_what_a_node_can_hold_is_accepted(fields: dict[str, float]) -> None:
    requirements = ModelRequirements(**fields)

    assert {name: getattr(requirements, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"num_gpus": -1}, "num_gpus=-1 is not valid: it must be 0 or a positive number."),
        ({"ram_gb": -0.1}, "ram_gb=-0.1 is not valid: it must be 0 or a positive number."),
        ({"vram_gb": math.nan}, "vram_gb=nan is not valid: it must be 0 or a positive number."),
        ({"ram_gb": math.inf}, "ram_gb=inf is not valid: it must be 0 or a positive number."),
        ({"num_gpus": 1.5}, "num_gpus=1.5 is not valid: above 1 it must be a whole number."),
        ({"vram_gb": 8}, "vram_gb=8 needs a GPU, but num_gpus is 0."),
        ({"num_gpus": True}, "num_gpus=True is not valid: it must be a number."),
        ({"ram_gb": "4"}, "ram_gb='4' is not valid: it must be a number."),
        ({"ram_gb": None}, "ram_gb=None is not valid: it must be a number."),
    ],
)
def test_contradictory_hardware_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequirements) as caught:
        ModelRequirements(**fields)
    assert caught.value.message == message


def test_for_people() -> None:
    assert str(ModelRequirements()) == "0 GPU, 0 GiB VRAM, 0 GiB RAM"
    assert str(ModelRequirements(num_gpus=0.5, vram_gb=4, ram_gb=1.25)) == "0.5 GPU, 4 GiB VRAM, 1.25 GiB RAM"
