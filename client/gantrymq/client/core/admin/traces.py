"""Parses stored traces of one message; `client.core.trace_text` describes their fields.

Invariant: a line that is truncated or has unexpected fields still yields what it has, because
traces come from clients of all versions and languages.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.trace.trace_text import FIELD_END, RECORD_END
from gantrymq.wire import hosts


class TraceKind(Enum):
    """What the client did with the message; the values are the first field of a line."""

    SENT = "Pub"
    CONSUMED = "SubAfter"


@dataclass(frozen=True, slots=True)
class Trace:
    """One send or consumption by a client of this group at this host."""

    kind: TraceKind
    group: str
    client_host: str
    at_ms: int
    cost_ms: int
    is_success: bool


def traces_of(message_id: str, stored: ReceivedMessage) -> list[Trace]:
    """Return the traces about `message_id` in one message of the trace topic."""
    address, _ = hosts.unpack(stored.record.born_host)
    host = hosts.address_text(address)
    found = []
    for line in stored.body.decode("utf-8", "replace").split(RECORD_END):
        fields = _Fields(line.split(FIELD_END))
        if fields.text(0) == TraceKind.SENT.value and _is_about(message_id, fields.text(5)):
            found.append(_sent(fields, host))
        elif fields.text(0) == TraceKind.CONSUMED.value and _is_about(message_id, fields.text(2)):
            found.append(_consumed(fields, host))
    return found


def _is_about(message_id: str, ids: str) -> bool:
    """Tell whether a comma-separated list has the id; a batch has several ids."""
    return message_id in ids.split(",")


def _sent(fields: _Fields, host: str) -> Trace:
    success = 12 if fields.count == 13 else 13  # the oldest clients have no offsetMsgId
    return Trace(
        TraceKind.SENT,
        fields.text(3),
        host,
        fields.number(1),
        fields.number(10),
        fields.text(success) == "true",
    )


def _consumed(fields: _Fields, host: str) -> Trace:
    """Parse a consumption; the oldest clients record neither time nor group."""
    return Trace(
        TraceKind.CONSUMED,
        fields.text(8),
        host,
        fields.number(7),
        fields.number(3),
        fields.text(4) == "true",
    )


class _Fields:
    """The fields of one line; a missing field is empty or 0."""

    def __init__(self, fields: list[str]) -> None:
        self._fields = fields

    @property
    def count(self) -> int:
        return len(self._fields)

    def text(self, index: int) -> str:
        return self._fields[index] if index < len(self._fields) else ""

    def number(self, index: int) -> int:
        text = self.text(index)
        return int(text) if text.isdecimal() else 0
