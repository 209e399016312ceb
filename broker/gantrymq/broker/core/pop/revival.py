"""Stores messages that no consumer acknowledged in time in the group's retry topic.

    due -> read -> its copy stored -> the copy is on disk -> dropped
                -> its copy refused: kept invisible for a while

The copy has the message's body, birth and properties. Its reconsumeTimes is one higher, and
1ST_POP_TIME has the time of the first pop, if there is room. The copy of a message in a retry topic
stays in that topic. Messages that the log lost, or whose topic or group was deleted, are dropped
with a log line. A copy is refused when limits were lowered since the message arrived; the message
is kept, since they may be raised again.

Invariant: a message is dropped when its copy is on disk and not before, so that the file never
lacks a message that a crash could lose.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, final

from gantrymq.base.bounds import INT_MAX, NEVER
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.metadata import topic_creation
from gantrymq.broker.core.names import pop_handles
from gantrymq.broker.core.schedule.deliveries import Delivery
from gantrymq.broker.core.schedule.durable_progress import AGAIN_SECONDS
from gantrymq.broker.core.schedule.message_restore import COUNT_MAX, messages_of
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.in_flight import NEVER_MS, InFlightMessage, Place
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message import property_names
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX, Record

# The pause after a failed read of the disk, or a failed write of the topics file.
PAUSE_MS: Final = 5_000

# The pause for messages that break a limit: each try costs a log line.
REFUSED_PAUSE_MS: Final = 300_000


@final
class Revival:
    """The revival service of one broker: one round at a time, for one queue, while it is master."""

    __slots__ = ("_drop", "_is_busy", "_looks_at", "_state", "_unsafe")

    def __init__(self, state: State, drop: Callable[[InFlightMessage], None]) -> None:
        """`drop` ends the flight of a message whose retry copy is on disk."""
        self._drop = drop
        self._state = state
        self._is_busy = False
        self._unsafe: deque[tuple[int, Sequence[InFlightMessage]]] = deque()
        self._looks_at = NEVER

    def deadline(self) -> float:
        if not self._state.serves:
            return NEVER
        if self._is_busy:
            return self._looks_at
        due_ms = self._state.in_flight.next_due_ms()
        if due_ms == NEVER_MS:
            return self._looks_at
        seconds = max(0, due_ms - self._state.wall_ms) / 1000
        return min(self._looks_at, self._state.now + seconds)

    def expire(self, now: float) -> None:
        if not self._state.serves:
            return
        self.drop_safe()
        self._looks_at = now + AGAIN_SECONDS if self._unsafe else NEVER
        if self._is_busy:
            return
        due = self._state.in_flight.take_due(self._state.wall_ms, COUNT_MAX)
        if due:
            self._begin(due)

    def drop_safe(self) -> None:
        """Drop the messages whose copies are on disk."""
        flushed = self._state.store.queues.log_flushed
        while self._unsafe and self._unsafe[0][0] <= flushed:
            end, messages = self._unsafe.popleft()
            for message in messages:
                self._state.retry_copies.note(message.place, message.offset, end)
                self._drop(message)

    def retire(self) -> None:
        """Reset after a change of role, when the tasks have ended and the in-flight messages are
        replaced."""
        self._is_busy = False
        self._unsafe.clear()
        self._looks_at = NEVER

    # ------------------------------------------------------------------ a round

    def _begin(self, due: Sequence[InFlightMessage]) -> None:
        state = self._state
        why_gone = _why_gone(state, due[0].place)
        if why_gone is not None:
            state.effects.warning(f"dropped in-flight messages count={len(due)}: {why_gone}")
            for message in due:
                self._drop(message)
            return
        self._is_busy = True
        state.task_runner.start_in_role(
            _copied(state, due), partial(self._found, due), partial(self._failed, due)
        )

    def _found(self, due: Sequence[InFlightMessage], found: object) -> None:
        if isinstance(found, str):
            self._pause(due, found)
            return
        assert isinstance(found, list)
        if not self._state.in_flight.is_out(due[0]):
            # The group's offset was reset, or the group or topic was deleted.
            self._is_busy = False
            self._looks_at = self._state.now
            return
        # Messages beyond the size of one round wait for the next one.
        for message in due[len(found) :]:
            self._state.in_flight.keep_out(message, message.pop_ms, message.due_ms)
        due = due[: len(found)]
        pairs = zip(due, found, strict=True)
        copies = {message: copy for message, copy in pairs if copy is not None}
        if len(copies) < len(found):
            self._state.effects.warning(
                f"lost unacknowledged messages {_named(due[0].place)}"
                f" count={len(found) - len(copies)}:"
                " the log no longer has them, or they are damaged; run gantry store check"
            )
        refused: list[Record] = []
        Delivery(
            self._state,
            list(copies.values()),
            lambda _: self._delivered(due, copies, refused),
            refused.append,
        )

    def _delivered(
        self,
        due: Sequence[InFlightMessage],
        copies: Mapping[InFlightMessage, Record],
        refused: Sequence[Record],
    ) -> None:
        state = self._state
        if refused:
            kept = [at for at in due if any(copies.get(at) is record for record in refused)]
            self._keep(
                kept, REFUSED_PAUSE_MS, "they stay out, for they break a limit of the broker"
            )
            due = [message for message in due if message not in kept]
        for message in due:
            if message in copies:
                group, topic, _ = message.place
                state.figures.popped_again.add((group, topic))
        self._unsafe.append((state.store.log.end, due))
        self._is_busy = False
        self._looks_at = state.now

    def _failed(self, due: Sequence[InFlightMessage], error: Exception) -> None:
        self._pause(due, f"{type(error).__name__}: {error}")

    def _pause(self, due: Sequence[InFlightMessage], why: str) -> None:
        self._keep(due, PAUSE_MS, why)
        self._is_busy = False

    def _keep(self, due: Sequence[InFlightMessage], pause_ms: int, why: str) -> None:
        state = self._state
        state.effects.warning(
            f"delivering unacknowledged messages again failed {_named(due[0].place)}"
            f" count={len(due)} retry_in={pause_ms // 1000}s: {why}"
        )
        for message in due:
            state.in_flight.keep_out(message, message.pop_ms, state.wall_ms + pause_ms)


def _named(place: Place) -> str:
    """The queue, as log lines name it."""
    group, topic, queue_id = place
    return f"group={group} topic={topic} queue={queue_id}"


def _why_gone(state: State, place: Place) -> str | None:
    group, topic, _ = place
    if state.groups.find(group) is None:
        return f"group {group} was deleted"
    return f"topic {topic} was deleted" if state.topics.find(topic) is None else None


def _copied(state: State, due: Sequence[InFlightMessage]) -> Task[list[Record | None] | str]:
    """Copies of the messages, once their topic is persistent; or why that failed."""
    group, topic, queue_id = due[0].place
    if pop_handles.kind_of(topic) == pop_handles.TOPIC:
        topic_again = pop_handles.retry_topic(group, topic)
        _ensure_retry_topic(state, group, topic_again)
        failure = yield from topic_creation.safe(state, topic_again)
        if failure is not None:
            return f"topic {topic_again} is not persistent: {failure}"
    offsets = [message.offset for message in due]

    def copies(records: Sequence[Record | None]) -> list[Record | None]:
        return [each and _copy(state, at, each) for at, each in zip(due, records, strict=False)]

    return (yield from tasks.read_as(messages_of(state.store, topic, queue_id, offsets), copies))


def _ensure_retry_topic(state: State, group: str, topic: str) -> None:
    """Create the retry topic with an offset of 0 for the group, so that pops get all its
    messages."""
    topic_creation.create_pop_retry_topic(state, topic)
    if state.offsets.find(group, topic, 0) is None:
        state.offsets.commit(group, topic, 0, 0)


def _copy(state: State, popped: InFlightMessage, message: Record) -> Record:
    group, topic, _ = popped.place
    if pop_handles.kind_of(topic) == pop_handles.TOPIC:
        topic = pop_handles.retry_topic(group, topic)
    return Record(
        utf8_bytes(topic),
        message.body,
        properties=_with_first_pop(message.properties, popped.pop_ms),
        queue_id=0,
        flag=message.flag,
        sys_flag=message.sys_flag,
        born_timestamp_ms=message.born_timestamp_ms,
        born_host=message.born_host,
        store_host=state.identity.store_host,
        reconsume_times=min(message.reconsume_times + 1, INT_MAX),
    )


def _with_first_pop(properties: bytes, pop_ms: int) -> bytes:
    """The properties with the time of the first pop, if there is room: it must not lose a
    message."""
    if codec.get(properties, property_names.FIRST_POP_TIME) is not None:
        return properties
    longer = codec.replace(properties, property_names.FIRST_POP_TIME, str(pop_ms))
    return longer if len(longer) <= PROPERTIES_BYTES_MAX else properties
