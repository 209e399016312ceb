"""Defines kinds of option values: how a text becomes a value, and what is allowed.

A kind raises ValueError on a text that it does not allow; the caller adds the option's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """One kind of value. `allowed` completes the sentence "give …"."""

    allowed: str
    parse: Callable[[str], T]


def one_of(*words: str) -> Kind[str]:
    """One of a few words, in any case."""
    by_lower_case = {word.lower(): word for word in words}

    def parse(text: str) -> str:
        return by_lower_case[text.lower()]

    return Kind(" or ".join(words), parse)


def number(least: int, most: int) -> Kind[int]:
    """A whole number."""
    return Kind(
        f"a whole number from {least} to {most}", lambda text: _within(int(text), least, most)
    )


def size(least: int, most: int) -> Kind[int]:
    """A number of bytes; k, m and g stand for powers of 1024."""
    allowed = f"a number of bytes from {least} to {most}, such as 65536, 512k, 4m or 1g"
    return Kind(allowed, lambda text: _within(_bytes(text), least, most))


def duration(least_ms: int, most_ms: int) -> Kind[int]:
    """Milliseconds; a bare number is in milliseconds."""
    allowed = f"a duration from {least_ms}ms to {most_ms}ms, such as 500, 500ms, 30s or 15m"
    return Kind(allowed, lambda text: _within(_milliseconds(text), least_ms, most_ms))


def moment_ms(text: str) -> int:
    """Milliseconds since 1970 of a number of them, or of a time in ISO 8601 with its offset."""
    if re.fullmatch(r"\d{1,15}", text):
        return int(text)
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("the time has no offset from UTC")
    return round(moment.timestamp() * 1000)


def _within(value: int, least: int, most: int) -> int:
    if not least <= value <= most:
        raise ValueError(f"{value} is outside")
    return value


def _not_empty(text: str) -> str:
    if not text.strip():
        raise ValueError("empty")
    return text.strip()


def _pattern(text: str) -> re.Pattern[str]:
    try:
        return re.compile(_not_empty(text))
    except re.error as error:
        raise ValueError(str(error)) from None


def _boolean(text: str) -> bool:
    return {"true": True, "false": False}[text.strip().lower()]


def _names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(part.strip() for part in text.split(",")))
    if not all(names):
        raise ValueError("an empty name")
    return names


def _addresses(text: str) -> tuple[str, ...]:
    parts = (part.strip().rpartition("/")[2] for part in re.split("[;,]", text))
    addresses = tuple(part for part in parts if part)
    if not addresses or not all(re.fullmatch(r".+:\d{1,5}", each) for each in addresses):
        raise ValueError("not host:port")
    return addresses


_BYTES: Final = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_MILLISECONDS: Final = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}


def _bytes(text: str) -> int:
    return _scaled(text, r"(\d{1,18})([bkmg]?)b?", _BYTES)


def _milliseconds(text: str) -> int:
    return _scaled(text, r"(\d{1,18})\s*(ms|s|m|h|)", _MILLISECONDS)


def _scaled(text: str, form: str, factors: dict[str, int]) -> int:
    found = re.fullmatch(form, text.strip().lower())
    if found is None:
        raise ValueError("no number with a unit")
    return int(found[1]) * factors[found[2]]


TEXT: Final = Kind("a text that is not empty", _not_empty)
BOOLEAN: Final = Kind("true or false", _boolean)
NAMES: Final = Kind("names, separated by commas", _names)
ADDRESSES: Final = Kind("host:port, several separated by ;", _addresses)
PATTERN: Final = Kind("a regular expression of Python", _pattern)
MOMENT: Final = Kind(
    "milliseconds since 1970, or a time with its offset such as 2026-11-28T09:00:00+01:00",
    moment_ms,
)
