"""Formats a cluster for one screen: health, masters, lag of members, and what it waits for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from gantrymq.operator.ctl.columns import align

Json = dict[str, Any]

# Conditions that report a problem if they are true.
_BAD_WHEN_TRUE: Final = frozenset({"Degraded", "Progressing", "Paused"})


def status_lines(cluster: Json) -> list[str]:
    """Return the lines of the screen."""
    status = cluster.get("status") or {}
    if not status:
        look = "kubectl get pods -A -l app.kubernetes.io/component=operator"
        title = _title(cluster, "not seen by the operator yet")
        return [title, f"  Check that the operator runs: {look}"]
    lines = [_title(cluster, status.get("phase", "Unknown"))]
    lines += _overview(cluster, status)
    lines += ["", *_groups(status.get("groups", []))]
    lines += _section("Problems", _problems(status))
    lines += _section("Waiting", _waits(status))
    lines += _section("Conditions", _conditions(status.get("conditions", [])))
    lines += _section("Topics without a resource", _unmanaged(status.get("unmanagedTopics") or {}))
    return lines


def _title(cluster: Json, phase: str) -> str:
    metadata = cluster["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}: {phase}"


def _overview(cluster: Json, status: Json) -> list[str]:
    rows = [
        ("groups", status.get("readyGroups", "")),
        ("members", status.get("readyMembers", "")),
        ("furthest behind", status.get("maxLag") or "unknown"),
        ("name servers", status.get("nameServers", "")),
    ]
    rotation = status.get("secretRotation") or {}
    if rotation.get("step", "Done") != "Done":
        rows.append(("secret rotation", f"{rotation['step']} ({rotation.get('request', '')})"))
    observed, wanted = status.get("observedGeneration"), cluster["metadata"].get("generation")
    if observed != wanted:
        rows.append(("generation", f"{wanted} wanted, {observed} seen by the operator"))
    return [f"  {line}" for line in align(rows)]


def _groups(groups: Sequence[Json]) -> list[str]:
    rows: list[tuple[str, ...]] = [
        ("GROUP", "MEMBER", "POD", "NODE", "ROLE", "READY", "IN SYNC", "LAG", "RESTARTS", "EPOCH")
    ]
    for group in groups:
        for member in group.get("members", []):
            role = member.get("role", "none")
            rows.append(
                (
                    group["name"],
                    str(member.get("member", "")),
                    member.get("pod", ""),
                    member.get("node") or "-",
                    role,
                    _yes(member.get("ready")),
                    _yes(member.get("inSync")),
                    member.get("lag") or "-",
                    str(member.get("restarts", 0)),
                    str(group.get("epoch", "-")) if role == "master" else "",
                )
            )
    return align(rows)


def _yes(value: object) -> str:
    return "yes" if value else "no"


def _problems(status: Json) -> list[str]:
    """Return the problems that the members of groups report."""
    return [
        f"{group['name']}: {problem}"
        for group in status.get("groups", [])
        for problem in group.get("problems", [])
    ]


def _waits(status: Json) -> list[str]:
    own = [f"{wait['what']}: {wait['why']}" for wait in status.get("waits", [])]
    of_groups = [
        f"{group['name']}: {wait['what']}: {wait['why']}"
        for group in status.get("groups", [])
        for wait in group.get("waits", [])
    ]
    return own + of_groups


def _conditions(conditions: Iterable[Json]) -> list[str]:
    """Return the conditions that report a problem, with their reasons."""
    lines = []
    for condition in conditions:
        is_true = condition["status"] == "True"
        if is_true == (condition["type"] in _BAD_WHEN_TRUE) or condition["status"] == "Unknown":
            reason = condition.get("reason", "")
            message = condition.get("message", "")
            lines.append(f"{condition['type']}={condition['status']} ({reason}): {message}")
    return lines


def _unmanaged(topics: Json) -> list[str]:
    if not topics.get("count"):
        return []
    names = ", ".join(topics.get("names", []))
    more = topics["count"] - len(topics.get("names", []))
    return [f"{names}{f' and {more} more' if more > 0 else ''}"]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{title}:", *(f"  {line}" for line in lines)] if lines else []
