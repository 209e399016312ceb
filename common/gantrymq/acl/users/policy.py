"""Defines the policies of a user: entries that allow or deny actions on resources.

A user has at most one policy of each type. An entry is identified by its resource: a second entry
for the same resource and type replaces the first. Values are checked when they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from ipaddress import IPv4Network, IPv6Network, ip_network
from typing import Final, TypeAlias, final

from gantrymq.acl.rights.actions import Action, action_names, action_of, union_of
from gantrymq.acl.users.refused import RefusedChangeError
from gantrymq.acl.users.resource_pattern import NAME_CHARACTERS_MAX, ResourcePattern
from gantrymq.wire.bodies.auth import PolicyEntryInfo

Network: TypeAlias = IPv4Network | IPv6Network

# A user that needs more resources gets a prefix.
ENTRIES_MAX: Final = 1000

# A service that needs more networks gets a wider one.
SOURCE_IPS_MAX: Final = 64

_SHOWN_CHARACTERS: Final = 100


class Decision(Enum):
    """Whether an entry allows or denies."""

    ALLOW = "Allow"
    DENY = "Deny"


class PolicyType(Enum):
    """Entries of Default apply only if no entry of Custom matches."""

    CUSTOM = "Custom"
    DEFAULT = "Default"


_DECISIONS: Final = {each.value.lower(): each for each in Decision}
_POLICY_TYPES: Final = {each.value.lower(): each for each in PolicyType}


@final
@dataclass(frozen=True, slots=True)
class PolicyEntry:
    """One rule of a policy."""

    resource: ResourcePattern
    actions: Action
    decision: Decision
    networks: tuple[Network, ...] = ()
    """The networks that requests must come from; empty for any address."""

    @classmethod
    def of(cls, info: PolicyEntryInfo) -> PolicyEntry:
        """Parse an entry; RefusedChangeError, with RocketMQ's text where Java refuses it too."""
        resource = ResourcePattern.parse(info.resource or "")
        if resource is None:
            raise RefusedChangeError(
                "The resource is null. It must be *, Topic:name, Group:name or Cluster:name, where"
                f" the name may end with *; at most {NAME_CHARACTERS_MAX} characters"
            )
        if any(name.lower() == "any" for name in info.actions):
            raise RefusedChangeError("The actions can not be Any. Name them, or write All")
        actions = union_of(found for name in info.actions if (found := action_of(name)))
        if not actions:
            raise RefusedChangeError(
                "The actions is empty. Name at least one of Pub, Sub, Create, Update, Delete, Get,"
                " List and All"
            )
        networks = _networks(info.source_ips)
        decision = _DECISIONS.get((info.decision or "").lower())
        if decision is None:
            raise RefusedChangeError("The decision is null or illegal. Allow or Deny")
        return cls(resource, actions, decision, networks)

    def to_info(self) -> PolicyEntryInfo:
        return PolicyEntryInfo(
            resource=self.resource.key,
            actions=tuple(action_names(self.actions)),
            source_ips=tuple(map(_network_text, self.networks)),
            decision=self.decision.value,
        )


def policy_type_of(name: str | None) -> PolicyType:
    """The policy type of this name; Custom unless it is Default, as in Java."""
    return _POLICY_TYPES.get((name or "").lower(), PolicyType.CUSTOM)


def merged(
    entries: Sequence[PolicyEntry], changes: Sequence[PolicyEntry]
) -> tuple[PolicyEntry, ...]:
    """The entries with the changes replacing those for the same resources, or appended."""
    by_resource = {entry.resource: entry for entry in entries}
    by_resource |= {entry.resource: entry for entry in changes}
    return tuple(by_resource.values())


def _networks(texts: Sequence[str]) -> tuple[Network, ...]:
    if len(texts) > SOURCE_IPS_MAX:
        raise RefusedChangeError(
            f"The source ip is invalid. An entry has at most {SOURCE_IPS_MAX}: use networks, as in"
            " 10.0.0.0/8"
        )
    return tuple(map(_network, texts))


def _network(text: str) -> Network:
    if not text.strip():
        raise RefusedChangeError("The source ip is empty. Leave it out, or write an address")
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise RefusedChangeError(
            f"The source ip is invalid. {text[:_SHOWN_CHARACTERS]} is neither an address, as"
            " 10.1.2.3, nor a network, as 10.0.0.0/8"
        ) from None


def _network_text(network: Network) -> str:
    is_address = network.prefixlen == network.max_prefixlen
    return str(network.network_address if is_address else network)
