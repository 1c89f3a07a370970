"""The address of a cluster's node: loopback, or the one by which other machines reach this one."""

from __future__ import annotations

from collections.abc import Collection
from ipaddress import AddressValueError, IPv4Address
from typing import Final, Literal

import psutil

from roost.errors import BadRequest

LOOPBACK: Final = "127.0.0.1"
ALL_INTERFACES: Final = "0.0.0.0"  # noqa: S104  # where Serve's processes of several machines must listen


def check_host(
    host: str, addresses: Collection[str] | None = None, *, flag: Literal["--cluster-host", "--node-ip"]
) -> str:
    """`host`, when it is an address of this machine that nodes of a cluster can give each other.

    Args:
        flag: How the host was given.
        addresses: This machine's; by default those of its interfaces.

    Raises:
        BadRequest: naming the host and what is wrong with it.
    """
    hint = f"Name the address by which the other machines reach this one, for example {flag} 10.0.0.5."
    try:
        address = IPv4Address(host)
    except AddressValueError:
        raise BadRequest(f"{flag} {host!r} is not an IPv4 address.", hint=hint) from None
    if address.is_unspecified:
        raise BadRequest(
            f"{flag} {host!r} is no address of a node: the nodes of a cluster call each other by it, "
            "and nothing answers there.",
            hint=hint,
        )
    known = machine_addresses() if addresses is None else addresses
    if host != LOOPBACK and host not in known:
        raise BadRequest(
            f"{flag} {host!r} is not an address of this machine, which has {', '.join(sorted(known))}.",
            hint=hint,
        )
    return host


def machine_addresses() -> set[str]:
    """The IPv4 addresses of this machine's interfaces."""
    found = psutil.net_if_addrs().values()
    return {entry.address for entries in found for entry in entries if entry.family.name == "AF_INET"}
