"""The options of commands: mqadmin's letters and long names.

    -t T, --topic T, --topic=T       takes a value
    -l, --list                       does not
    --key A --key B                  takes several, of those that may be repeated
    BODY ...                         what stands by itself, for commands that want it

Invariant: what a command reads is what it declared; an option that was not given is None, or its
default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.cli.frame.failures import UsageError

BODY_BYTES: Final = 128
BODY_BYTES_MAX: Final = 4 << 20
"""As large as brokers take a message, by default."""

# Its retries, its dead letters.
_OF_A_GROUP: Final = ("%RETRY%", "%DLQ%")


@dataclass(frozen=True, slots=True)
class Option:
    """`letter` may have two letters, as a few of mqadmin's have."""

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
    """What was given, by long name."""

    def __init__(self, values: Mapping[str, str | bool | list[str] | None]) -> None:
        self._values = values

    def maybe(self, name: str) -> str | None:
        """As it was typed, without blanks around it."""
        value = self._values[name]
        return value.strip() if isinstance(value, str) else None

    def text(self, name: str, default: str | None = None) -> str:
        """One that is required, or has a default."""
        value = self.maybe(name)
        if value is None:
            value = default
        if value is None:
            raise UsageError(f"--{name} is missing")
        return value

    def topic(self, name: str = "topic") -> str:
        """One that messages are sent to, or read from. Those who repair what others made take any
        text, and ask the servers."""
        from gantrymq.client.core.message import message  # noqa: PLC0415 - few commands ask for it

        topic = self.text(name)
        most = message.TOPIC_CHARACTERS_MAX
        if topic.startswith(_OF_A_GROUP):
            most = message.GROUP_CHARACTERS_MAX + len(_OF_A_GROUP[0])
        return _sound(message.name_fault("topic", topic, most), topic)

    def group(self, name: str) -> str:
        from gantrymq.client.core.message import message  # noqa: PLC0415 - as above

        group = self.text(name)
        return _sound(message.name_fault("group", group, message.GROUP_CHARACTERS_MAX), group)

    def number(self, name: str, default: int | None = None) -> int:
        value = self.maybe(name)
        if value is None and default is not None:
            return default
        text = self.text(name)
        try:
            return int(text)
        except ValueError:
            raise UsageError(f"--{name} is a whole number, not {text!r}") from None

    def counted(self, name: str, default: int | None = None, *, most: int | None = None) -> int:
        """A number that counts something: 1 or more, and `most` at most."""
        number = self.number(name, default)
        if number < 1:
            raise UsageError(f"--{name} is 1 or more, not {number}")
        if most is not None and number > most:
            raise UsageError(f"--{name} is {most} at most, not {number}")
        return number

    def body_size(self, name: str) -> int:
        """Of a message that is made up, in bytes."""
        return self.counted(name, BODY_BYTES, most=BODY_BYTES_MAX)

    def seconds(self, name: str, default: float) -> float:
        """A time, or a rate: more than 0."""
        text = self.maybe(name)
        try:
            value = default if text is None else float(text)
        except ValueError:
            value = -1.0
        if not value > 0 or (value == math.inf and text is not None):
            raise UsageError(f"--{name} is a number above 0, not {text!r}")
        return value

    def several(self, name: str) -> list[str]:
        """As they were typed."""
        values = self._values[name]
        return values if isinstance(values, list) else []

    def decision(self, name: str, *, default: bool = False) -> bool:
        """`true` in any case is yes; anything else that is given is no, as in Java."""
        value = self.maybe(name)
        return default if value is None else value.lower() == "true"

    def is_set(self, name: str) -> bool:
        return bool(self._values[name])


def _sound(fault: str | None, name: str) -> str:
    if fault is not None:
        raise UsageError(fault)
    return name


def required(letter: str, name: str, about: str) -> Option:
    return Option(letter, name, about, is_required=True)


def flag(letter: str, name: str, about: str) -> Option:
    return Option(letter, name, about, is_flag=True)
