"""Defines the broker's tasks (gantrymq.base.tasks), and the steps that they yield.

    def view(state, request) -> Task[Outcome]:
        found = yield from read(lookups.message_at(state.store, position))
        stored = yield from put(copy_of(found.record))
        return Reply(done())

A step is a message to store, a reading of the store, a question to a client, the name servers or
another broker, a pending registration, a file to be saved, or a time to wait for. Invariant: each
step is answered once, by the `TaskRunner` (task_runner.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, TypeVar, final

from gantrymq.base import tasks
from gantrymq.broker.core.messages import Channel, File
from gantrymq.store.append.pending_put import PutAnswer
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.sessions.table import SessionSend
from gantrymq.wire.command import Command
from gantrymq.wire.message.record import Record

T = TypeVar("T")
U = TypeVar("U")


@final
class Put:
    """Store these messages together; answered by a PutAnswer, refused or not.

    The size limit does not apply to a message that `was_accepted` from a producer before.
    """

    __slots__ = ("is_batch", "messages", "session", "waits", "was_accepted")

    def __init__(
        self,
        messages: Sequence[Record],
        *,
        is_batch: bool,
        waits: bool,
        was_accepted: bool = False,
        session: SessionSend | None = None,
    ) -> None:
        self.messages: Sequence[Record] = messages
        self.is_batch: bool = is_batch
        self.waits: bool = waits
        self.was_accepted: bool = was_accepted
        self.session: SessionSend | None = session


@final
class Read:
    """Run this reading; answered by its result, or its DiskError or CorruptionError is raised."""

    __slots__ = ("reading",)

    def __init__(self, reading: ReadTask[object]) -> None:
        self.reading: ReadTask[object] = reading


@final
class Ask:
    """Ask a client; answered by its response, or None after the timeout."""

    __slots__ = ("channel", "command", "timeout_seconds")

    def __init__(self, channel: Channel, command: Command, timeout_seconds: float) -> None:
        self.channel: Channel = channel
        self.command: Command = command
        self.timeout_seconds: float = timeout_seconds


@final
class AskNameServers:
    """Ask the name servers; answered by the first response, or None without one."""

    __slots__ = ("command", "timeout_seconds")

    def __init__(self, command: Command, timeout_seconds: float) -> None:
        self.command: Command = command
        self.timeout_seconds: float = timeout_seconds


@final
class AskBroker:
    """Ask another broker; answered by its response, or by the reason why there is none."""

    __slots__ = ("address", "command", "timeout_seconds")

    def __init__(self, address: str, command: Command, timeout_seconds: float) -> None:
        self.address: str = address
        self.command: Command = command
        self.timeout_seconds: float = timeout_seconds


@final
class Told:
    """Wait until the name servers have the current topics; does not wait long for an unreachable
    one."""

    __slots__ = ()


@final
class Save:
    """Have the file's current content on disk; answered by the failure, or None."""

    __slots__ = ("file",)

    def __init__(self, file: File) -> None:
        self.file: File = file


@final
class Wait:
    """Continue at this time; 0 is the next turn, which lets other tasks run."""

    __slots__ = ("until",)

    def __init__(self, until: float) -> None:
        self.until: float = until


Step: TypeAlias = Put | Read | Ask | AskNameServers | AskBroker | Told | Save | Wait
Task: TypeAlias = tasks.Task[Step, object, T]


def put(message: Record, *, waits: bool = True) -> Task[PutAnswer]:
    answer = yield Put([message], is_batch=False, waits=waits)
    assert isinstance(answer, PutAnswer)
    return answer


def put_accepted(message: Record, *, waits: bool = True) -> Task[PutAnswer]:
    """Store a message that was accepted before; it may be longer now than maxMessageSize."""
    answer = yield Put([message], is_batch=False, waits=waits, was_accepted=True)
    assert isinstance(answer, PutAnswer)
    return answer


def put_batch(messages: Sequence[Record], *, waits: bool = True) -> Task[PutAnswer]:
    answer = yield Put(messages, is_batch=True, waits=waits)
    assert isinstance(answer, PutAnswer)
    return answer


def put_session(
    messages: Sequence[Record], session: SessionSend, *, is_batch: bool, waits: bool
) -> Task[PutAnswer]:
    """Store messages of a producer session; repeats are not stored again."""
    answer = yield Put(messages, is_batch=is_batch, waits=waits, session=session)
    assert isinstance(answer, PutAnswer)
    return answer


def read(reading: ReadTask[T]) -> Task[T]:
    result = yield Read(reading)
    return result  # type: ignore[return-value]  # the runner hands the reading's own result back


def read_as(reading: ReadTask[T], make: Callable[[T], U]) -> Task[U]:
    """Run a reading and return `make` of its result.

    `make` may fail, because a log may contain anything. An error here fails the task, which is
    retried; an error in the code after the task would not be retried.
    """
    return make((yield from read(reading)))


def ask(channel: Channel, command: Command, timeout_seconds: float) -> Task[Command | None]:
    answer = yield Ask(channel, command, timeout_seconds)
    assert answer is None or isinstance(answer, Command)
    return answer


def ask_name_servers(command: Command, timeout_seconds: float) -> Task[Command | None]:
    answer = yield AskNameServers(command, timeout_seconds)
    assert answer is None or isinstance(answer, Command)
    return answer


def ask_broker(address: str, command: Command, timeout_seconds: float) -> Task[Command | str]:
    """The broker's response, or the reason why there is none."""
    answer = yield AskBroker(address, command, timeout_seconds)
    assert isinstance(answer, (Command, str))
    return answer


def told() -> Task[None]:
    """Wait until the name servers answer with the current topics."""
    yield Told()


def saved(file: File) -> Task[str | None]:
    """Why the file does not have its current content on disk; None when it has."""
    failure = yield Save(file)
    assert failure is None or isinstance(failure, str)
    return failure


def each(items: Iterable[T], do: Callable[[T], object], a_turn: int) -> Task[None]:
    """Process `a_turn` items a turn. The broker's state may change between the turns."""
    for number, item in enumerate(items, 1):
        do(item)
        if number % a_turn == 0:
            yield Wait(0.0)


def wait(until: float = 0.0) -> Task[None]:
    yield Wait(until)
