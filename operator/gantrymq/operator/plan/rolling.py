"""Plans rolling restarts of members whose pods are outdated.

In each group one member restarts at a time: followers first, then a switchover, then the old
master. A restart happens only while every member is in sync, so that the last in-sync copy is never
stopped. Groups restart one after another: a group that does not recover with the new template stops
the rollout.

A pod in which no broker runs (its image cannot be pulled, it crashes, no node fits) is replaced at
once, because deleting it stops no broker. So a user can correct a bad setting. But a member in sync
that has just crashed restarts by itself; it does not get a template with which another member does
not run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.operator.plan.actions import Action, Delete, Wait
from gantrymq.operator.plan.objects.fields import ref_of, uid_of
from gantrymq.operator.plan.objects.kinds import POD
from gantrymq.operator.plan.switchover import switch, was_asked_lately
from gantrymq.operator.plan.view.members import Group, Member

_WHAT: Final = "restart of {pod}"


@final
@dataclass(frozen=True, slots=True)
class Roll:
    """The restarts of now, and those that wait."""

    actions: tuple[Action, ...] = ()
    waits: tuple[Wait, ...] = ()
    outdated: int = 0
    """Pods that are still to be restarted."""


def roll(groups: Sequence[Group], busy: frozenset[str], now: float) -> Roll:
    """Plan restarts. `busy` are the groups whose StatefulSet has to change first."""
    actions: list[Action] = []
    waits: list[Wait] = []
    blocker = next((each.name for each in groups if _is_recovering(each)), "")
    for group in groups:
        outdated = [each for each in group.members if each.is_outdated and not each.is_leaving]
        if not outdated or group.name in busy:
            continue
        steps, why = _next_step(group, outdated, now)
        if steps and blocker not in ("", group.name) and _is_disruptive(steps):
            steps, why = [], f"group {blocker} comes first: its members are not all in sync"
        actions += steps
        waits += [Wait(_WHAT.format(pod=each.pod_name), why) for each in outdated if why]
        if _is_disruptive(steps):
            blocker = blocker or group.name
    count = sum(member.is_outdated for group in groups for member in group.members)
    return Roll(tuple(actions), tuple(waits), count)


def _is_recovering(group: Group) -> bool:
    """Whether a member has the new template, or no pod, and the group is not in sync."""
    is_new = [not member.is_outdated for member in group.members]
    return any(is_new) and not group.is_settled


def _is_disruptive(actions: Sequence[Action]) -> bool:
    return any(getattr(each, "is_disruptive", False) for each in actions)


def _next_step(group: Group, outdated: Sequence[Member], now: float) -> tuple[list[Action], str]:
    """Return what to do now, or why nothing is done."""
    idle = [each for each in outdated if not each.is_running]
    broken = [each for each in group.members if each.pod is not None and _is_broken(each)]
    needed = group.in_sync if group.is_readable else group.numbers
    free = [each for each in idle if not broken or each.number not in needed]
    if free:
        return [_restart(free[-1], "it runs no broker", is_disruptive=False)], ""
    if idle:
        return [], f"{broken[0].pod_name} does not run with the new template"
    if not group.is_readable:
        return [], _unreadable(group)
    if group.is_settled:
        return _step_of_settled(group, outdated, now)
    if not group.has_formed:
        dispensable = [each for each in outdated if not each.is_ready]
    else:
        dispensable = [each for each in outdated if _is_dispensable(group, each)]
    if dispensable and not any(each.is_leaving for each in group.members):
        return [_restart(dispensable[-1], "it is not ready and not in sync")], ""
    return [], _unsettled(group)


def _is_broken(member: Member) -> bool:
    """Whether a member with the new template does not run, so that no other member may get it."""
    return not member.is_outdated and not member.is_running


def _is_dispensable(group: Group, member: Member) -> bool:
    """Whether the group works without this member: it is not ready, not in sync, and not master."""
    is_needed = member.number in group.in_sync or member is group.master
    is_idle = not member.is_ready and not member.is_node_lost
    return group.has_master and is_idle and not is_needed


def _step_of_settled(
    group: Group, outdated: Sequence[Member], now: float
) -> tuple[list[Action], str]:
    followers = [each for each in outdated if each is not group.master]
    if followers:
        return [_restart(followers[-1], "the group is in sync")], ""
    master, lease = group.master, group.lease
    assert master is not None
    assert lease is not None
    successors = [
        each for each in group.members if each.number not in lease.fenced | {lease.holder}
    ]
    if len(group.members) == 1:
        return [_restart(master, "the group has no other member")], ""
    if not successors:
        return [], "it is the master, and all other members are fenced"
    if was_asked_lately(lease, now):
        return [], "it is the master, and a switchover was requested a moment ago"
    preferred = [each for each in successors if each.number == lease.preferred]
    successor = (preferred or successors)[0]
    reason = f"{master.pod_name} has to restart, so {successor.pod_name} becomes master"
    return [switch(lease, group, successor.number, reason, now)], ""


def _restart(member: Member, why: str, *, is_disruptive: bool = True) -> Delete:
    pod = member.pod
    assert pod is not None
    reason = f"{member.pod_name} is restarted with the new template: {why}"
    return Delete(ref_of(pod, *POD), uid_of(pod), reason, is_disruptive)


def _unreadable(group: Group) -> str:
    if group.lease is not None:
        return f"Lease {group.lease.name} is damaged: {group.lease.damage}"
    return "the group's Lease could not be read"


def _unsettled(group: Group) -> str:
    if group.lease is not None and group.lease.is_switching:
        return "a switchover is under way"
    missing = [each.pod_name for each in group.members if not each.is_ready]
    if missing:
        return f"not ready: {', '.join(missing)}"
    behind = [each.pod_name for each in group.members if each.number not in group.in_sync]
    if behind:
        return f"not in sync: {', '.join(behind)}"
    return "the group has no master"
