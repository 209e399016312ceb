"""Coordinates POP: in-flight messages of each group, waiting requests, and the groups' offsets.

    next        where the next pop begins; in memory while messages are in flight
    stored      the group's offset, as for pulls: every message before it is acknowledged, or is in
                the file of in-flight messages, which was on disk before the offset moved
    after a crash, pops begin at the stored offset, and the file's messages from before it become
    visible again when they are due

Invariant: an offset is stored only when a crash can lose no message before it. After a crash,
messages may be delivered twice that were popped or acknowledged since the file was written, at most
flushConsumerOffsetInterval before. No offset is stored for a deleted topic or group: a new one of
the same name would continue there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import final

from gantrymq.base.bounds import NEVER
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Channel, File
from gantrymq.broker.core.pop.orders import Orders
from gantrymq.broker.core.pop.revival import Revival
from gantrymq.broker.core.pop.waiting import Waiting
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.in_flight import NEVER_MS, InFlightMessage, InFlightMessages, Place


@final
class Pops:
    """The POP service of one broker."""

    __slots__ = (
        "_busy",
        "_copied",
        "_orders_due_ms",
        "_save_at",
        "_saving",
        "_state",
        "_wakes",
        "_wanted",
        "orders",
        "revival",
        "waiting",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._busy: set[Place] = set()
        self._copied: bytes | None = None
        """The content of the master's file, while this broker follows a master."""
        self._wanted: set[Place] = set()
        self._wakes: dict[Place, int] = {}
        """Places where waiting requests may find something, and how many messages to announce there
        to notifications."""
        self._save_at = NEVER
        self._saving: list[dict[Place, int]] = []
        """For each write of the file under way, the offsets to store once it is on disk."""
        self._orders_due_ms = NEVER_MS
        self.orders = Orders(state.wall_ms)
        self.revival = Revival(state, self.drop)
        self.waiting = Waiting(state)
        state.files.keep(File.POPS, self.content)

    def begin(self) -> None:
        """Start after the files are loaded."""
        for place, _ in self._state.in_flight.positions():
            self._state.in_flight.move(place, self._stored(place) or 0)

    def content(self) -> bytes:
        """The content of the file."""
        return self._state.in_flight.content() if self._copied is None else self._copied

    def take_table(self, content: bytes) -> None:
        """Keep the master's file, which is decoded when this broker becomes master.

        Raises RemoteError when it is not such a file.
        """
        if not content.startswith(b"{"):
            raise RemoteError(f"the table of in-flight messages is not JSON ({len(content)} bytes)")
        self._copied = content

    def lead(self) -> None:
        """Take over the in-flight messages of the last master."""
        copied, self._copied = self._copied, None
        if copied is not None:
            self._take_over(copied)
        self._saving.clear()
        self._save_at = NEVER
        self.orders = Orders(self._state.wall_ms)
        self.begin()

    def _take_over(self, content: bytes) -> None:
        in_flight = InFlightMessages()
        try:
            in_flight.load(content)
        except RemoteError as error:
            self._state.effects.warning(
                f"reading the last master's in-flight messages failed: {error}"
            )
        else:
            self._state.in_flight = in_flight

    def retire(self) -> None:
        """Stop after a change of role, when the tasks have ended: answer all waiting requests."""
        self._copied = self.content()
        self.revival.retire()
        self.waiting.dismiss()

    def wind_down(self) -> None:
        """Prepare for a shutdown: answer waiting requests, and save, so that in-flight messages
        stay invisible until they are due."""
        self.waiting.close()
        if self._save_at < NEVER:
            self._save()

    # ------------------------------------------------------------------ the periodic service

    def deadline(self) -> float:
        state = self._state
        if self._wakes:
            return state.now
        orders_at = NEVER
        if self._orders_due_ms < NEVER_MS:
            orders_at = state.now + max(0, self._orders_due_ms - state.wall_ms) / 1000
        return min(self._save_at, orders_at, self.revival.deadline(), self.waiting.deadline())

    def expire(self, now: float) -> None:
        self.revival.expire(now)
        if self._save_at <= now:
            self._save()
        if self._orders_due_ms <= self._state.wall_ms:
            self._free_orders()
        self.waiting.begin_turn()
        self.waiting.expire(now)  # first, since late requests end here and wakes recur
        wakes, self._wakes = self._wakes, {}
        for place, messages in wakes.items():
            if not self.waiting.wake(place, messages):
                self._wakes.setdefault(place, 0)

    def arrived(self, queues: Sequence[tuple[str, int]]) -> bool:
        is_awaited = False
        for topic, queue_id in queues if self.waiting else ():
            for group, messages in self.waiting.new_messages(topic, queue_id):
                self.wake_soon((group, topic, queue_id), messages)
                is_awaited = True
        return is_awaited

    def closed(self, channel: Channel) -> None:
        self.waiting.closed(channel)

    # ------------------------------------------------------------------ offsets

    def take_reset(self, place: Place) -> None:
        """Apply an administrator's reset of the group's offset, if there is one."""
        offset = self._state.resets.take(*place)
        if offset is not None and self._state.settings.use_server_side_reset_offset:
            self.move(place, offset)

    def move(self, place: Place, offset: int) -> None:
        """Continue pops at this offset, which may be lower than before."""
        self.orders.forget(place)
        self._state.in_flight.move(place, offset)
        for positions in self._saving:
            positions.pop(place, None)
        self._state.offsets.commit(*place, offset)
        self.changed()

    def remove(self, group: str | None = None, topic: str | None = None) -> None:
        """Drop the state of a deleted group or topic.

        Its in-flight messages are not delivered again, and do not affect a new group or topic of
        its name.
        """
        self.orders.remove(group, topic)
        self._state.in_flight.remove(group, topic)
        for positions in self._saving:
            for place in list(positions):
                if group in (None, place[0]) and topic in (None, place[1]):
                    del positions[place]
        self._state.files.touch(File.POPS)

    def skip(self, place: Place, offset: int) -> None:
        """Move the next pop to this offset, because no message before it is for the group."""
        if not self._state.in_flight.skip(place, offset):
            self.store_offset(place, offset)

    def drop(self, message: InFlightMessage) -> None:
        """Drop a message that was acknowledged, or whose retry copy is on disk."""
        had_room = self._state.in_flight.room(message.place[0]) > 0
        offset = self._state.in_flight.drop(message)
        if offset is not None:
            self.store_offset(message.place, offset)
        self.changed()
        if not had_room:
            self.wake_soon(message.place)

    def store_offset(self, place: Place, offset: int) -> None:
        """Store the group's offset if it is higher and no reset is pending; all before it is
        safe."""
        state = self._state
        if self._copied is not None:
            return  # a pop that ended late: its messages belong to the new master
        if state.groups.find(place[0]) is None or state.topics.find(place[1]) is None:
            return
        stored = self._stored(place)
        if (stored is None or stored < offset) and state.resets.pending(*place) is None:
            state.offsets.commit(*place, offset, state.now + self._interval)

    def changed(self) -> None:
        """Schedule a write of the file of in-flight messages."""
        if self._save_at == NEVER:
            self._save_at = self._state.now + self._interval
            self._state.files.touch(File.POPS, self._save_at)

    @property
    def _interval(self) -> float:
        return self._state.settings.flush_consumer_offset_interval / 1000

    def _stored(self, place: Place) -> int | None:
        return self._state.offsets.find(*place)

    def _save(self) -> None:
        self._save_at = NEVER
        self._state.task_runner.start_in_role(
            self._saved(),
            lambda _: None,
            lambda error: self._state.effects.broken(
                "saving in-flight messages raised an exception", error
            ),
        )

    def _saved(self) -> Task[None]:
        positions = dict(self._state.in_flight.positions())
        self._saving.append(positions)
        failure = yield from tasks.saved(File.POPS)
        self._saving = [each for each in self._saving if each is not positions]
        if failure is not None:
            self.changed()
            return
        for place, offset in positions.items():
            self.store_offset(place, offset)

    # ------------------------------------------------------------------ queues

    def is_busy(self, place: Place) -> bool:
        """Whether a pop is reading the queue; the caller is woken when it has finished."""
        if place in self._busy:
            self._wanted.add(place)
        return place in self._busy

    @contextmanager
    def reading(self, place: Place) -> Iterator[None]:
        """Exclude other pops from the queue in this context."""
        self._busy.add(place)
        try:
            yield
        finally:
            self._busy.remove(place)
            if place in self._wanted:
                self._wanted.remove(place)
                self.wake_soon(place)

    def wake_soon(self, place: Place, messages: int = 1) -> None:
        """Wake the group's waiting requests for this queue, and announce `messages` to
        notifications."""
        self._wakes[place] = self._wakes.get(place, 0) + messages

    def watch_order(self, due_ms: int) -> None:
        """Check at `due_ms` whether a queue that is popped in order is still blocked."""
        self._orders_due_ms = min(self._orders_due_ms, due_ms)

    def _free_orders(self) -> None:
        state = self._state
        for place in self.orders.visible_again(state.wall_ms):
            if state.groups.find(place[0]) is None or state.topics.find(place[1]) is None:
                self.orders.forget(place)
            self.wake_soon(place)
        self._orders_due_ms = self.orders.next_ms(state.wall_ms)
