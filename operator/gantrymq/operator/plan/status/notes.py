"""Decides the Events of a plan: its actions, and what changed since the last status."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gantrymq.operator.plan.actions import (
    Action,
    AnnotateLease,
    Apply,
    ChangeSecret,
    Delete,
    EventNote,
    Patch,
)
from gantrymq.operator.plan.objects.fields import label_of, list_at, map_at, text_at, value_at
from gantrymq.operator.plan.objects.names import GROUP_LABEL
from gantrymq.operator.plan.status.facts import Facts
from gantrymq.operator.plan.view.lease import read_lease
from gantrymq.operator.resources.reasons.condition_list import shortened
from gantrymq.operator.resources.reasons.conditions import Kind, Reason, find_event


def notes(facts: Facts, done: Sequence[Action]) -> tuple[EventNote, ...]:
    """Return the Events of a plan whose actions are `done`."""
    before = map_at(facts.snapshot.resource, "status")
    found = [_of_action(action, facts) for action in done]
    found += _of_masters(facts, before)
    found += [note(Reason.CHANGE_NOT_SUPPORTED, each) for each in facts.unsupported]
    found += [
        note(Reason.API_REFUSED, each.message)
        for each in facts.obstacles
        if each.reason is Reason.API_REFUSED
    ]
    found += _of_ignored_requests(facts) + _of_topics(facts, before)
    return tuple(each for each in found if each is not None)


def note(reason: Reason, message: str) -> EventNote:
    row = find_event(Kind.BROKER_CLUSTER, reason)
    return EventNote(row.type.value, reason.value, shortened(message))


def _of_action(action: Action, facts: Facts) -> EventNote | None:
    match action:
        case Apply():
            return _of_apply(action, facts)
        case Delete() if action.ref.kind == "Pod":
            return note(Reason.POD_REPLACED, action.reason)
        case Delete() | Patch():
            return note(Reason.OBJECT_REPAIRED, action.reason)
        case ChangeSecret():
            return note(Reason.SECRET_ROTATED, action.reason)
        case AnnotateLease() if action.is_disruptive:
            return note(Reason.SWITCHOVER_REQUESTED, action.reason)
    return None


def _of_apply(action: Apply, facts: Facts) -> EventNote | None:
    body = action.body
    is_workload = body["kind"] == "StatefulSet"
    if action.resource_version:
        reason = (
            Reason.ROLLING_OUT if is_workload and facts.changes_pods else Reason.OBJECT_REPAIRED
        )
        return note(reason, action.reason) if is_workload or ":" in action.reason else None
    group = label_of(body, GROUP_LABEL)
    if any(each.name == group and each.has_formed for each in facts.groups):
        return note(Reason.OBJECT_REPAIRED, f"{action.reason}: it is created again")
    if not is_workload:
        return None
    if group:
        return note(Reason.GROUP_CREATED, f"group {group} is created")
    return note(Reason.NAME_SERVERS_CREATED, "the name servers are created")


def _of_masters(facts: Facts, before: Mapping[str, Any]) -> list[EventNote | None]:
    old = {text_at(each, "name"): each for each in list_at(before, "groups")}
    found: list[EventNote | None] = []
    for group in facts.groups:
        was, master = text_at(old.get(group.name), "master"), group.master
        if was and master is not None and was != master.pod_name and group.lease is not None:
            what = f"{group.name}: {master.pod_name} is master in epoch {group.lease.epoch}"
            found.append(note(Reason.MASTER_CHANGED, f"{what}, before it was {was}"))
        if was and group in facts.masterless:
            found.append(note(Reason.NO_MASTER, f"{group.name} has no master"))
    return found


def _of_ignored_requests(facts: Facts) -> list[EventNote | None]:
    found: list[EventNote | None] = []
    for content in (facts.snapshot.leases or {}).values():
        lease = read_lease(content) if content is not None else None
        if lease is not None and lease.ignored:
            found.append(note(Reason.REQUEST_IGNORED, f"Lease {lease.name}: {lease.ignored}"))
    return found


def _of_topics(facts: Facts, before: Mapping[str, Any]) -> list[EventNote | None]:
    topics = facts.snapshot.unmanaged_topics or ()
    known = value_at(before, "unmanagedTopics", "count") or 0
    if len(topics) <= known:
        return []
    shown = ", ".join(sorted(topics)[:5])
    return [note(Reason.UNMANAGED_TOPICS, f"topics without a Topic resource: {shown}")]
