"""Evaluates whether a user's policies allow what a request needs.

    1. The entries of the Custom policy that match the resource, one of the actions and the address
       are considered; those of the Default policy only if there are none.
    2. The most specific entry decides: a name before a prefix, a longer prefix before a shorter
       one, a prefix before `Type:*`, and that before `*`. Between equals, Deny wins.
    3. Without any entry, access is refused.

Java 5.3.3 sorts differently: its comparison contradicts itself, prefers the shorter prefix, and
lets Allow win between equals. Java's next release uses the order above, except for the last point.
"""

from __future__ import annotations

from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, TypeAlias

from gantrymq.acl.rights.rights import Need, Resource
from gantrymq.acl.users.policy import Decision, PolicyEntry, PolicyType
from gantrymq.acl.users.resource_pattern import ResourceType
from gantrymq.acl.users.table import Policies
from gantrymq.base.peer_address import host_of

Address: TypeAlias = IPv4Address | IPv6Address

_TYPES: Final = {
    Resource.TOPIC: ResourceType.TOPIC,
    Resource.GROUP: ResourceType.GROUP,
    Resource.CLUSTER: ResourceType.CLUSTER,
}
_IN_ORDER: Final = (PolicyType.CUSTOM, PolicyType.DEFAULT)

# Connections ask often, and from few addresses.
_REMEMBERED_MAX: Final = 4096


def decision(policies: Policies, need: Need, peer: str, cluster: str) -> Decision | None:
    """The decision of the policies about a need; None if no entry matches. `peer` is `ip:port`."""
    type_ = _TYPES[need.resource]
    name = need.name or cluster
    address = parse_peer_address(peer)
    for policy_type in _IN_ORDER:
        matching = [
            entry
            for entry in policies.get(policy_type, ())
            if entry.actions & need.any_of
            and entry.resource.matches(type_, name)
            and _is_from(entry, address)
        ]
        if matching:
            return min(matching, key=_precedence).decision
    return None


def _precedence(entry: PolicyEntry) -> tuple[tuple[int, int, int], bool]:
    return entry.resource.rank, entry.decision is Decision.ALLOW


def _is_from(entry: PolicyEntry, address: Address | None) -> bool:
    """Whether the entry applies to the address; an unparsable address is in no network."""
    if not entry.networks:
        return True
    return address is not None and any(address in network for network in entry.networks)


@lru_cache(_REMEMBERED_MAX)
def parse_peer_address(peer: str) -> Address | None:
    """The address in `ip:port` or `[ip]:port`; an IPv4 address inside IPv6 counts as IPv4."""
    try:
        address = ip_address(host_of(peer))
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address
