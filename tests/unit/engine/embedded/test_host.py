from __future__ import annotations

import pytest

from roost.engine.embedded.host import check_host, machine_addresses
from roost.errors import BadRequest

MACHINE = {"127.0.0.1", "10.0.0.5"}


@pytest.mark.parametrize("host", ["127.0.0.1", "10.0.0.5"])
def test_an_address_of_this_machine_is_taken(host: str) -> None:
    assert check_host(host, MACHINE, flag="--cluster-host") == host


@pytest.mark.parametrize(
    ("host", "why"),
    [
        ("0.0.0.0", "'0.0.0.0' is no address of a node: the nodes of a cluster call each other by it"),
        ("10.0.0.6", "'10.0.0.6' is not an address of this machine, which has 10.0.0.5, 127.0.0.1."),
        ("head.example", "'head.example' is not an IPv4 address"),
        ("::1", "'::1' is not an IPv4 address"),
        ("10.0.0.5:6379", "'10.0.0.5:6379' is not an IPv4 address"),
        ("", "'' is not an IPv4 address"),
    ],
)
def test_any_other_is_refused_with_the_reason(host: str, why: str) -> None:
    with pytest.raises(BadRequest) as caught:
        check_host(host, MACHINE, flag="--cluster-host")
    assert why in caught.value.message
    assert "--cluster-host" in (caught.value.hint or "")


def test_the_machine_knows_its_loopback() -> None:
    assert "127.0.0.1" in machine_addresses()
