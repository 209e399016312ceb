"""Defines the values that the broker core takes and returns: requests, outcomes and effects.

The outcome of a request is a `Reply`; `AnsweredLater` if the answer comes later as an `Answer`
effect; or `Silent` if there is no answer. Everything else that has to happen is an effect: a value
that the host carries out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeAlias, final

from gantrymq.audit.record import AuditRecord
from gantrymq.base.errors import GantryError
from gantrymq.base.log_lines import one_line
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.command import Command


class Channel(Protocol):
    """An open connection. Compared by identity: two connections from one address differ."""

    @property
    def listener(self) -> str:
        """The name of the listener that accepted the connection."""

    @property
    def peer(self) -> str:
        """`ip:port` of the other end."""

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """The names in the verified certificate of the other end; see acl/rights/caller.py."""

    @property
    def is_closing(self) -> bool:
        """Whether the connection is closing: data no longer reaches the other end."""


@final
class Request:
    """A command and the connection it came on. One is made for each request: slotted and not
    frozen, for speed."""

    __slots__ = ("channel", "command", "was_admitted")

    def __init__(self, command: Command, channel: Channel) -> None:
        self.command: Command = command
        self.channel: Channel = channel
        self.was_admitted: bool = False
        """Whether access control has admitted it: a request that had to wait is handled twice."""


@final
class Reply:
    """The answer, without opaque and flag, which the session sets."""

    __slots__ = ("command",)

    def __init__(self, command: Command) -> None:
        self.command: Command = command


@final
@dataclass(frozen=True, slots=True)
class AnsweredLater:
    """The answer comes later, as an `Answer` effect of the service that holds the request, or
    of the task that it became."""


@final
@dataclass(frozen=True, slots=True)
class Silent:
    """The request was carried out and must not be answered."""


Outcome: TypeAlias = "Reply | AnsweredLater | Silent"

ANSWERED_LATER: Final = AnsweredLater()
SILENT: Final = Silent()


class Level(Enum):
    """The severity of a log line."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@final
class Answer:
    """Answer a held request. Slotted and not frozen for speed, as the next two classes are."""

    __slots__ = ("command", "request")

    def __init__(self, request: Request, command: Command) -> None:
        self.request: Request = request
        self.command: Command = command


@final
class Release:
    """Forget a held request without an answer."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request: Request = request


@final
class Replies:
    """Encoded answers to `count` sends, `taken_bytes` long in all, that the kernel took."""

    __slots__ = ("channel", "count", "frames", "taken_bytes")

    def __init__(self, channel: Channel, count: int, taken_bytes: int, frames: bytes) -> None:
        self.channel: Channel = channel
        self.count: int = count
        self.taken_bytes: int = taken_bytes
        self.frames: bytes = frames


@final
@dataclass(frozen=True, slots=True)
class Tell:
    """Send a oneway request to a client."""

    channel: Channel
    command: Command


@final
@dataclass(frozen=True, slots=True)
class AskClient:
    """Send a request to a client, then call `Broker.client_answered` with this number and the
    response, or None after the timeout."""

    number: int
    channel: Channel
    command: Command
    timeout_seconds: float


@final
@dataclass(frozen=True, slots=True)
class AskNameServers:
    """Send a request to one name server after the other until one answers, then call
    `Broker.client_answered` with this number, as for a client."""

    number: int
    command: Command
    timeout_seconds: float


@final
@dataclass(frozen=True, slots=True)
class AskBroker:
    """Send a request to the broker at this address, then call `Broker.broker_answered` with this
    number and the response, or the reason why there is none."""

    number: int
    address: str
    command: Command
    timeout_seconds: float


@final
@dataclass(frozen=True, slots=True)
class CloseChannel:
    """Close a connection, for the reason given."""

    channel: Channel
    reason: str


@final
@dataclass(frozen=True, slots=True)
class DelayChannel:
    """Stop reading from a connection for a time, because its client has used up a quota."""

    channel: Channel
    seconds: float


class File(Enum):
    """The files that a broker keeps in `config/` of its store: RocketMQ's names and contents where
    RocketMQ has such a file."""

    TOPICS = "topics.json"
    GROUPS = "subscriptionGroup.json"
    OFFSETS = "consumerOffset.json"
    DELAYS = "delayOffset.json"
    FILTERS = "consumerFilter.json"
    TIMERS = "timerOffset.json"
    MODES = "messageRequestMode.json"
    POPS = "popCheckouts.json"
    MISSING = "missingTables.json"
    SETTINGS = "broker.conf"
    ACL = "plain_acl.yml"
    QUOTAS = "quotas.json"
    USERS = "users.json"


SECRET_FILES: Final = frozenset({File.ACL, File.USERS})
"""Files with secrets: they are created readable by their owner only."""


@final
@dataclass(frozen=True, slots=True)
class SaveFile:
    """Replace this file, then call `Broker.written(file, failure)`. A file has at most one write
    under way."""

    file: File
    content: bytes


@final
@dataclass(frozen=True, slots=True)
class Register:
    """Register with the name servers now. If `topics` are named, and the name servers know the
    other topics, these alone are sent."""

    topics: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class AwaitRegistration:
    """Call `Broker.client_answered` with this number when every `Register` before this effect has
    reached the name servers. Unreachable name servers do not delay that for long."""

    number: int


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """Have the other masters of the cluster create this topic, which a send created here."""

    config: TopicConfig


@final
@dataclass(frozen=True, slots=True)
class LogLine:
    """A log line. Texts are RocketMQ's where RocketMQ has one, because operators search for
    them."""

    level: Level
    text: str
    cause: Exception | None = None
    """The exception whose traceback is logged."""


@final
@dataclass(frozen=True, slots=True)
class Audit:
    """An entry for the audit trail."""

    record: AuditRecord


Effect: TypeAlias = (
    "Answer | Release | Replies | Tell | AskClient | AskNameServers | AskBroker | CloseChannel"
    " | DelayChannel"
    " | SaveFile | Register | AwaitRegistration | Spread | LogLine | Audit"
)


@final
class Effects:
    """The queue of effects, in the order they were added, until the host takes them."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[Effect] = []

    def add(self, effect: Effect) -> None:
        self._pending.append(effect)

    def answer(self, request: Request, command: Command) -> None:
        """Answer a held request; a oneway request is only released."""
        if request.command.is_oneway:
            self._pending.append(Release(request))
        else:
            self._pending.append(Answer(request, command))

    def release(self, request: Request) -> None:
        """Forget a held request without an answer."""
        self._pending.append(Release(request))

    def broken(self, text: str, cause: Exception) -> None:
        """Log a defect of the broker, with its traceback."""
        self._pending.append(LogLine(Level.ERROR, one_line(text), cause))

    def failed(self, text: str, cause: Exception) -> None:
        """Log a failure that is retried. A GantryError, such as a failure of the disk, is a
        warning; any other exception is a defect of the broker."""
        if isinstance(cause, GantryError):
            self.warning(text)
        else:
            self.broken(text, cause)

    def info(self, text: str) -> None:
        self._pending.append(LogLine(Level.INFO, one_line(text)))

    def warning(self, text: str) -> None:
        self._pending.append(LogLine(Level.WARNING, one_line(text)))

    @property
    def is_empty(self) -> bool:
        return not self._pending

    def take(self) -> list[Effect]:
        """Remove and return all effects."""
        pending, self._pending = self._pending, []
        return pending
