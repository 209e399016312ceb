"""Declares the options of commands, and reads their values.

    -t T, --topic T, --topic=T       an option with a value
    -l, --list                       a flag
    --key A --key B                  a repeated option
    BODY ...                         a positional argument

Letters and long names are mqadmin's. Invariant: a command reads only options that it declares. An
option that is not given is None, or has its default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.cli.frame.failures import UsageError

BODY_BYTES: Final = 128
BODY_BYTES_MAX: Final = 4 << 20
"""The largest message that brokers accept by default."""

# The prefixes of a group's retry topic and dead letter topic.
_GROUP_PREFIXES: Final = ("%RETRY%", "%DLQ%")


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of one option. A few of mqadmin's letters are two characters long."""

    letter: str
    name: str
    about: str
    is_required: bool = False
    is_flag: bool = False
    is_repeated: bool = False
    is_positional: bool = False
    choices: tuple[str, ...] = ()


@final
class Options:
    """The values of one command line, by the long names of its options."""

    def __init__(self, values: Mapping[str, str | bool | list[str] | None]) -> None:
        self._values = values

    def maybe(self, name: str) -> str | None:
        """Return the value without blanks around it; None if it was not given."""
        value = self._values[name]
        return value.strip() if isinstance(value, str) else None

    def text(self, name: str, default: str | None = None) -> str:
        """Return the value or the default. Raises UsageError if there is neither."""
        value = self.maybe(name)
        if value is None:
            value = default
        if value is None:
            raise UsageError(f"--{name} is missing")
        return value

    def topic(self, name: str = "topic") -> str:
        """Return a valid topic name, for commands that send messages or read them.

        Commands that repair topics use `text` instead, because they must accept invalid names.
        """
        from gantrymq.client.core.message import message  # noqa: PLC0415 - few commands need it

        topic = self.text(name)
        most = message.TOPIC_CHARACTERS_MAX
        if topic.startswith(_GROUP_PREFIXES):
            most = message.GROUP_CHARACTERS_MAX + len(_GROUP_PREFIXES[0])
        return _valid(message.name_fault("topic", topic, most), topic)

    def group(self, name: str) -> str:
        from gantrymq.client.core.message import message  # noqa: PLC0415 - few commands need it

        group = self.text(name)
        return _valid(message.name_fault("group", group, message.GROUP_CHARACTERS_MAX), group)

    def number(self, name: str, default: int | None = None) -> int:
        value = self.maybe(name)
        if value is None and default is not None:
            return default
        text = self.text(name)
        try:
            return int(text)
        except ValueError:
            raise UsageError(f"--{name} must be a whole number, not {text!r}") from None

    def counted(self, name: str, default: int | None = None, *, most: int | None = None) -> int:
        """Return a number from 1 to `most`."""
        number = self.number(name, default)
        if number < 1:
            raise UsageError(f"--{name} must be 1 or more, not {number}")
        if most is not None and number > most:
            raise UsageError(f"--{name} must be {most} at most, not {number}")
        return number

    def body_size(self, name: str) -> int:
        """Return the size of a generated message body, in bytes."""
        return self.counted(name, BODY_BYTES, most=BODY_BYTES_MAX)

    def seconds(self, name: str, default: float) -> float:
        """Return a number above 0: a time, or a rate."""
        text = self.maybe(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = -1.0
        if not value > 0 or (value == math.inf and text is not None):
            raise UsageError(f"--{name} must be a number above 0, not {text!r}")
        return value

    def several(self, name: str) -> list[str]:
        """Return the values of a repeated option, as they were typed."""
        values = self._values[name]
        return values if isinstance(values, list) else []

    def decision(self, name: str, *, default: bool = False) -> bool:
        """Return whether the value is `true` in any case of letters, as Java reads it."""
        value = self.maybe(name)
        return default if value is None else value.lower() == "true"

    def is_set(self, name: str) -> bool:
        return bool(self._values[name])


def _valid(fault: str | None, name: str) -> str:
    if fault is not None:
        raise UsageError(fault)
    return name


def required(letter: str, name: str, about: str) -> Option:
    return Option(letter, name, about, is_required=True)


def flag(letter: str, name: str, about: str) -> Option:
    return Option(letter, name, about, is_flag=True)
