"""Defines the inputs and results of the name server's core: requests, outcomes, effects.

A request's outcome is a `Reply`; `Parked` if a file must be saved first; `Silent` if the sender
wants no response; or `Working` if it is carried out in pieces. Everything else is an effect: a
value that the assembly carries out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeAlias, final

from gantrymq.audit.record import AuditRecord
from gantrymq.base.log_lines import one_line
from gantrymq.base.tasks import SlicedTask
from gantrymq.wire.command import Command

# The listener of a name server that has only one; brokers' normal addresses are for it.
LISTENER_DEFAULT: Final = "internal"


class Channel(Protocol):
    """One connection. Compared by identity: two from one address are two channels."""

    @property
    def listener(self) -> str:
        """The name of the listener that accepted the connection."""

    @property
    def peer(self) -> str:
        """`ip:port` of the peer, for log lines."""


@final
class Request:
    """A command and its connection. Hot, hence slotted and not frozen."""

    __slots__ = ("channel", "command")

    def __init__(self, command: Command, channel: Channel) -> None:
        self.command: Command = command
        self.channel: Channel = channel


@final
class Reply:
    """The response, without opaque and flag, which the session sets."""

    __slots__ = ("command",)

    def __init__(self, command: Command) -> None:
        self.command: Command = command


@dataclass(frozen=True, slots=True)
class Parked:
    """The response comes from `NameServer.written` once a file is saved."""


@dataclass(frozen=True, slots=True)
class Silent:
    """A oneway request: it was carried out and gets no response."""


@final
class Working:
    """A request with a long body, which is carried out in slices.

    The owner runs the task until it returns the outcome, or closes it if the connection ends.
    """

    __slots__ = ("task",)

    def __init__(self, task: SlicedTask[Outcome]) -> None:
        self.task: SlicedTask[Outcome] = task


Outcome: TypeAlias = "Reply | Parked | Silent | Working"


class Level(Enum):
    """The level of a log line."""

    INFO = "info"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class LogLine:
    """A log line. Its text is Java's where Java has one, because people search for it."""

    level: Level
    text: str


@dataclass(frozen=True, slots=True)
class CloseChannel:
    """Close a connection, for the given reason."""

    channel: Channel
    reason: str


@dataclass(frozen=True, slots=True)
class DelayChannel:
    """Read nothing from a connection for `seconds`: its address has exceeded its quota."""

    channel: Channel
    seconds: float


@dataclass(frozen=True, slots=True)
class Notify:
    """Send a oneway command to a broker's own port, over an outgoing connection."""

    address: str
    command: Command


class File(Enum):
    """The files that a name server writes, by the settings that name them."""

    KV = "kvConfigPath"
    SETTINGS = "configStorePath"


@dataclass(frozen=True, slots=True)
class SaveKv:
    """Replace the file of KV configuration, then call `NameServer.written(File.KV, ...)`."""

    content: bytes


@dataclass(frozen=True, slots=True)
class SaveSettings:
    """Change these keys in the settings file without touching its other lines, then call
    `NameServer.written(File.SETTINGS, ...)`."""

    changes: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Audit:
    """Write an entry of the audit trail."""

    record: AuditRecord


Effect = LogLine | CloseChannel | DelayChannel | Notify | SaveKv | SaveSettings | Audit


@final
class Effects:
    """Effects in order, until the assembly takes them."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[Effect] = []

    def add(self, effect: Effect) -> None:
        self._pending.append(effect)

    def info(self, text: str) -> None:
        self._pending.append(LogLine(Level.INFO, one_line(text)))

    def warning(self, text: str) -> None:
        self._pending.append(LogLine(Level.WARNING, one_line(text)))

    def take(self) -> list[Effect]:
        pending, self._pending = self._pending, []
        return pending
