"""Formats a plan: the operator's next actions with their reasons, and what it waits for."""

from __future__ import annotations

from typing import Any

from gantrymq.operator.plan.actions import (
    Action,
    AnnotateLease,
    Apply,
    ChangeSecret,
    Delete,
    Patch,
    Plan,
    SetFinalizers,
)
from gantrymq.operator.plan.snapshot import ClusterSnapshot

Json = dict[str, Any]


def plan_lines(plan: Plan) -> list[str]:
    """Return the plan as text."""
    lines = [f"{_verb(each)} {_target(each)}: {each.reason}" for each in plan.actions]
    lines = lines or ["Nothing to do: the cluster is as its resource wants it."]
    waits = [f"  {wait.what}: {wait.why}" for wait in plan.waits]
    return lines + (["", "Waiting:", *waits] if waits else [])


def plan_json(plan: Plan) -> Json:
    """Return the plan as JSON."""
    return {
        "actions": [
            {"action": _verb(each), "object": _target(each), "reason": each.reason}
            for each in plan.actions
        ],
        "waits": [{"what": wait.what, "why": wait.why} for wait in plan.waits],
    }


def unread_parts(snapshot: ClusterSnapshot) -> list[str]:
    """Return the parts that could not be read and that every plan needs."""
    parts = {
        "the objects of the cluster (StatefulSets, Services, ConfigMaps, Secrets, Roles, ...)":
            snapshot.objects,
        "pods": snapshot.pods,
        "volume claims": snapshot.volume_claims,
        "nodes": snapshot.nodes,
    }  # fmt: skip
    return [name for name, part in parts.items() if part is None]


def _verb(action: Action) -> str:
    if isinstance(action, Apply):
        return "change" if action.resource_version else "create"
    if isinstance(action, Patch | ChangeSecret):
        return "change"
    if isinstance(action, Delete):
        return "delete"
    if isinstance(action, AnnotateLease):
        return "ask"
    assert isinstance(action, SetFinalizers)
    return "set finalizers of"


def _target(action: Action) -> str:
    return f"{action.ref.kind}/{action.ref.name}"
