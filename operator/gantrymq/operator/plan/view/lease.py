"""Reads the Lease of a group: master, epoch, in-sync replicas, and the requests of the operator.

Members write everything but the requests (`gantrymq.dev/preferred`, `switch-to`, `switch-number`,
`fenced`, `allow-unclean`). A request that cannot be parsed counts as absent. If the epoch or the
in-sync set cannot be parsed, the Lease counts as damaged, and no disruptive action relies on it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, final

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.fields import (
    annotation_of,
    name_of,
    seconds_at,
    text_at,
    uid_of,
    version_of,
)

API_VERSION: Final = "coordination.k8s.io/v1"
PREFIX: Final = "gantrymq.dev/"
PREFERRED: Final = f"{PREFIX}preferred"
SWITCH_TO: Final = f"{PREFIX}switch-to"
SWITCH_NUMBER: Final = f"{PREFIX}switch-number"
SWITCH_NUMBER_MAX: Final = 10**9
"""Members ignore a larger number, which only a user can write. The number of the next request
follows that of the last one that was carried out."""

SWITCH_AT: Final = f"{PREFIX}switch-at"
"""When the operator requested the switchover, in Unix seconds. Only the operator reads it."""

ALLOW_LEASE_EDITS: Final = f"{PREFIX}allow-lease-edits"
"""On a BrokerCluster: `true` lets people edit and delete its Leases (the chart's policy)."""
PROBLEMS: Final = f"{PREFIX}problems"
"""What the master reports, one problem a line."""

_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,17}")


@final
@dataclass(frozen=True, slots=True)
class GroupLease:
    """The fields of a group's Lease that the operator uses."""

    name: str
    uid: str
    resource_version: str
    holder: int = 0
    """The member number of the master; 0 while there is none."""
    epoch: int = 0
    in_sync: frozenset[int] = frozenset()
    fenced: frozenset[int] = frozenset()
    preferred: int = 0
    switch_to: int = 0
    switch_number: int = 0
    granted: int = 0
    """The number of the last switchover that was done or given up."""
    switch_at: int = 0
    renewed_at: float | None = None
    """By the clock of the member that wrote it. Used in messages only."""
    damage: str = ""
    """Why decisions cannot rely on the Lease; empty if they can."""
    ignored: str = ""
    """The requests that cannot be parsed, and count as absent."""
    problems: tuple[str, ...] = ()
    """The problems that the master reports."""
    grounds: Mapping[str, str] = field(default_factory=dict, compare=False)
    """The unparsed values that a request relies on."""

    @property
    def is_switching(self) -> bool:
        """Whether a switchover was requested and is neither done nor given up."""
        return self.switch_number > self.granted


def grounds(content: Json) -> dict[str, str]:
    """Return the values that a request relies on: master, in-sync members and earlier requests. A
    renewal changes none of them."""
    names = ("epoch", "in-sync", "fenced", "preferred", "switch-to", "switch-number", "granted")
    return {
        "uid": uid_of(content),
        "holder": text_at(content, "spec", "holderIdentity"),
        **{name: annotation_of(content, PREFIX + name) for name in names},
    }


def read_lease(content: Json) -> GroupLease:
    """Read a Lease. Never raises."""
    notes = _Notes(content)
    holder = text_at(content, "spec", "holderIdentity")
    epoch, in_sync = notes.number("epoch"), notes.members("in-sync")
    granted = notes.number("granted")
    damage = [*notes.problems]
    if holder and not (_NUMBER.fullmatch(holder) and holder != "0"):
        damage.append(f"spec.holderIdentity is {holder[:40]!r}, not a member number")
        holder = ""
    if epoch and not in_sync and not damage:
        damage.append(f"epoch {epoch} has begun, and {PREFIX}in-sync is empty")
    notes.problems.clear()
    return GroupLease(
        name_of(content),
        uid_of(content),
        version_of(content),
        int(holder or "0"),
        epoch,
        in_sync,
        notes.members("fenced"),
        notes.number("preferred"),
        notes.number("switch-to"),
        notes.switch_number(),
        granted,
        notes.number("switch-at"),
        seconds_at(content, "spec", "renewTime"),
        "; ".join(damage),
        "; ".join(notes.problems),
        tuple(filter(None, annotation_of(content, PROBLEMS).splitlines())),
        grounds(content),
    )


@final
class _Notes:
    """The annotations of a Lease. Collects the values that cannot be parsed."""

    __slots__ = ("_content", "problems")

    def __init__(self, content: Json) -> None:
        self._content = content
        self.problems: list[str] = []

    def number(self, name: str) -> int:
        text = annotation_of(self._content, PREFIX + name).strip()
        if text and not _NUMBER.fullmatch(text):
            self.problems.append(f"{PREFIX}{name} is {text[:40]!r}, not a number")
            return 0
        return int(text or "0")

    def switch_number(self) -> int:
        number = self.number("switch-number")
        if number > SWITCH_NUMBER_MAX:
            self.problems.append(f"{SWITCH_NUMBER} is {number}, more than {SWITCH_NUMBER_MAX}")
            return 0
        return number

    def members(self, name: str) -> frozenset[int]:
        text = annotation_of(self._content, PREFIX + name)
        found = [part.strip() for part in text.split(",") if part.strip()]
        if not all(_NUMBER.fullmatch(part) and part != "0" for part in found):
            self.problems.append(f"{PREFIX}{name} is {text[:40]!r}, not a list of member numbers")
            return frozenset()
        return frozenset(map(int, found))
