"""Messages that nobody acknowledged in time go into the group's retry topic, to be popped again.

    due -> read -> its copy stored -> the copy is on disk -> dropped
                -> its copy refused: out for a while more

The copy is the message itself, body, birth and properties, with one more in reconsumeTimes and, in
1ST_POP_TIME where that fits, when it was popped first. One from a retry topic stays in that one.
What the log has lost, and what belongs to a topic or group that is gone, is dropped with a line in
the log. A copy is refused when limits were lowered since the message came: they may be raised.

Invariant: a message is dropped when its copy is on disk and not before, so that a file never says
less than what a crash could take.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, final

from gantrymq.broker.core import steps, topic_creation
from gantrymq.broker.core.deliveries import Delivery
from gantrymq.broker.core.pops import handles
from gantrymq.broker.core.pops.checkouts import NEVER_MS, Checkout, Place
from gantrymq.broker.core.safe_progress import AGAIN_SECONDS
from gantrymq.broker.core.steps import Steps
from gantrymq.broker.core.waiting_messages import COUNT_MAX, messages_of
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.jsonvalue import INT32_MAX
from gantrymq.wire.message import properties as codec
from gantrymq.wire.message import property_names
from gantrymq.wire.message.record import PROPERTIES_BYTES_MAX, Record

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# A disk that could not be read, or a topics file that could not be written.
PAUSE_MS: Final = 5_000

# Messages that break a limit: each try costs a line in the log.
REFUSED_PAUSE_MS: Final = 300_000

NEVER: Final = float("inf")


@final
class Revival:
    """Of one broker: one round at a time, of messages of one queue, while the broker serves."""

    __slots__ = ("_is_busy", "_looks_at", "_state", "_unsafe")

    def __init__(self, state: State) -> None:
        self._state = state
        self._is_busy = False
        self._unsafe: deque[tuple[int, Sequence[Checkout]]] = deque()
        self._looks_at = NEVER

    def deadline(self) -> float:
        if not self._state.serves:
            return NEVER
        if self._is_busy:
            return self._looks_at
        due_ms = self._state.pops.checkouts.next_due_ms()
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
        due = self._state.pops.checkouts.take_due(self._state.wall_ms, COUNT_MAX)
        if due:
            self._begin(due)

    def drop_safe(self) -> None:
        """Those whose copies are on disk."""
        flushed = self._state.store.queues.log_flushed
        while self._unsafe and self._unsafe[0][0] <= flushed:
            end, checkouts = self._unsafe.popleft()
            for checkout in checkouts:
                self._state.retry_copies.note(checkout.place, checkout.offset, end)
                self._state.pops.drop(checkout)

    def retire(self) -> None:
        """The works are over, and the checkouts are other ones from now on."""
        self._is_busy = False
        self._unsafe.clear()
        self._looks_at = NEVER

    # ------------------------------------------------------------------ a round

    def _begin(self, due: Sequence[Checkout]) -> None:
        state = self._state
        why_gone = _why_gone(state, due[0].place)
        if why_gone is not None:
            state.effects.warning(f"{len(due)} popped messages are dropped: {why_gone}")
            for checkout in due:
                state.pops.drop(checkout)
            return
        self._is_busy = True
        state.works.start_in_role(
            _copied(state, due), partial(self._found, due), partial(self._failed, due)
        )

    def _found(self, due: Sequence[Checkout], found: object) -> None:
        if isinstance(found, str):
            self._pause(due, found)
            return
        assert isinstance(found, list)
        if not self._state.pops.checkouts.is_out(due[0]):
            # The group was moved to before it, or the group or topic was deleted.
            self._is_busy = False
            self._looks_at = self._state.now
            return
        # What would have been too long for one round waits for the next one.
        for checkout in due[len(found) :]:
            self._state.pops.checkouts.keep_out(checkout, checkout.pop_ms, checkout.due_ms)
        due = due[: len(found)]
        pairs = zip(due, found, strict=True)
        copies = {checkout: copy for checkout, copy in pairs if copy is not None}
        if len(copies) < len(found):
            self._state.effects.warning(
                f"{len(found) - len(copies)} messages of {due[0].place} were popped, not"
                " acknowledged, and can not be given out again: the log lost them or they are"
                " damaged; see gantry store check"
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
        due: Sequence[Checkout],
        copies: Mapping[Checkout, Record],
        refused: Sequence[Record],
    ) -> None:
        state = self._state
        if refused:
            kept = [at for at in due if any(copies.get(at) is record for record in refused)]
            self._keep(
                kept, REFUSED_PAUSE_MS, "they stay out, for they break a limit of the broker"
            )
            due = [checkout for checkout in due if checkout not in kept]
        for checkout in due:
            if checkout in copies:
                group, topic, _ = checkout.place
                state.figures.popped_again.add((group, topic))
        self._unsafe.append((state.store.log.end, due))
        self._is_busy = False
        self._looks_at = state.now

    def _failed(self, due: Sequence[Checkout], error: Exception) -> None:
        self._pause(due, f"{type(error).__name__}: {error}")

    def _pause(self, due: Sequence[Checkout], why: str) -> None:
        self._keep(due, PAUSE_MS, why)
        self._is_busy = False

    def _keep(self, due: Sequence[Checkout], pause_ms: int, why: str) -> None:
        state = self._state
        state.effects.warning(
            f"{len(due)} messages of {due[0].place} were popped and not acknowledged, and can not"
            f" be given out again now: {why}; the next try is in {pause_ms // 1000} s"
        )
        for checkout in due:
            state.pops.checkouts.keep_out(checkout, checkout.pop_ms, state.wall_ms + pause_ms)


def _why_gone(state: State, place: Place) -> str | None:
    group, topic, _ = place
    if state.groups.find(group) is None:
        return f"group {group} is gone"
    return f"topic {topic} is gone" if state.topics.find(topic) is None else None


def _copied(state: State, due: Sequence[Checkout]) -> Steps[list[Record | None] | str]:
    """Copies of the messages, once a crash cannot forget where they go; or why not now."""
    group, topic, queue_id = due[0].place
    if handles.kind_of(topic) == handles.TOPIC:
        topic_again = handles.retry_topic(group, topic)
        _ensure_retry_topic(state, group, topic_again)
        failure = yield from topic_creation.safe(state, topic_again)
        if failure is not None:
            return f"{topic_again} could not be made for good, {failure}"
    offsets = [checkout.offset for checkout in due]

    def copies(records: Sequence[Record | None]) -> list[Record | None]:
        return [each and _copy(state, at, each) for at, each in zip(due, records, strict=False)]

    return (yield from steps.read_as(messages_of(state.store, topic, queue_id, offsets), copies))


def _ensure_retry_topic(state: State, group: str, topic: str) -> None:
    """The group is at its beginning, whatever pops come first."""
    topic_creation.create_pop_retry_topic(state, topic)
    if state.offsets.find(group, topic, 0) is None:
        state.offsets.commit(group, topic, 0, 0)


def _copy(state: State, checkout: Checkout, message: Record) -> Record:
    group, topic, _ = checkout.place
    if handles.kind_of(topic) == handles.TOPIC:
        topic = handles.retry_topic(group, topic)
    return Record(
        utf8_bytes(topic),
        message.body,
        properties=_with_first_pop(message.properties, checkout.pop_ms),
        queue_id=0,
        flag=message.flag,
        sys_flag=message.sys_flag,
        born_timestamp_ms=message.born_timestamp_ms,
        born_host=message.born_host,
        store_host=state.identity.store_host,
        reconsume_times=min(message.reconsume_times + 1, INT32_MAX),
    )


def _with_first_pop(properties: bytes, pop_ms: int) -> bytes:
    """Where there is room for it: no message is lost for what nobody needs."""
    if codec.get(properties, property_names.FIRST_POP_TIME) is not None:
        return properties
    longer = codec.replace(properties, property_names.FIRST_POP_TIME, str(pop_ms))
    return longer if len(longer) <= PROPERTIES_BYTES_MAX else properties
