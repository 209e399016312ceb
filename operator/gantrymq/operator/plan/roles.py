"""Which member of each group should be master, and the requests that lead there.

The operator moves a master in three cases only: a group has just formed, the user changed
`spec.preferredMasters`, or masters crowd on a node although they could be spread. It asks for one
switchover at a time, and while all groups are in sync. Failovers are the members' own business.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

from gantrymq.operator.plan.actions import AnnotateLease, Wait
from gantrymq.operator.plan.spread import Choice, largest_share, spread
from gantrymq.operator.plan.switchover import prefer, switch, was_asked_lately
from gantrymq.operator.plan.view.members import Group
from gantrymq.operator.resources.cluster import BrokerClusterSpec


@final
@dataclass(frozen=True, slots=True)
class Roles:
    """Requests for the groups' Leases, at most one of them a switchover."""

    requests: tuple[AnnotateLease, ...] = ()
    waits: tuple[Wait, ...] = ()


def assign_roles(spec: BrokerClusterSpec, groups: Sequence[Group], now: float) -> Roles:
    """What to ask of the groups' masters now."""
    if any(group.lease is not None and group.lease.is_switching for group in groups):
        return Roles()
    by_user = _requests_of_user(spec, groups, now)
    if by_user.requests:
        return by_user
    unsettled = [group.name for group in groups if not group.is_settled]
    if unsettled:
        return by_user
    homes = spread([choice_of(spec, group) for group in groups])
    requests = [
        prefer(group.lease, group, group.lease.holder, f"{group.name} has formed")
        for group in groups
        if group.lease is not None
        and not group.lease.preferred
        and group.lease.holder
        and group.lease.holder == homes.get(group.name)
    ]
    move = _relief(groups, homes, now)
    return Roles((*requests, *move.requests), (*by_user.waits, *move.waits))


def _requests_of_user(spec: BrokerClusterSpec, groups: Sequence[Group], now: float) -> Roles:
    """What `preferredMasters` asks for and the Leases do not say yet."""
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
    """The user's choice, else the member that was preferred before, else the master there is."""
    lease, user = group.lease, spec.preferred_masters.get(group.name, 0)
    assert lease is not None
    order = [user, lease.preferred, lease.holder, *sorted(group.numbers)]
    nodes: dict[int, str] = {}
    for number in order:
        member = group.member(number)
        if member is not None and member.node and number not in lease.fenced:
            nodes.setdefault(number, member.node)
    return Choice(group.name, nodes, is_fixed=user in nodes)


def _relief(groups: Sequence[Group], homes: dict[str, int], now: float) -> Roles:
    """One switchover away from the node with most masters, if fewer are possible."""
    at_work = {
        group.name: _node(group, group.lease.holder if group.lease else 0) for group in groups
    }
    # A group whose members are all fenced has no home: its master stays where it is.
    at_home = {
        group.name: _node(group, homes[group.name]) if group.name in homes else at_work[group.name]
        for group in groups
    }
    most = largest_share(at_work)
    if most <= largest_share(at_home):
        return Roles()
    crowded = [node for node in at_work.values() if list(at_work.values()).count(node) == most]
    for group in groups:
        lease, home = group.lease, homes.get(group.name)
        is_crowded = at_work[group.name] in crowded
        if lease is None or home is None or lease.holder == home or not is_crowded:
            continue
        if was_asked_lately(lease, now):
            what = f"spread of masters: {group.name}"
            return Roles((), (Wait(what, "the last switchover was asked for a moment ago"),))
        here, there = at_work[group.name], at_home[group.name]
        reason = f"{most} masters are on node {here}: {group.name} moves to {there}"
        return Roles((switch(lease, group, home, reason, now, preferred=home),))
    return Roles()


def _node(group: Group, number: int) -> str:
    member = group.member(number)
    return member.node if member is not None else ""
