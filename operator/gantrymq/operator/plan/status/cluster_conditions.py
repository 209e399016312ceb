"""Decides the conditions of a BrokerCluster. `resources.reasons` has the table of reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Final, TypeAlias

from gantrymq.operator.plan.objects.fields import text_at
from gantrymq.operator.plan.objects.pods.pod_settings import ZONE, tolerations
from gantrymq.operator.plan.roles import choice_of
from gantrymq.operator.plan.spread import largest_share, spread
from gantrymq.operator.plan.status.exposure import open_ports
from gantrymq.operator.plan.status.facts import Facts
from gantrymq.operator.plan.view.members import Group
from gantrymq.operator.plan.view.nodes import fitting_nodes
from gantrymq.operator.resources.cluster.pods import Zones
from gantrymq.operator.resources.reasons.condition_list import Condition, set_condition
from gantrymq.operator.resources.reasons.conditions import ConditionType, Kind, Reason

Verdict: TypeAlias = tuple[Reason, str]


def decide_conditions(
    facts: Facts, before: Iterable[Condition], now: float
) -> tuple[Condition, ...]:
    """Return all conditions of a cluster that was read completely."""
    conditions = tuple(before)
    for type_, decide in _DECISIONS.items():
        reason, message = decide(facts)
        conditions = set_condition(
            conditions,
            Kind.BROKER_CLUSTER,
            type_,
            reason,
            message,
            now=time_text(now),
            generation=facts.cluster.generation,
        )
    return conditions


def time_text(now: float) -> str:
    """Return a time in the API server's format."""
    return datetime.fromtimestamp(int(now), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _ready(facts: Facts) -> Verdict:
    if facts.obstacles:
        return facts.obstacles[0].reason, _sentences(each.message for each in facts.obstacles)
    unavailable = _unavailable(facts)
    if unavailable:
        return Reason.NO_MASTER, unavailable
    if facts.forming:
        return Reason.CREATING, f"groups that have not formed yet: {_names(facts.forming)}"
    wanted = facts.cluster.spec.name_servers
    if not facts.ready_name_servers:
        return Reason.NAME_SERVERS_NOT_READY, "no name server is ready"
    away = [*facts.not_ready(), *facts.behind()]
    if away:
        return Reason.MEMBERS_NOT_READY, f"not ready: {', '.join(away)}"
    if facts.ready_name_servers < wanted:
        shown = f"{facts.ready_name_servers} of {wanted} name servers are ready"
        return Reason.MEMBERS_NOT_READY, shown
    return Reason.ALL_READY, "all groups have a master, and all members are in sync"


def _available(facts: Facts) -> Verdict:
    if not facts.formed:
        return Reason.CREATING, "no group has a master yet"
    unavailable = _unavailable(facts)
    if unavailable:
        return Reason.NO_MASTER, unavailable
    if facts.forming:
        return Reason.CREATING, f"groups that have not formed yet: {_names(facts.forming)}"
    return Reason.ALL_GROUPS_HAVE_MASTERS, "every group has a master that takes messages"


def _unavailable(facts: Facts) -> str:
    """Return which groups acknowledge no messages, and why; empty if all groups do."""
    found = []
    if facts.masterless:
        found.append(f"groups without a master: {_names(facts.masterless)}")
    if facts.short:
        found.append(f"groups with too few members in sync to acknowledge: {_names(facts.short)}")
    return _sentences(found)


def _in_sync(facts: Facts) -> Verdict:
    if facts.masterless:
        return Reason.NO_MASTER, f"groups without a master: {_names(facts.masterless)}"
    if not facts.formed:
        return Reason.CREATING, "no group has a master yet"
    return _followers(facts) or (Reason.ALL_IN_SYNC, "all members have every acknowledged message")


def _followers(facts: Facts) -> Verdict | None:
    missing, behind = facts.missing_followers(), facts.behind()
    if missing:
        return Reason.FOLLOWER_MISSING, f"followers that are not ready: {', '.join(missing)}"
    if behind:
        return Reason.FOLLOWER_BEHIND, f"followers that have not caught up: {', '.join(behind)}"
    return None


def _progressing(facts: Facts) -> Verdict:
    if facts.cluster.spec.paused:
        return Reason.PAUSED_BY_SPEC, "spec.paused is true"
    if facts.forming:
        reason = Reason.SCALING_OUT if facts.formed else Reason.CREATING
        return reason, f"groups that are being created: {_names(facts.forming)}"
    if any(group.lease is not None and group.lease.is_switching for group in facts.groups):
        return Reason.SWITCHING_OVER, "a master hands over to another member"
    if facts.outdated or facts.changes_pods:
        return Reason.ROLLING_OUT, "members are restarted one after another"
    if facts.waits:
        return Reason.WAITING, _waits(facts)
    return Reason.IDLE, "the cluster is as the spec asks"


def _degraded(facts: Facts) -> Verdict:
    if facts.masterless:
        return Reason.NO_MASTER, f"groups without a master: {_names(facts.masterless)}"
    if not facts.formed:
        return Reason.CREATING, "no group has a master yet"
    followers = _followers(facts)
    if followers is not None:
        return followers
    wanted = facts.cluster.spec.name_servers
    if facts.ready_name_servers < wanted:
        shown = f"{facts.ready_name_servers} of {wanted} name servers are ready"
        return Reason.NAME_SERVERS_NOT_READY, shown
    if facts.forming:
        return Reason.CREATING, f"groups that have not formed yet: {_names(facts.forming)}"
    return Reason.HEALTHY, "nothing is missing"


def _spread(facts: Facts) -> Verdict:
    homeless = [each for each in facts.obstacles if each.reason is Reason.POD_UNSCHEDULABLE]
    if homeless:
        return homeless[0].reason, homeless[0].message
    if not all(member.node for group in facts.groups for member in group.members):
        return Reason.CREATING, "not all members have a node yet"
    shared = _shared_zones(facts)
    if shared:
        return Reason.ZONES_SHARED, f"groups whose members share a zone: {', '.join(shared)}"
    led = [group for group in facts.formed if group.master is not None]
    at_work = {group.name: group.master.node for group in led if group.master is not None}
    choices = [choice_of(facts.cluster.spec, group) for group in led]
    homes = spread(choices)
    nodes = {each.group: each.nodes[homes[each.group]] for each in choices if each.group in homes}
    if largest_share(at_work) > largest_share(nodes):
        return Reason.MASTERS_CROWDED, "a node has more masters than necessary"
    return Reason.WELL_SPREAD, "members and masters are spread over the nodes"


def _shared_zones(facts: Facts) -> list[str]:
    """Return the groups that could be spread over more zones than they are."""
    nodes, scheduling = facts.snapshot.nodes or {}, facts.cluster.spec.scheduling
    if scheduling.zones is Zones.IGNORE:
        return []
    zone_of = {name: text_at(node, "metadata", "labels", ZONE) for name, node in nodes.items()}
    fitting = fitting_nodes(nodes, scheduling.node_selector, tolerations(facts.cluster))
    possible = {zone_of[name] for name in fitting} - {""}
    return [
        group.name
        for group in facts.groups
        if len({zone_of.get(member.node, "") for member in group.members} - {""})
        < min(len(group.members), len(possible))
    ]


def _configuration(facts: Facts) -> Verdict:
    if facts.unsupported:
        return Reason.CHANGE_NOT_SUPPORTED, _sentences(facts.unsupported)
    differs = bool(facts.outdated) or facts.changes_pods
    if facts.cluster.spec.paused and (facts.actions or differs):
        return Reason.PAUSED_BY_SPEC, "spec.paused is true, and the cluster differs from the spec"
    if any(member.pod is None for group in facts.groups for member in group.members):
        return Reason.CREATING, "not all pods exist"
    if differs:
        return Reason.ROLLING_OUT, "some members run with the earlier configuration"
    return Reason.APPLIED, "all pods run with the configuration of the spec"


def _paused(facts: Facts) -> Verdict:
    if facts.cluster.spec.paused:
        return Reason.PAUSED_BY_SPEC, "spec.paused is true: the operator changes nothing"
    return Reason.NOT_PAUSED, "the operator keeps the cluster as the spec says"


def _secured(facts: Facts) -> Verdict:
    found = open_ports(facts.cluster.spec)
    if found:
        return Reason.PORTS_OPEN, _sentences(found)
    return Reason.PROTECTED, "clients need an account and TLS, and members prove themselves"


def _quiesced(facts: Facts) -> Verdict:
    if facts.waits:
        return Reason.WAITING, _waits(facts)
    if facts.actions or facts.outdated or facts.forming or facts.not_ready():
        return Reason.ACTIONS_PENDING, "the cluster is changing to what the spec asks for"
    return Reason.NOTHING_TO_DO, "nothing is left to do for this generation of the spec"


def _waits(facts: Facts) -> str:
    return _sentences(f"{each.what}: {each.why}" for each in facts.waits)


def _names(groups: Iterable[Group]) -> str:
    return ", ".join(group.name for group in groups)


def _sentences(texts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(texts))


_DECISIONS: Final[dict[ConditionType, Callable[[Facts], Verdict]]] = {
    ConditionType.READY: _ready,
    ConditionType.AVAILABLE: _available,
    ConditionType.IN_SYNC: _in_sync,
    ConditionType.PROGRESSING: _progressing,
    ConditionType.DEGRADED: _degraded,
    ConditionType.SPREAD: _spread,
    ConditionType.CONFIGURATION_APPLIED: _configuration,
    ConditionType.PAUSED: _paused,
    ConditionType.QUIESCED: _quiesced,
    ConditionType.SECURED: _secured,
}
