"""Parses and matches address patterns of plain_acl.yml, whose addresses need no signature.

    10.1.2.3          2001:db8::7          one address
    10.1.*.*          10.1.2.3-9           any number in a place, or a range; hexadecimal in IPv6
    10.1.2.{3,7}      2001:db8::{1,a}      one of these, in the last place only
    10.1.2.3,10.1.2.4                      any of these
    *                                      every address, as *.*.*.* and *:*:*:*:*:*:*:*; an empty
                                           text matches no address

Every place is compared. Java ignores the places after the first range, so its 10.*.3.4 matches all
of 10.*.*.*, and it refuses some of these forms. For patterns that both accept, this module never
matches more addresses than Java.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final, TypeAlias, final

Places: TypeAlias = tuple[int, ...]
"""The numbers of an address: 4 for IPv4, 8 for IPv6."""

_Ranges: TypeAlias = tuple[tuple[int, int], ...]

_ANY_ADDRESS: Final = frozenset({"*", "*.*.*.*", "*:*:*:*:*:*:*:*"})
_V4_PLACES: Final = 4
_V6_PLACES: Final = 8
_DECIMAL: Final = re.compile(r"(0|[1-9][0-9]{0,2})(?:-(0|[1-9][0-9]{0,2}))?")
_HEXADECIMAL: Final = re.compile(r"([0-9A-Fa-f]{1,4})(?:-([0-9A-Fa-f]{1,4}))?")

# Connections ask often, and from few addresses; 4096 entries take some 600 KB.
_REMEMBERED_MAX: Final = 4096


@final
@dataclass(frozen=True, slots=True)
class AddressPattern:
    """One entry of a list."""

    text: str = ""
    is_any: bool = False
    alternatives: tuple[_Ranges, ...] = ()

    @classmethod
    def parse(cls, text: str) -> AddressPattern:
        """Parse a pattern; ValueError says what is wrong."""
        text = text.strip()
        if text in _ANY_ADDRESS:
            return cls(text, is_any=True)
        if not text.isprintable():
            raise ValueError(f"{text!r} has characters that no address has")
        return cls(text, alternatives=tuple(_ranges(each) for each in _alternatives(text)))

    def matches(self, places: Places | None) -> bool:
        """Whether the address matches; None stands for an address that could not be parsed."""
        if self.is_any:
            return True
        return places is not None and any(_is_in(places, each) for each in self.alternatives)


@lru_cache(_REMEMBERED_MAX)
def places_of(peer: str) -> Places | None:
    """The address in `ip:port` or `[ip]:port`; an IPv4 address inside IPv6 counts as IPv4."""
    try:
        return _places(peer.rpartition(":")[0].strip("[]"))
    except ValueError:
        return None


def _places(text: str) -> Places:
    address = ip_address(text)
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            packed = address.packed
            return tuple(packed[at] << 8 | packed[at + 1] for at in range(0, 16, 2))
        address = address.ipv4_mapped
    return tuple(address.packed)


def _is_in(places: Places, ranges: _Ranges) -> bool:
    return len(places) == len(ranges) and all(
        low <= place <= high for place, (low, high) in zip(places, ranges, strict=True)
    )


def _alternatives(text: str) -> list[str]:
    """The alternatives of a pattern with commas or braces."""
    if not text:
        return []
    if not text.endswith("}"):
        return [each.strip() for each in text.split(",")]
    head, brace, last = text[:-1].partition("{")
    if not brace or not head.endswith((".", ":")):
        raise ValueError("braces may hold the last place alone, as in 10.1.2.{3,7}")
    return [head + each.strip() for each in last.split(",")]


def _ranges(text: str) -> _Ranges:
    try:
        return tuple((place, place) for place in _places(text))
    except ValueError:
        pass  # it is a pattern, or invalid
    if ":" in text:
        return tuple(_range(place, _HEXADECIMAL, 16, 0xFFFF) for place in _v6_places(text))
    places = text.split(".")
    if len(places) != _V4_PLACES:
        raise ValueError(f"{text!r} is no address: four places, as in 10.1.*.*")
    return tuple(_range(place, _DECIMAL, 10, 0xFF) for place in places)


def _v6_places(text: str) -> list[str]:
    """The eight places. A trailing * stands for all missing places, as in Java."""
    head, gap, tail = text.partition("::")
    first = head.split(":") if head else []
    last = tail.split(":") if tail else []
    missing = _V6_PLACES - len(first) - len(last)
    if missing < 0 or "::" in tail:
        raise ValueError(f"{text!r} is no address: eight places, as in 2001:db8::*")
    if gap:
        return [*first, *["0"] * missing, *last]
    if missing and first[-1] != "*":
        raise ValueError(f"{text!r} is no address: eight places, as in 2001:db8::*")
    return [*first, *["*"] * missing]


def _range(place: str, pattern: re.Pattern[str], base: int, highest: int) -> tuple[int, int]:
    if place == "*":
        return 0, highest
    found = pattern.fullmatch(place)
    if found is None:
        raise ValueError(f"{place!r} is no number, range or * of an address")
    low, high = int(found[1], base), int(found[2] or found[1], base)
    if not low <= high <= highest:
        raise ValueError(f"{place!r} is no range from 0 to {highest}")
    return low, high
