"""Work that takes more than one turn: generators that say what they wait for.

    def view(state, request) -> Steps[Outcome]:
        found = yield from read(lookups.message_at(state.store, position))
        stored = yield from put(copy_of(found.record))
        return Reply(done())

A step is a message to store, a reading of the store, a question to a client, the name servers or
another broker, what name servers have to know, a file to be saved or a moment to come. Invariant:
each step is answered once, by `works.Works`, which runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import TypeAlias, TypeVar, final

from gantrymq.broker.core.messages import Channel, File
from gantrymq.store.pending_put import PutAnswer
from gantrymq.store.readings import Reading
from gantrymq.store.sessions.table import SessionSend
from gantrymq.wire.command import Command
from gantrymq.wire.message.record import Record

T = TypeVar("T")
U = TypeVar("U")


@final
class Put:
    """Store these messages together; answered by a PutAnswer, refused or not. What `was_accepted`
    from a producer before is not too long now."""

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

    def __init__(self, reading: Reading[object]) -> None:
        self.reading: Reading[object] = reading


@final
class Ask:
    """Ask a client; answered by its response, or None when there was none in time."""

    __slots__ = ("channel", "command", "timeout_seconds")

    def __init__(self, channel: Channel, command: Command, timeout_seconds: float) -> None:
        self.channel: Channel = channel
        self.command: Command = command
        self.timeout_seconds: float = timeout_seconds


@final
class AskNameServers:
    """Ask the name servers; answered by the first response, or None when there was none."""

    __slots__ = ("command", "timeout_seconds")

    def __init__(self, command: Command, timeout_seconds: float) -> None:
        self.command: Command = command
        self.timeout_seconds: float = timeout_seconds


@final
class AskBroker:
    """Ask another broker; answered by its response, or by why there is none."""

    __slots__ = ("address", "command", "timeout_seconds")

    def __init__(self, address: str, command: Command, timeout_seconds: float) -> None:
        self.address: str = address
        self.command: Command = command
        self.timeout_seconds: float = timeout_seconds


@final
class Told:
    """Have the name servers know the topics of now; answered soon where one cannot be reached."""

    __slots__ = ()


@final
class Save:
    """Have the file as it is now on disk; answered by why it is not, or None."""

    __slots__ = ("file",)

    def __init__(self, file: File) -> None:
        self.file: File = file


@final
class Wait:
    """Go on at this moment; 0 is the next turn, so that others get theirs."""

    __slots__ = ("until",)

    def __init__(self, until: float) -> None:
        self.until: float = until


Step: TypeAlias = Put | Read | Ask | AskNameServers | AskBroker | Told | Save | Wait
Steps: TypeAlias = Generator[Step, object, T]


def put(message: Record, *, waits: bool = True) -> Steps[PutAnswer]:
    answer = yield Put([message], is_batch=False, waits=waits)
    assert isinstance(answer, PutAnswer)
    return answer


def put_accepted(message: Record, *, waits: bool = True) -> Steps[PutAnswer]:
    """What goes on its way here was accepted before."""
    answer = yield Put([message], is_batch=False, waits=waits, was_accepted=True)
    assert isinstance(answer, PutAnswer)
    return answer


def put_batch(messages: Sequence[Record], *, waits: bool = True) -> Steps[PutAnswer]:
    answer = yield Put(messages, is_batch=True, waits=waits)
    assert isinstance(answer, PutAnswer)
    return answer


def put_session(
    messages: Sequence[Record], session: SessionSend, *, is_batch: bool, waits: bool
) -> Steps[PutAnswer]:
    """What a producer sends in a session: those that are repeats are not stored again."""
    answer = yield Put(messages, is_batch=is_batch, waits=waits, session=session)
    assert isinstance(answer, PutAnswer)
    return answer


def read(reading: Reading[T]) -> Steps[T]:
    result = yield Read(reading)
    return result  # type: ignore[return-value]  # the runner hands the reading's own result back


def read_as(reading: Reading[T], make: Callable[[T], U]) -> Steps[U]:
    """What is made of what was read. That may fail, for what stands in a log may be anything; here
    it fails the work, which is tried again, and not what follows it, which is not."""
    return make((yield from read(reading)))


def ask(channel: Channel, command: Command, timeout_seconds: float) -> Steps[Command | None]:
    answer = yield Ask(channel, command, timeout_seconds)
    assert answer is None or isinstance(answer, Command)
    return answer


def ask_name_servers(command: Command, timeout_seconds: float) -> Steps[Command | None]:
    answer = yield AskNameServers(command, timeout_seconds)
    assert answer is None or isinstance(answer, Command)
    return answer


def ask_broker(address: str, command: Command, timeout_seconds: float) -> Steps[Command | str]:
    """Its response, or why there is none."""
    answer = yield AskBroker(address, command, timeout_seconds)
    assert isinstance(answer, (Command, str))
    return answer


def told() -> Steps[None]:
    """Whoever asks the name servers after this finds the topics of now."""
    yield Told()


def saved(file: File) -> Steps[str | None]:
    """Why the file does not have what it should now, None when it has it for good."""
    failure = yield Save(file)
    assert failure is None or isinstance(failure, str)
    return failure


def each(items: Iterable[T], do: Callable[[T], object], a_turn: int) -> Steps[None]:
    """Do it for so many of the items a turn, and let others have theirs in between. What is true
    of the broker when an item's turn comes may not have been true at the first."""
    for number, item in enumerate(items, 1):
        do(item)
        if number % a_turn == 0:
            yield Wait(0.0)


def wait(until: float = 0.0) -> Steps[None]:
    yield Wait(until)
