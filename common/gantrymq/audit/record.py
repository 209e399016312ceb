"""Defines one entry of the audit trail: account, address, action, and the values before and after.

    {"time":"2026-11-29T03:20:00.123Z","server":"broker broker-a","action":"topic.update",
     "outcome":"done","objects":["Orders"],"account":"operator","address":"10.0.0.7:51234",
     "certificate":"","request":17,"old":{"Orders":{"perm":6}},"new":{"Orders":{"perm":4}}}

Invariant: an entry contains no secret, and its length is bounded, whatever a peer sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, final

from gantrymq.audit.redaction import without_secrets
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json, JsonObject

# A list of topics in one request may have thousands; the first ones identify it.
OBJECTS_MAX: Final = 100
NAME_CHARACTERS_MAX: Final = 256
REASON_CHARACTERS_MAX: Final = 500
# The old or new values of one entry as JSON; what is longer is replaced by its length.
VALUES_BYTES_MAX: Final = 32 << 10


class AuditOutcome(StrEnum):
    """The outcome of a request."""

    DONE = "done"
    FAILED = "failed"
    """The server refused it for what it asked, or could not carry it out."""
    REFUSED = "refused"
    """The sender was not allowed to ask."""


@final
@dataclass(frozen=True, slots=True)
class Actor:
    """The sender of a request. `account` is "" unless the server checks accounts."""

    address: str
    account: str = ""
    certificate: str = ""


@final
@dataclass(frozen=True, slots=True)
class AuditRecord:
    """An entry; made by `audit_record` alone, which bounds and redacts."""

    action: str
    request: int
    actor: Actor
    outcome: AuditOutcome
    reason: str
    objects: tuple[str, ...]
    old: JsonObject
    new: JsonObject
    left_out: int = 0
    """Refused attempts before this one that have no entry, because there were too many."""

    def to_json(self) -> JsonObject:
        value: JsonObject = {
            "action": self.action,
            "outcome": self.outcome.value,
            "objects": [*self.objects],
            "account": self.actor.account,
            "address": self.actor.address,
            "certificate": self.actor.certificate,
            "request": self.request,
        }
        if self.reason:
            value["reason"] = self.reason
        if any(each is not None for each in (*self.old.values(), *self.new.values())):
            value["old"], value["new"] = self.old, self.new
        if self.left_out:
            value["leftOut"] = self.left_out
        return value


def audit_record(
    action: str,
    request: int,
    actor: Actor,
    outcome: AuditOutcome,
    *,
    reason: str = "",
    objects: Iterable[str] = (),
    old: Mapping[str, Json] | None = None,
    new: Mapping[str, Json] | None = None,
    left_out: int = 0,
) -> AuditRecord:
    """The entry of a request. Its objects are those named, and those with an old or new value."""
    old, new = old or {}, new or {}
    names = dict.fromkeys((*objects, *old, *new))
    shown_old, shown_new = without_secrets(old, new)
    return AuditRecord(
        action,
        request,
        actor,
        outcome,
        _short(reason, REASON_CHARACTERS_MAX),
        objects_of(names),
        _bounded(shown_old),
        _bounded(shown_new),
        left_out,
    )


def objects_of(names: Iterable[str]) -> tuple[str, ...]:
    """Bounded in number and length."""
    all_names = [*names]
    shown = [_short(name, NAME_CHARACTERS_MAX) for name in all_names[:OBJECTS_MAX]]
    more = len(all_names) - OBJECTS_MAX
    return (*shown, f"... and {more} more") if more > 0 else tuple(shown)


def _bounded(values: JsonObject) -> JsonObject:
    size = len(javajson.dumps_standard(values))
    return values if size <= VALUES_BYTES_MAX else {"tooLong": f"{size} bytes are not shown"}


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
