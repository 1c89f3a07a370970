"""Which network addresses a URL of a request may reach."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Final

from roost.capabilities.policy import MediaPolicy, Network
from roost.errors import InvalidMedia

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_NAT64: Final = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One checked address to dial."""

    family: socket.AddressFamily
    address: str
    port: int


def resolve(host: str, port: int, policy: MediaPolicy) -> list[Endpoint]:
    """The addresses of `host`, all of which a URL may reach. Dial these, do not resolve again.

    Raises:
        InvalidMedia: when the name does not resolve, or any address is out of bounds. Both give the
            same message, which names no address.
    """
    refusal = InvalidMedia(
        f"media host {host[:253]!r} has no address that may be reached.",
        hint="Only public hosts are fetched from, unless their network is allow-listed.",
    )
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise refusal from error
    endpoints = [Endpoint(family, str(sockaddr[0]), port) for family, _, _, _, sockaddr in answers]
    if not endpoints or not all(may_reach(end.address, policy.networks) for end in endpoints):
        raise refusal
    return endpoints


def may_reach(text: str, networks: tuple[Network, ...] = ()) -> bool:
    """Whether an address is public, or in one of the allow-listed `networks`.

    Addresses that carry an IPv4 address inside (mapped, 6to4, NAT64) are judged by that one.
    """
    try:
        address = _innermost(ipaddress.ip_address(text))
    except ValueError:
        return False
    return any(address in network for network in networks) or _is_public(address)


def _innermost(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_public(address: Address) -> bool:
    # is_global alone lets multicast and some reserved ranges pass.
    return address.is_global and not (
        address.is_multicast
        or address.is_reserved
        or address.is_unspecified
        or (isinstance(address, ipaddress.IPv6Address) and address.is_site_local)
    )
