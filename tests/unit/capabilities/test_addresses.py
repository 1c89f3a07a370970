from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost.capabilities import MediaPolicy
from roost.capabilities.addresses import Endpoint, may_reach, resolve
from roost.errors import InvalidMedia


@pytest.mark.parametrize(
    "address",
    [
        "8.8.8.8", "1.1.1.1", "93.184.215.14", "172.15.255.255", "172.32.0.1", "100.63.255.255",
        "100.128.0.1", "2606:4700:4700::1111", "2a00:1450:4001:81b::200e", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2002:808:808::1",
    ],
)  # fmt: skip
def test_public_addresses_may_be_reached(address: str) -> None:
    assert may_reach(address)


@pytest.mark.parametrize(
    "address",
    [
        # this host, loopback, private, shared, link-local, protocol, documentation, benchmarks
        "0.0.0.0", "0.1.2.3", "127.0.0.1", "127.255.255.254", "10.0.0.1", "172.16.0.1", "172.31.255.255",
        "192.168.0.1", "100.64.0.1", "100.127.255.255", "169.254.169.254", "169.254.0.1", "192.0.0.1",
        "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1",
        # multicast, reserved, broadcast
        "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
        # IPv6: unspecified, loopback, unique local, link-local, site-local, multicast, documentation, discard
        "::", "::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
        "2001:db8::1", "100::1",
        # IPv4 inside IPv6: mapped, compatible, NAT64, 6to4, Teredo
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::127.0.0.1", "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "2002:7f00:1::1", "2002:a00:1::1", "2001:0:7f00:1::1",
        # not an address at all
        "", "localhost", "127.1", "2130706433", "0x7f000001",
    ],
)  # fmt: skip
def test_everything_else_is_out_of_bounds(address: str) -> None:
    assert not may_reach(address)


def test_an_allow_listed_network_may_be_reached_and_no_more_than_it() -> None:
    networks = MediaPolicy(allowed_networks=("10.1.0.0/16", "::1/128")).networks

    assert may_reach("10.1.2.3", networks)
    assert may_reach("::ffff:10.1.2.3", networks)
    assert may_reach("::1", networks)
    assert not may_reach("10.2.0.1", networks)
    assert not may_reach("127.0.0.1", networks)
    assert not may_reach("fd00::1", networks)


@given(st.ip_addresses(v=4))
def test_an_address_inside_another_is_judged_as_itself(address: ipaddress.IPv4Address) -> None:
    inside = int(address)

    assert may_reach(f"::ffff:{address}") == may_reach(str(address))
    assert may_reach(str(ipaddress.IPv6Address((0x64FF9B << 96) | inside))) == may_reach(str(address))
    assert may_reach(str(ipaddress.IPv6Address((0x2002 << 112) | (inside << 80)))) == may_reach(str(address))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "2130706433", "0x7f000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "017700000001",
        "0", "169.254.169.254", "2852039166", "0xa9fea9fe", "10.0.0.1", "::1", "::ffff:127.0.0.1",
        "::ffff:7f00:1", "fd00:ec2::254", "64:ff9b::7f00:1",
    ],
)  # fmt: skip
def test_no_spelling_of_a_private_address_is_resolved(host: str) -> None:
    with pytest.raises(InvalidMedia) as caught:
        resolve(host, 80, MediaPolicy())
    assert caught.value.message == f"media host {host!r} has no address that may be reached."


def test_a_name_that_does_not_resolve_reads_like_a_private_one() -> None:
    with pytest.raises(InvalidMedia) as caught:
        resolve("a..b", 80, MediaPolicy())
    assert caught.value.message == "media host 'a..b' has no address that may be reached."


def test_a_public_address_is_the_one_to_dial() -> None:
    (endpoint,) = resolve("8.8.8.8", 443, MediaPolicy())

    assert endpoint == Endpoint(endpoint.family, "8.8.8.8", 443)
