"""Requests a switchover by annotations of a group's Lease, and tells when it is done.

The members act on the annotations `gantrymq.dev/switch-to` and `gantrymq.dev/switch-number`: the
master hands over once the wanted member has all of the log.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, final

from gantrymq.base.errors import GantryError
from gantrymq.operator.plan.view.lease import SWITCH_NUMBER_MAX

Json = dict[str, Any]

PREFIX: Final = "gantrymq.dev/"
_NUMBER: Final = re.compile(r"[0-9]{1,18}")


class SwitchoverError(GantryError):
    """The switchover cannot be requested; the text says why and what to do."""


@final
@dataclass(frozen=True, slots=True)
class GroupLease:
    """The roles of a group's members, as its Lease states them."""

    holder: int
    epoch: int
    in_sync: frozenset[int]
    switch_number: int
    granted: int
    """The last switchover that the master carried out, or gave up because it is the master."""
    resource_version: str


@final
@dataclass(frozen=True, slots=True)
class Request:
    """A change of the Lease that requests a switchover."""

    target: int
    number: int
    body: Json


def read_lease(lease: Json) -> GroupLease:
    """Read the annotations. A value that cannot be parsed counts as absent."""
    annotations = lease["metadata"].get("annotations") or {}

    def number(name: str) -> int:
        text = annotations.get(PREFIX + name, "")
        return int(text) if _NUMBER.fullmatch(text) else 0

    switch_number = number("switch-number")
    members = annotations.get(PREFIX + "in-sync", "").split(",")
    holder = (lease.get("spec") or {}).get("holderIdentity") or "0"
    return GroupLease(
        int(holder) if _NUMBER.fullmatch(holder) else 0,
        number("epoch"),
        frozenset(int(each) for each in members if _NUMBER.fullmatch(each)),
        switch_number if switch_number <= SWITCH_NUMBER_MAX else 0,
        number("granted"),
        lease["metadata"]["resourceVersion"],
    )


def member_number(text: str, group: str) -> int:
    """Return the number of a member that the user gives by number or by the name of its pod."""
    if _NUMBER.fullmatch(text):
        return int(text)
    ordinal = re.search(r"-([0-9]{1,4})$", text)
    if ordinal is None:
        raise SwitchoverError(
            f"{text} names no member of {group}: give its number (1, 2, ...) or its pod's name"
        )
    return int(ordinal[1]) + 1


def request(lease: GroupLease, group: str, target: int | None) -> Request:
    """Return the change to write. Without a target, the lowest other member in sync is chosen."""
    if not lease.holder:
        raise SwitchoverError(
            f"{group} has no master now, so no master can hand over; the members elect one"
            " by themselves (kubectl gantry status shows what they wait for)"
        )
    others = sorted(lease.in_sync - {lease.holder})
    if target is None:
        if not others:
            raise SwitchoverError(
                f"no other member of {group} is in sync, so a switchover would lose messages;"
                " wait until one is in sync (kubectl gantry status)"
            )
        target = others[0]
    if target == lease.holder:
        raise SwitchoverError(f"member {target} of {group} is the master already")
    if target not in lease.in_sync:
        in_sync = ", ".join(map(str, sorted(lease.in_sync))) or "none"
        raise SwitchoverError(
            f"member {target} of {group} is not in sync (in sync: {in_sync}), so it may lack"
            " acknowledged messages; wait until it has caught up (kubectl gantry status)"
        )
    number = max(lease.switch_number, lease.granted) + 1
    annotations = {PREFIX + "switch-to": str(target), PREFIX + "switch-number": str(number)}
    metadata = {"resourceVersion": lease.resource_version, "annotations": annotations}
    return Request(target, number, {"metadata": metadata})


def is_done(lease: GroupLease, wanted: Request) -> bool:
    """Whether the wanted member leads."""
    return lease.holder == wanted.target


def is_given_up(lease: GroupLease, wanted: Request) -> bool:
    """Whether the request was carried out or replaced by a newer one, and another member leads."""
    superseded = lease.switch_number > wanted.number
    return superseded or (lease.granted >= wanted.number and lease.holder not in {0, wanted.target})
