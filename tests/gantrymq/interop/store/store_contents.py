"""Checks what a store answers against its messages, for every writer and every reader.

    pull      every queue from its minimum to its end, message by message
    view      every message by its offset id
    find      the positions of the messages of every key and every unique key
    search    offsets by times around every store time of a queue

`differences` asks a reader all of this, and describes each wrong answer.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, Protocol, TypeAlias

from gantrymq.interop.store.store_messages import Told
from gantrymq.wire.message import offset_id, property_names

Queue: TypeAlias = tuple[str, int]
"""Topic and queue id."""
Key: TypeAlias = tuple[str, str]
"""Topic and key."""
Rule: TypeAlias = Callable[[Sequence[int], int], set[int]]
"""The offsets that may be answered for a time, given the store times of a queue."""

SHOWN_MAX: Final = 12


@dataclass(frozen=True, slots=True)
class Pulled:
    """The messages of a whole queue."""

    minimum: int
    end: int
    messages: Sequence[Told]


class Reader(Protocol):
    """A program that has opened the store."""

    @property
    def tells_oldest_only(self) -> bool:
        """Whether it returns only the oldest of several messages with one unique key."""

    def queues(self) -> set[Queue]:
        """The queues that have a message."""

    def pull(self, queue: Queue) -> Pulled: ...

    def view(self, ids: Sequence[tuple[str, str]]) -> Sequence[Told]:
        """Messages by topic and offset id."""

    def find(
        self, keys: Sequence[Key], begin_ms: int, *, is_unique: bool
    ) -> Sequence[Sequence[int]]:
        """Positions of messages that were stored at that time or later."""

    def search(self, times: Sequence[tuple[str, int, int]]) -> Sequence[int]:
        """Offsets by topic, queue id and time."""


def first_at_or_after(times: Sequence[int], wanted: int) -> set[int]:
    """The rule of RocketMQ 5.3 and of Gantry."""
    return {next((offset for offset, time in enumerate(times) if time >= wanted), len(times))}


def next_to(times: Sequence[int], wanted: int) -> set[int]:
    """The rule of RocketMQ 4.9: any message of that time, otherwise a neighbour.

    It takes the nearer of the two, but looks in one file only, so that at a file's end it may be
    the other.
    """
    equal = {offset for offset, time in enumerate(times) if time == wanted}
    before = [offset for offset, time in enumerate(times) if time < wanted][-1:]
    after = [offset for offset, time in enumerate(times) if time > wanted][:1]
    return equal or {*before, *after}


@dataclass(slots=True)
class Contents:
    """Every message, by queue in the order of offsets; each queue begins at offset 0."""

    queues: dict[Queue, list[Told]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, messages: Iterable[Told]) -> "Contents":
        contents = cls()
        for message in messages:
            queue = str(message["topic"]), _number(message, "queueId")
            contents.queues[queue].append(message)
        return contents

    def begins_with(self, other: "Contents") -> bool:
        """Whether each queue begins with the messages of `other`'s queue."""
        return all(
            self.queues[queue][: len(messages)] == messages
            for queue, messages in other.queues.items()
        )

    def messages(self) -> Iterator[Told]:
        for queue in self.queues.values():
            yield from queue

    def keys(self, *, is_unique: bool) -> Mapping[Key, list[int]]:
        """The positions of the messages by key."""
        found: dict[Key, list[int]] = defaultdict(list)
        for message in self.messages():
            for key in keys_of(message, is_unique=is_unique):
                found[str(message["topic"]), key].append(_number(message, "physicalOffset"))
        return found

    def times(self, queue: Queue) -> list[int]:
        return [_number(message, "storeTimestamp") for message in self.queues[queue]]


def keys_of(message: Told, *, is_unique: bool = False) -> list[str]:
    """The keys by which the message can be found."""
    named = message["properties"]
    assert isinstance(named, dict)
    name = property_names.UNIQ_KEY if is_unique else property_names.KEYS
    return [key for key in str(named.get(name, "")).split(" ") if key]


