"""Writes the status of a BrokerCluster: columns, groups and members, conditions, waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gantrymq.operator.plan.actions import Json, Wait
from gantrymq.operator.plan.objects.names import BROKER, BROKER_PORT
from gantrymq.operator.plan.objects.pods.broker_config import host_port
from gantrymq.operator.plan.snapshot import MemberReport
from gantrymq.operator.plan.status.cluster_conditions import decide_conditions
from gantrymq.operator.plan.status.facts import Facts
from gantrymq.operator.plan.status.lag import lag_steps, lag_text
from gantrymq.operator.plan.status.problems import group_problems
from gantrymq.operator.plan.view.members import Group, Member
from gantrymq.operator.resources.cluster.cluster_status import (
    UNMANAGED_SHOWN_MAX,
    BrokerClusterStatus,
    ClusterPhase,
    GroupStatus,
    MemberRole,
    MemberStatus,
    UnmanagedTopics,
    WaitStatus,
)
from gantrymq.operator.resources.reasons.condition_list import read_conditions

WAITS_MAX = 50
"""The most waits that a status lists, to limit its size."""


def cluster_status(facts: Facts, now: float) -> Json:
    """Return the whole status."""
    spec, names, groups = facts.cluster.spec, facts.cluster.names, facts.groups
    members = [member for group in groups for member in group.members]
    selector = names.selector(BROKER)
    ready = len(facts.formed) - len(facts.masterless) - len(facts.short)
    return BrokerClusterStatus(
        observed_generation=facts.cluster.generation,
        phase=_phase(facts),
        conditions=decide_conditions(facts, read_conditions(facts.snapshot.resource), now),
        group_count=len(groups),
        selector=",".join(f"{key}={value}" for key, value in selector.items()),
        ready_groups=f"{ready}/{len(groups)}",
        ready_members=f"{sum(member.is_ready for member in members)}/{len(members)}",
        masters=", ".join(_master_text(group) for group in groups),
        max_lag=_max_lag(facts),
        name_servers=names.name_server_addresses(spec.name_servers),
        groups=tuple(_group(facts, group) for group in groups),
        unmanaged_topics=_unmanaged(facts.snapshot.unmanaged_topics),
        secret_rotation=facts.rotation,
        security_profile=spec.security.profile,
        waits=_waits(facts.waits),
    ).to_json()


def _phase(facts: Facts) -> ClusterPhase:
    if facts.cluster.spec.paused:
        return ClusterPhase.PAUSED
    if facts.masterless or facts.short:
        return ClusterPhase.UNAVAILABLE
    if not facts.formed:
        return ClusterPhase.CREATING
    if facts.outdated or facts.changes_pods or facts.forming:
        return ClusterPhase.CHANGING
    is_short = facts.ready_name_servers < facts.cluster.spec.name_servers
    if facts.not_ready() or facts.behind() or is_short:
        return ClusterPhase.DEGRADED
    return ClusterPhase.RUNNING


def _master_text(group: Group) -> str:
    master = group.master
    return f"{group.name}={master.pod_name if master else 'none'}"


def _group(facts: Facts, group: Group) -> GroupStatus:
    master, lease = group.master, group.lease
    reports = _reports(facts, group)
    return GroupStatus(
        name=group.name,
        address=host_port(group.address, BROKER_PORT) if group.address else None,
        epoch=lease.epoch if lease else None,
        master=master.pod_name if master else None,
        master_node=(master.node or None) if master else None,
        in_sync=tuple(each.pod_name for each in group.members if each.number in group.in_sync),
        members=tuple(_member(group, each, reports) for each in group.members),
        problems=group_problems(group, facts.snapshot.unready),
        waits=_waits([each for each in facts.waits if _is_about(each, facts, group)]),
    )


def _member(group: Group, member: Member, reports: Mapping[int, MemberReport]) -> MemberStatus:
    role = MemberRole.NONE
    if member is group.master:
        role = MemberRole.MASTER
    elif group.master is not None and member.pod is not None:
        role = MemberRole.FOLLOWER
    report = reports.get(member.number)
    return MemberStatus(
        pod=member.pod_name,
        member=member.number,
        node=member.node or None,
        ready=member.is_ready,
        role=role,
        in_sync=member.number in group.in_sync,
        restarts=member.restarts,
        lag=lag_text(_steps(report)) if report else None,
    )


def _is_about(wait: Wait, facts: Facts, group: Group) -> bool:
    """Whether a wait is about this group. The names of its objects and pods begin with its name."""
    name = facts.cluster.names.group(group.name)
    words = wait.what.replace(":", " ").split()
    return any(word in (name, group.name) or (word.startswith(f"{name}-")) for word in words)


def _waits(waits: Sequence[Wait]) -> tuple[WaitStatus, ...]:
    return tuple(WaitStatus(each.what, each.why) for each in waits[:WAITS_MAX])


def _reports(facts: Facts, group: Group) -> dict[int, MemberReport]:
    found = facts.snapshot.reports.get(group.name, ())
    return {report.member: report for report in found}


def _steps(report: MemberReport) -> int:
    return lag_steps(report.lag_bytes, is_in_sync=report.is_in_sync)


def _max_lag(facts: Facts) -> str | None:
    steps = [_steps(report) for group in facts.groups for report in _reports(facts, group).values()]
    return lag_text(max(steps)) if steps else None


def _unmanaged(topics: tuple[str, ...] | None) -> UnmanagedTopics | None:
    if not topics:
        return None
    names = tuple(sorted(topics)[:UNMANAGED_SHOWN_MAX])
    return UnmanagedTopics(len(topics), names)
