"""Finds objects of a cluster that are not ready, and the newest Event about each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.names import GROUP_LABEL

STUCK_MAX: Final = 8
"""The most objects of one snapshot whose Events are read."""


def stuck_objects(
    pods: Sequence[Json], claims: Sequence[Json], stateful_sets: Sequence[Json]
) -> list[str]:
    """Return the names of some objects that are not ready, whose Events may say why."""
    names = [pod["metadata"]["name"] for pod in pods if not is_ready(pod)]
    names += [
        claim["metadata"]["name"]
        for claim in claims
        if (claim.get("status") or {}).get("phase") != "Bound"
    ]
    names += [each["metadata"]["name"] for each in stateful_sets if _lacks_pods(each)]
    return names[:STUCK_MAX]


def is_ready(pod: Json) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)


def is_broker_with_address(pod: Json) -> bool:
    """Whether the pod is a broker that may answer requests."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    is_broker = bool((metadata.get("labels") or {}).get(GROUP_LABEL))
    is_leaving = bool(metadata.get("deletionTimestamp"))
    return is_broker and not is_leaving and bool(status.get("podIP"))


def _lacks_pods(stateful_set: Json) -> bool:
    wanted = (stateful_set.get("spec") or {}).get("replicas", 1)
    return int((stateful_set.get("status") or {}).get("replicas") or 0) < int(wanted)


def newest_message(events: Sequence[Json]) -> str:
    """Return reason and message of the newest Event; empty if there is none."""

    def moment(event: Json) -> str:
        return str(
            event.get("lastTimestamp")
            or event.get("eventTime")
            or event["metadata"].get("creationTimestamp")
            or ""
        )

    newest = max(events, key=moment, default=None)
    if newest is None:
        return ""
    return f"{newest.get('reason', '')}: {newest.get('message', '')}"
