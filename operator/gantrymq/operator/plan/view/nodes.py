"""Finds the nodes on which the brokers of a cluster may run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import condition_of, list_at, map_at, text_at, value_at


def is_node_ready(node: Json) -> bool:
    return text_at(condition_of(node, "Ready"), "status") == "True"


def fitting_nodes(
    nodes: Mapping[str, Json], selector: Mapping[str, str], tolerations: Iterable[Json]
) -> list[str]:
    """Return the names of nodes that are ready, match the selector, and have no other taints."""
    allowed = list(tolerations)
    return sorted(
        name
        for name, node in nodes.items()
        if is_node_ready(node)
        and not value_at(node, "spec", "unschedulable")
        and selector.items() <= map_at(node, "metadata", "labels").items()
        and all(_is_tolerated(taint, allowed) for taint in list_at(node, "spec", "taints"))
    )


def _is_tolerated(taint: Any, tolerations: list[Json]) -> bool:  # Any: JSON of the API
    if text_at(taint, "effect") == "PreferNoSchedule":
        return True
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Json, taint: Any) -> bool:
    effect, key = text_at(toleration, "effect"), text_at(toleration, "key")
    if effect and effect != text_at(taint, "effect"):
        return False
    if text_at(toleration, "operator") == "Exists":
        return not key or key == text_at(taint, "key")
    same_value = text_at(toleration, "value") == text_at(taint, "value")
    return key == text_at(taint, "key") and same_value
