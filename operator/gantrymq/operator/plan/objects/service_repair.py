"""Decides how a Service is changed in place, so that it keeps its clusterIP.

Applying a Service removes neither ports nor labels of the selector that other writers have added,
so a patch replaces these.

The Service of a group has no selector. When a selector is removed, Kubernetes keeps the endpoints
that it created from it, and would send clients to them for ever. So a selector is removed in two
steps: the first replaces it by one that no pod matches, and Kubernetes removes the endpoints.
"""

from __future__ import annotations

from typing import Final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import list_at, map_at, text_at

DETACHED_AT: Final = "gantrymq.dev/detached-at"
"""The label of the selector between the two steps. Its value is the time in Unix seconds."""
DETACH_SECONDS: Final = 30
"""How long to wait for the endpoints controllers, which usually need less than a second."""


def immutable(wanted: Json, found: Json) -> str:
    """Return why the API server refuses the change: a Service cannot become headless, nor stop
    being it. Empty if it does not refuse."""
    address = text_at(found, "spec", "clusterIP")
    is_changing = (address == "None") != (text_at(wanted, "spec", "clusterIP") == "None")
    return f"spec.clusterIP is {address}" if address and is_changing else ""


def is_detaching(wanted: Json, found: Json, now: float) -> bool:
    """Whether the first step was done less than DETACH_SECONDS ago."""
    begun = text_at(found, "spec", "selector", DETACHED_AT)
    if map_at(wanted, "spec", "selector") or not begun.isdecimal():
        return False
    return int(begun) <= now < int(begun) + DETACH_SECONDS


def changes(wanted: Json, found: Json, now: float) -> tuple[Json, str]:
    """Return the fields of `spec` for a merge patch, and why; empty if applying suffices."""
    fields: Json = {}
    reasons: list[str] = []
    labels = map_at(wanted, "spec", "selector")
    surplus = sorted(map_at(found, "spec", "selector").keys() - labels.keys())
    if surplus:
        reasons.append(f"spec.selector has {', '.join(surplus)}")
        fields["selector"] = {**dict.fromkeys(surplus), **labels}
        if not labels:
            is_detached = surplus == [DETACHED_AT]
            detached = {**fields["selector"], DETACHED_AT: str(int(now))}
            fields["selector"] = None if is_detached else detached
    ports = _ports(found) - _ports(wanted)
    if ports:
        shown = ", ".join(f"{name} {port}" for name, port in sorted(ports))
        reasons.append(f"spec.ports has {shown}")
        fields["ports"] = list_at(wanted, "spec", "ports")
    return fields, "; ".join(reasons)


def _ports(service: Json) -> set[tuple[str, int]]:
    return {
        (text_at(port, "name"), int(port.get("port", 0)))
        for port in list_at(service, "spec", "ports")
    }
