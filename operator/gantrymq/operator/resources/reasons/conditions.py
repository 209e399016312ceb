"""Joins the tables of conditions, reasons and events, with what to do about each.

A reason of a condition stands for one status. docs/operations/conditions.md is made from this
table: it has a section for each reason, under the anchor of its row.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gantrymq.base.errors import LocalError
from gantrymq.operator.resources.reasons.cluster_reasons import CLUSTER_EVENTS, CLUSTER_ROWS
from gantrymq.operator.resources.reasons.reasons import (
    ConditionType,
    EventRow,
    EventType,
    Kind,
    Reason,
    Row,
    Status,
)
from gantrymq.operator.resources.reasons.topic_reasons import TOPIC_ROWS

__all__ = [
    "CONDITIONS",
    "EVENTS",
    "ConditionType",
    "EventRow",
    "EventType",
    "Kind",
    "Reason",
    "Row",
    "Status",
    "find_event",
    "find_row",
]

CONDITIONS: Final[Mapping[tuple[Kind, ConditionType, Reason], Row]] = {
    (row.kind, row.type, row.reason): row for row in (*CLUSTER_ROWS, *TOPIC_ROWS)
}
EVENTS: Final[Mapping[tuple[Kind, Reason], EventRow]] = {
    (row.kind, row.reason): row for row in CLUSTER_EVENTS
}


def find_row(kind: Kind, type_: ConditionType, reason: Reason) -> Row:
    """Return the row of a reason. Raises LocalError if the condition has no such reason."""
    row = CONDITIONS.get((kind, type_, reason))
    if row is None:
        raise LocalError(f"{kind} {type_}: reason {reason} is not in the table of conditions")
    return row


def find_event(kind: Kind, reason: Reason) -> EventRow:
    """Return the row of an event. Raises LocalError if the table has no such event."""
    row = EVENTS.get((kind, reason))
    if row is None:
        raise LocalError(f"{kind}: event {reason} is not in the table of events")
    return row
