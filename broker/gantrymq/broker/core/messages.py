"""What goes into the broker's core and what comes out: requests, outcomes, effects.

A request's outcome is a `Reply`; `Held` when the answer comes later, as an `Answer` effect; or
`Silent` when there will be none. Everything else that has to happen is an effect: a value that the
assembly carries out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol, TypeAlias, final

from gantrymq.audit.record import AuditRecord
from gantrymq.base.errors import GantryError
from gantrymq.base.logline import one_line
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.command import Command


class Channel(Protocol):
    """One connection. Compared by identity: two from one address are two channels."""

    @property
    def listener(self) -> str:
        """The name of the listener it came in on."""

    @property
    def peer(self) -> str:
        """`ip:port` of the other end."""

    @property
    def certificate_names(self) -> tuple[str, ...]:
        """What the verified certificate of the other end is called; see acl/caller.py."""

    @property
    def is_closing(self) -> bool:
        """Whether nothing reaches the other end any more."""


@final
class Request:
    """A command and who sent it. Hot, hence slotted and not frozen."""

    __slots__ = ("channel", "command", "was_admitted")

    def __init__(self, command: Command, channel: Channel) -> None:
        self.command: Command = command
        self.channel: Channel = channel
        self.was_admitted: bool = False
        """Whether access control let it in before: a request that had to wait comes twice."""


@final
class Reply:
    """The answer, without opaque and flag: the session puts those in."""

    __slots__ = ("command",)

    def __init__(self, command: Command) -> None:
        self.command: Command = command


@final
@dataclass(frozen=True, slots=True)
class Held:
    """The answer comes later, as an `Answer`: whoever holds the request sees to that."""


@final
@dataclass(frozen=True, slots=True)
class Silent:
    """The request was carried out and must not be answered."""


Outcome: TypeAlias = "Reply | Held | Silent"

HELD: Final = Held()
SILENT: Final = Silent()


class Level(Enum):
    """How loud a line is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@final
class Answer:
    """Answer a request that was held. Hot, hence slotted and not frozen, as the next two are."""

    __slots__ = ("command", "request")

    def __init__(self, request: Request, command: Command) -> None:
        self.request: Request = request
        self.command: Command = command


@final
class Release:
    """A request that was held gets no answer."""

    __slots__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request: Request = request


@final
class Replies:
    """Frames that answer `count` requests of `taken_bytes`, which the kernel took."""

    __slots__ = ("channel", "count", "frames", "taken_bytes")

    def __init__(self, channel: Channel, count: int, taken_bytes: int, frames: bytes) -> None:
        self.channel: Channel = channel
        self.count: int = count
        self.taken_bytes: int = taken_bytes
        self.frames: bytes = frames


@final
@dataclass(frozen=True, slots=True)
class Tell:
    """Send a oneway request of ours to a client."""

    channel: Channel
    command: Command


@final
@dataclass(frozen=True, slots=True)
class AskClient:
    """Send a request of ours to a client, then call `Broker.client_answered` with this number:
    with the response, or None when there was none in time."""

    number: int
    channel: Channel
    command: Command
    timeout_seconds: float


@final
@dataclass(frozen=True, slots=True)
class AskNameServers:
    """Ask the name servers one after the other until one answers, then call
    `Broker.client_answered` with this number, as for a client."""

    number: int
    command: Command
    timeout_seconds: float


@final
@dataclass(frozen=True, slots=True)
class AskBroker:
    """Ask the broker at this address, then call `Broker.broker_answered` with this number: with the
    response, or why there is none."""

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
    """Read nothing from a connection for so long: its client has used up a quota."""

    channel: Channel
    seconds: float


class File(Enum):
    """The files a broker keeps in `config/` of its store: Java's names and contents."""

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
"""They hold secrets: a file that is new is for its owner alone."""


@final
@dataclass(frozen=True, slots=True)
class SaveFile:
    """Replace this file, then call `Broker.written(file, failure)`. One at a time of a file."""

    file: File
    content: bytes


@final
@dataclass(frozen=True, slots=True)
class Register:
    """Tell the name servers of our topics now: of these alone where some are named and they
    know the rest."""

    topics: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class AwaitRegistration:
    """Call `Broker.client_answered` with this number when the name servers know what every
    `Register` so far told of: those that can be reached, and soon."""

    number: int


@final
@dataclass(frozen=True, slots=True)
class Spread:
    """Have the other masters of the cluster create this topic, which a message created here."""

    config: TopicConfig


@final
@dataclass(frozen=True, slots=True)
class LogLine:
    """A line for the log. Its texts are Java's where Java has one: people search for them."""

    level: Level
    text: str
    cause: Exception | None = None
    """What broke, for its traceback."""


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
    """Effects in the order they arose, until the assembly takes them."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: list[Effect] = []

    def add(self, effect: Effect) -> None:
        self._pending.append(effect)

    def answer(self, request: Request, command: Command) -> None:
        """Answer a request that was held; oneway ones are only released."""
        if request.command.is_oneway:
            self._pending.append(Release(request))
        else:
            self._pending.append(Answer(request, command))

    def release(self, request: Request) -> None:
        """A request that was held gets no answer."""
        self._pending.append(Release(request))

    def broken(self, text: str, cause: Exception) -> None:
        """A defect of ours."""
        self._pending.append(LogLine(Level.ERROR, one_line(text), cause))

    def failed(self, text: str, cause: Exception) -> None:
        """What is tried again: a disk's failure, say; what nobody foresaw is a defect of ours."""
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
        pending, self._pending = self._pending, []
        return pending
