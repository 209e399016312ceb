"""Reading a request's ext fields the way Java's name server does.

Nothing is required: an absent field, or one that is no value of its type, is None, and what becomes
of None is each handler's to say. (Brokers' headers are strict; a name server's decoder only logs.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.wire.command import Command
from gantrymq.wire.header_fields import parse_int64

_NONE: Final[Mapping[str, str]] = {}


def text(command: Command, name: str) -> str | None:
    return (command.ext or _NONE).get(name)


def required_text(command: Command, name: str) -> str:
    """Where a missing field would only pollute the tables; Java fails or pollutes them."""
    value = text(command, name)
    if not value:
        raise RemoteError(f"{name} is missing; nothing was changed")
    return value


def number(command: Command, name: str) -> int | None:
    value = text(command, name)
    try:
        return None if value is None else parse_int64(value)
    except ValueError:
        return None


def flag(command: Command, name: str) -> bool | None:
    value = text(command, name)
    return None if value is None else value.lower() == "true"


def shown(value: str | None) -> str:
    """As Java's string concatenation shows it: null is "null"."""
    return "null" if value is None else value
