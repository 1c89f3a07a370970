"""What a host's name says of where it is."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def is_loopback(host: str | None) -> bool:
    """Whether a host name or address means this machine only."""
    if host == "localhost":
        return True
    try:
        address = ip_address((host or "").split("%")[0])
    except ValueError:
        return False
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return (mapped or address).is_loopback
