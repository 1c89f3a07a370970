"""Keys and configs as they are typed."""

from __future__ import annotations

import pytest

from roost.cli.arguments import read_config, read_key
from roost.errors import InvalidConfig, InvalidName
from roost.keys import DeploymentKey


def test_pairs_become_a_config() -> None:
    assert read_config(["a=1", "b=x=y", "c="]) == {"a": "1", "b": "x=y", "c": ""}
    assert read_config(None) == {}


@pytest.mark.parametrize("pairs", [["a"], ["a=1", "a=2"]])
def test_a_bad_pair_is_named(pairs: list[str]) -> None:
    with pytest.raises(InvalidConfig, match="'a'"):
        read_config(pairs)


def test_a_config_beside_the_key_names_its_deployment() -> None:
    assert read_key("f/s/r", {"thinking": "false"}) == DeploymentKey("f", "s", "r", "a32291675798")
    assert read_key("f/s/r@a32291675798") == DeploymentKey("f", "s", "r", "a32291675798")
    assert read_key("f/s/r", {}) == DeploymentKey("f", "s", "r")


def test_a_fingerprint_and_a_config_contradict() -> None:
    with pytest.raises(InvalidName, match="fingerprint"):
        read_key("f/s/r@a32291675798", {"a": "1"})
