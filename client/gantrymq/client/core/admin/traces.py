"""What stored traces say about one message: see `client.core.trace_text` for their fields.

Invariant: a line that is cut short, or has other fields than it should, tells what it can: traces
come from clients of all versions and languages.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from gantrymq.client.core.received import ReceivedMessage
from gantrymq.client.core.trace_text import FIELD_END, RECORD_END
from gantrymq.wire import hosts


class TraceKind(Enum):
    """What was done with the message; the values are how lines begin."""

    SENT = "Pub"
    CONSUMED = "SubAfter"


@dataclass(frozen=True, slots=True)
class Trace:
    """By a client of this group, at this host."""

    kind: TraceKind
    group: str
    client_host: str
    at_ms: int
    cost_ms: int
    is_success: bool


def traces_of(message_id: str, stored: ReceivedMessage) -> list[Trace]:
    """Those in a message of the trace topic that are about this message."""
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
    """A batch has several."""
    return message_id in ids.split(",")


def _sent(fields: _Fields, host: str) -> Trace:
    success = 12 if fields.count == 13 else 13  # the oldest clients tell no offsetMsgId
    return Trace(
        TraceKind.SENT,
        fields.text(3),
        host,
        fields.number(1),
        fields.number(10),
        fields.text(success) == "true",
    )


def _consumed(fields: _Fields, host: str) -> Trace:
    """The oldest clients tell neither time nor group."""
    return Trace(
        TraceKind.CONSUMED,
        fields.text(8),
        host,
        fields.number(7),
        fields.number(3),
        fields.text(4) == "true",
    )


class _Fields:
    """Of one line."""

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
