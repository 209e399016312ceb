"""Derives from a peer's `host:port` the address by which limits count it."""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv6Address
from typing import Final

# One subscriber has a whole IPv6 network of 64 bits.
_NETWORK_BITS: Final = 64

# Connections ask often, and from few addresses.
_REMEMBERED_MAX: Final = 4096


def host_of(peer: str) -> str:
    """The IP address in `ip:port` or `[ip]:port`."""
    return peer.rpartition(":")[0].strip("[]")


@lru_cache(_REMEMBERED_MAX)
def counted_address(peer: str) -> str:
    """The host of `host:port`; for IPv6 its 64-bit network, which is what one subscriber has.

    An IPv4 address inside IPv6 counts as IPv4.
    """
    host = peer.rpartition(":")[0] or peer
    if ":" not in host:
        return host
    try:
        address = IPv6Address(host.strip("[]").partition("%")[0])
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    network = int(address) >> _NETWORK_BITS << _NETWORK_BITS
    return f"{IPv6Address(network)}/{_NETWORK_BITS}"
