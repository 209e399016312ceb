"""Decides which member of each group should be master, and requests switchovers.

The operator moves a master in three cases only: a group has just formed, the user changed
`spec.preferredMasters`, or a node has more masters than necessary. It requests one switchover at a
time, and only while all groups are in sync. Members do failovers without the operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.operator.plan.actions import AnnotateLease, Wait
from gantrymq.operator.plan.spread import Choice, largest_share, next_move, spread
from gantrymq.operator.plan.switchover import prefer, switch, was_asked_lately
from gantrymq.operator.plan.view.members import Group
from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec


@final
@dataclass(frozen=True, slots=True)
class Roles:
    """Requests to write into the groups' Leases; at most one of them is a switchover."""

    requests: tuple[AnnotateLease, ...] = ()
    waits: tuple[Wait, ...] = ()


def assign_roles(spec: BrokerClusterSpec, groups: Sequence[Group], now: float) -> Roles:
    """Return what to request from the groups' masters now."""
    if any(group.lease is not None and group.lease.is_switching for group in groups):
        return Roles()
    by_user = _requests_of_user(spec, groups, now)
    if by_user.requests:
        return by_user
    unsettled = [group.name for group in groups if not group.is_settled]
    if unsettled:
        return by_user
    choices = [choice_of(spec, group) for group in groups]
    homes = spread(choices)
    requests = [
        prefer(group.lease, group, group.lease.holder, f"{group.name} has formed")
        for group in groups
        if group.lease is not None
        and not group.lease.preferred
        and group.lease.holder
        and group.lease.holder == homes.get(group.name)
    ]
    move = _relief(groups, choices, homes, now)
    return Roles((*requests, *move.requests), (*by_user.waits, *move.waits))


def _requests_of_user(spec: BrokerClusterSpec, groups: Sequence[Group], now: float) -> Roles:
    """Return what `preferredMasters` asks for and the Leases do not have yet."""
    requests: list[AnnotateLease] = []
    waits: list[Wait] = []
    for group in groups:
        wanted, lease = spec.preferred_masters.get(group.name), group.lease
        if wanted is None or lease is None or lease.preferred == wanted:
            continue
        why = _why_not(group, wanted)
        if why:
            waits.append(Wait(f"preferred master of {group.name}", why))
        elif lease.holder == wanted:
            requests.append(prefer(lease, group, wanted, f"preferredMasters names member {wanted}"))
        elif not any(request.is_disruptive for request in requests):
            reason = f"preferredMasters names member {wanted} for {group.name}"
            requests.append(switch(lease, group, wanted, reason, now, preferred=wanted))
    return Roles(tuple(requests), tuple(waits))


def _why_not(group: Group, wanted: int) -> str:
    lease = group.lease
    if wanted not in group.numbers:
        return f"the group has no member {wanted}"
    if not group.is_settled or lease is None:
        return "the group is not in sync"
    if wanted in lease.fenced:
        return f"member {wanted} is fenced"
    return ""


def choice_of(spec: BrokerClusterSpec, group: Group) -> Choice:
    """Return the members that may be master, in this order: the user's choice, the member that was
    preferred before, the current master, and the others."""
    lease, user = group.lease, spec.preferred_masters.get(group.name, 0)
    assert lease is not None
    order = [user, lease.preferred, lease.holder, *sorted(group.numbers)]
    nodes: dict[int, str] = {}
    for number in order:
        member = group.member(number)
        if member is not None and member.node and number not in lease.fenced:
            nodes.setdefault(number, member.node)
    return Choice(group.name, nodes, is_fixed=user in nodes)


def _relief(
    groups: Sequence[Group], choices: Sequence[Choice], homes: dict[str, int], now: float
) -> Roles:
    """Request one switchover if the node with most masters can have fewer."""
    holders = {group.name: group.lease.holder if group.lease else 0 for group in groups}
    at_work = {group.name: _node(group, holders[group.name]) for group in groups}
    # A group whose members are all fenced has no home: its master stays where it is.
    at_home = {
        group.name: _node(group, homes[group.name]) if group.name in homes else at_work[group.name]
        for group in groups
    }
    most = largest_share(at_work)
    move = next_move(choices, holders)
    if most <= largest_share(at_home) or move is None:
        return Roles()
    name, member = move
    group = next(group for group in groups if group.name == name)
    lease = group.lease
    assert lease is not None, "a group with a master to move has a Lease"
    if was_asked_lately(lease, now):
        what = f"spread of masters: {name}"
        return Roles((), (Wait(what, "the last switchover was requested a moment ago"),))
    there = _node(group, member)
    crowded = max(at_work.values(), key=list(at_work.values()).count)
    reason = f"{most} masters are on node {crowded}: {name} moves from {at_work[name]} to {there}"
    return Roles((switch(lease, group, member, reason, now, preferred=member),))


def _node(group: Group, number: int) -> str:
    member = group.member(number)
    return member.node if member is not None else ""
