"""Reads the annotations of a Lease, which members and an operator have written.

A value that no member can have written raises RemoteError: the Lease is damaged and not trusted. A
value of an operator that cannot be parsed is skipped and reported instead (`ignored`).
"""

from __future__ import annotations

import re
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.ha.disk.identity import is_uuid
from gantrymq.wire.jsonvalue import JsonObject

PREFIX: Final = "gantrymq.dev/"

# A name of 253 characters and a port; more members than any group has.
_ADDRESS_MAX: Final = 260
_MEMBERS_MAX: Final = 64

NUMBER_MAX: Final = 2**53

DECIMAL: Final = re.compile(r"0|[1-9][0-9]{0,15}")
_ADDRESS: Final = re.compile(r"[\x21-\x7e]+:[0-9]{1,5}")

UNTRUSTED: Final = (
    "the Lease is not trusted. A running master overwrites it; without a master all members of the"
    " group must report before one is elected"
)


def damaged(name: str, what: str) -> RemoteError:
    """The error for a value that no member can have written."""
    return RemoteError(f"the Lease's annotation {PREFIX}{name} is {what}: {UNTRUSTED}")


@final
class LeaseAnnotations:
    """The annotations of one Lease that was read; the function that reads the Lease owns it."""

    __slots__ = ("_annotations", "ignored")

    def __init__(self, annotations: JsonObject) -> None:
        self._annotations = annotations
        self.ignored: list[str] = []
        """Why requests of an operator were skipped."""

    def has(self, name: str) -> bool:
        return PREFIX + name in self._annotations

    def text(self, name: str) -> str:
        value = self._annotations.get(PREFIX + name, "")
        if not isinstance(value, str):
            raise damaged(name, "not a text")
        return value

    def uuid(self, name: str) -> str:
        text = self.text(name)
        if text and not is_uuid(text):
            raise damaged(name, f"{text[:100]!r}, which is not a UUID")
        return text

    def number(self, name: str) -> int:
        text = self.text(name)
        if text and (not DECIMAL.fullmatch(text) or int(text) > NUMBER_MAX):
            raise damaged(name, f"{text[:100]!r}, which is not a number up to {NUMBER_MAX}")
        return int(text or "0")

    def members(self, name: str) -> frozenset[int]:
        text = self.text(name)
        if not text:
            return frozenset()
        parts = text.split(",", _MEMBERS_MAX)
        if len(parts) > _MEMBERS_MAX:
            raise damaged(name, f"a list of more than {_MEMBERS_MAX} members")
        if not all(DECIMAL.fullmatch(part) and part != "0" for part in parts):
            raise damaged(
                name, f"{text[:100]!r}, which is not a list of member numbers such as 1,2,3"
            )
        return frozenset(map(int, parts))

    def address(self, name: str) -> str:
        text = self.text(name)
        if text and (len(text) > _ADDRESS_MAX or not _ADDRESS.fullmatch(text)):
            raise damaged(name, f"{text[:100]!r}, which is not host:port")
        return text

    def disks(self, name: str) -> dict[int, str]:
        disks: dict[int, str] = {}
        for part in filter(None, self.text(name).split(",", _MEMBERS_MAX)):
            member, _, disk = part.partition("=")
            if not (DECIMAL.fullmatch(member) and is_uuid(disk)):
                raise damaged(
                    name, f"{part[:100]!r}, which is not a member number and the UUID of its disk"
                )
            disks[int(member)] = disk
        return disks

    # What an operator wrote: a mistake in it is reported, and the value is ignored.

    def requested_number(self, name: str, most: int = NUMBER_MAX) -> int:
        text = self._requested(name)
        if not DECIMAL.fullmatch(text or "0") or int(text or "0") > most:
            self._ignore(name, text, f"a number up to {most}")
            return 0
        return int(text or "0")

    def requested_truth(self, name: str) -> bool:
        text = self._requested(name)
        if text not in ("", "true", "false"):
            self._ignore(name, text, "true or false")
        return text == "true"

    def requested_members(self, name: str) -> frozenset[int]:
        """The valid numbers of the list: a typo must not unfence the other members."""
        members = set()
        for part in filter(None, self._requested(name).split(",", _MEMBERS_MAX)):
            if DECIMAL.fullmatch(part.strip()) and part.strip() != "0":
                members.add(int(part))
            else:
                self._ignore(name, part, "a list of member numbers such as 1,2,3")
        return frozenset(members)

    def _requested(self, name: str) -> str:
        value = self._annotations.get(PREFIX + name, "")
        if not isinstance(value, str):
            self._ignore(name, str(value), "a text")
            return ""
        return value.strip()

    def _ignore(self, name: str, text: str, wanted: str) -> None:
        self.ignored.append(
            f"{PREFIX}{name} is {text[:100]!r} and must be {wanted}: the request is ignored"
        )
