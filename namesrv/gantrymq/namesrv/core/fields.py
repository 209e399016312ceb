"""Reads a request's ext fields as Java's name server does.

No field is required: an absent or invalid field is None, and each handler decides what that means.
(The decoders of brokers are strict; a name server's decoder only logs.)
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
    """A field whose absence would damage the tables; Java fails or damages them."""
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
    """The text as Java's string concatenation shows it: null is "null"."""
    return "null" if value is None else value