def message_id(message: Told) -> str:
    """The message's offset id."""
    host = bytes.fromhex(str(message["storeHost"]))
    return offset_id.encode(host, _number(message, "physicalOffset"))


def differences(
    reader: Reader, contents: Contents, rule: Rule | None = first_at_or_after
) -> list[str]:
    """The first wrong answers of the reader, in words; without a rule, offsets are not searched."""
    found = [
        *_pulled(reader, contents),
        *_viewed(reader, contents),
        *_found(reader, contents, is_unique=False),
        *_found(reader, contents, is_unique=True),
        *(_searched(reader, contents, rule) if rule is not None else ()),
    ]
    more = [f"... and {len(found) - SHOWN_MAX} more"] if len(found) > SHOWN_MAX else []
    return found[:SHOWN_MAX] + more


def _pulled(reader: Reader, contents: Contents) -> Iterator[str]:
    if strange := reader.queues() - set(contents.queues):
        yield f"queues that no producer wrote to: {sorted(strange)}"
    for queue, messages in contents.queues.items():
        pulled = reader.pull(queue)
        if (pulled.minimum, pulled.end) != (0, len(messages)):
            yield f"{queue} has {pulled.minimum} to {pulled.end}, not 0 to {len(messages)}"
        for got, expected in zip(pulled.messages, messages, strict=False):
            yield from _compared(f"{queue} pulled", got, expected)
        if len(pulled.messages) != len(messages):
            yield f"{queue}: {len(pulled.messages)} pulled of {len(messages)}"


def _viewed(reader: Reader, contents: Contents) -> Iterator[str]:
    messages = list(contents.messages())
    ids = [(str(message["topic"]), message_id(message)) for message in messages]
    for got, expected in zip(reader.view(ids), messages, strict=True):
        yield from _compared("viewed", got, expected)


def _compared(what: str, got: Told, expected: Told) -> Iterator[str]:
    names = [name for name in expected if got.get(name) != expected[name]]
    if names:
        place = f"{expected['topic']}/{expected['queueId']} offset {expected['queueOffset']}"
        unlike = {name: (got.get(name), "not", expected[name]) for name in names}
        yield f"{what}, {place}: {unlike}"


def _found(reader: Reader, contents: Contents, *, is_unique: bool) -> Iterator[str]:
    expected = contents.keys(is_unique=is_unique)
    keys = list(expected)
    # Java's walk through its index ends at the first file that begins before the requested time.
    begin_ms = min(time for queue in contents.queues for time in contents.times(queue))
    answers = reader.find(keys, begin_ms - 1000, is_unique=is_unique)
    for key, got in zip(keys, answers, strict=True):
        positions = sorted(expected[key])
        if is_unique and reader.tells_oldest_only:
            positions = positions[:1]
        # After a crash the index may have one record twice.
        if sorted(set(got)) != positions:
            yield f"{key} is at {sorted(got)}, not {positions}"


def _searched(reader: Reader, contents: Contents, rule: Rule) -> Iterator[str]:
    asked = [
        (topic, queue_id, wanted)
        for topic, queue_id in contents.queues
        for wanted in _moments(contents.times((topic, queue_id)))
    ]
    for (topic, queue_id, wanted), got in zip(asked, reader.search(asked), strict=True):
        times = contents.times((topic, queue_id))
        if got not in rule(times, wanted):
            expected = sorted(rule(times, wanted))
            since = wanted - times[0]
            yield f"{topic}/{queue_id} at {since} ms has offset {got}, not {expected} of {times}"


def _moments(times: Sequence[int]) -> list[int]:
    """Times around each store time, between neighbours, and far away."""
    around = {time + step for time in times for step in (-1, 0, 1)}
    between = {(before + after) // 2 + step for before, after in pairwise(times) for step in (0, 1)}
    return sorted({0, times[0] - 10_000, *around, *between, times[-1] + 10_000})


def _number(message: Told, name: str) -> int:
    value = message[name]
    assert isinstance(value, int), message
    return value
