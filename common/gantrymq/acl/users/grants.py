"""Computes the policy changes that give a role to a user or take it away.

A new entry replaces the one for the same resource, so actions are added to those that the entry
allows already. Only entries of type Custom are considered: entries of type Default stay as they
are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.acl.rights.actions import Action, action_names
from gantrymq.acl.users.policy import Decision, PolicyEntry, PolicyType, policy_type_of
from gantrymq.acl.users.resource_pattern import ResourcePattern
from gantrymq.base.errors import ConfigurationError
from gantrymq.wire.bodies.auth import AclInfo, PolicyEntryInfo, PolicyInfo


@final
@dataclass(frozen=True, slots=True)
class PolicyChange:
    """Entries to write, and resources whose entries must be deleted."""

    written: tuple[PolicyEntryInfo, ...] = ()
    deleted: tuple[str, ...] = ()

    @property
    def policies(self) -> tuple[PolicyInfo, ...]:
        return (PolicyInfo(entries=self.written),) if self.written else ()


def granted(before: AclInfo | None, wanted: Sequence[PolicyEntryInfo]) -> PolicyChange:
    """The change that allows `wanted` in addition.

    Raises ConfigurationError if an entry for the resource denies, or has other source addresses.
    """
    entries = _entries(before)
    written = []
    for info in wanted:
        asked = PolicyEntry.of(info)
        known = entries.get(asked.resource)
        if known is None:
            written.append(asked.to_info())
            continue
        _check(known, asked)
        actions = known.actions | asked.actions
        if actions != known.actions:
            written.append(_with_actions(known, actions))
    return PolicyChange(tuple(written))


def revoked(before: AclInfo | None, unwanted: Sequence[PolicyEntryInfo]) -> PolicyChange:
    """The change that no longer allows `unwanted`. Entries that deny stay as they are."""
    entries = _entries(before)
    written, deleted = [], []
    for info in unwanted:
        asked = PolicyEntry.of(info)
        known = entries.get(asked.resource)
        if known is None or known.decision is not Decision.ALLOW:
            continue
        actions = known.actions & ~asked.actions
        if not actions:
            deleted.append(known.resource.key)
        elif actions != known.actions:
            written.append(_with_actions(known, actions))
    return PolicyChange(tuple(written), tuple(deleted))


def _entries(acl: AclInfo | None) -> dict[ResourcePattern, PolicyEntry]:
    """The user's entries of type Custom, by resource."""
    policies = () if acl is None else acl.policies
    found = [
        PolicyEntry.of(info)
        for policy in policies
        if policy_type_of(policy.policy_type) is PolicyType.CUSTOM
        for info in policy.entries
    ]
    return {entry.resource: entry for entry in found}


def _check(known: PolicyEntry, asked: PolicyEntry) -> None:
    resource = known.resource.key
    if known.decision is not Decision.ALLOW:
        raise ConfigurationError(
            f"the user has an entry that denies {', '.join(action_names(known.actions))} on"
            f" {resource}, and a resource has one entry: delete it by gantry deleteAcl, then grant"
            " the role again"
        )
    if set(known.networks) != set(asked.networks):
        raise ConfigurationError(
            f"the user's entry for {resource} counts from {_sources(known)}, the role is asked for"
            f" from {_sources(asked)}: give the same by --sourceIp, or write the entry anew by"
            " gantry updateAcl"
        )


def _sources(entry: PolicyEntry) -> str:
    return ", ".join(entry.to_info().source_ips) or "all addresses"


def _with_actions(entry: PolicyEntry, actions: Action) -> PolicyEntryInfo:
    changed = PolicyEntry(entry.resource, actions, entry.decision, entry.networks)
    return changed.to_info()
