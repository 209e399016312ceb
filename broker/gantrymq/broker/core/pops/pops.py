"""What is out of each group's queues, who waits for more, and how far each group has come.

    next        where the next pop begins, in memory while something is out
    stored      the group's offset, as for pulls: everything before it is acknowledged, or is in
                the file of checkouts, which was on disk before the offset moved
    after a crash pops begin at the stored offset, and what the file has from before it comes back
    when it is due

Invariant: an offset is stored only when a crash can forget no message before it. What may come
twice after a crash is what went out or was acknowledged since the file was written, which is at
most flushConsumerOffsetInterval ago. Of a topic or group that is gone no offset is stored: another
one of its name would go on there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core import steps
from gantrymq.broker.core.messages import Channel, File
from gantrymq.broker.core.pops.checkouts import NEVER_MS, Checkout, Checkouts, Place
from gantrymq.broker.core.pops.orders import Orders
from gantrymq.broker.core.pops.revival import Revival
from gantrymq.broker.core.pops.waiting import Waiting
from gantrymq.broker.core.steps import Steps

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

NEVER: Final = float("inf")


@final
class Pops:
    """Of one broker."""

    __slots__ = (
        "_busy",
        "_copied",
        "_orders_due_ms",
        "_save_at",
        "_saving",
        "_state",
        "_wakes",
        "_wanted",
        "checkouts",
        "orders",
        "revival",
        "waiting",
    )

    def __init__(self, state: State) -> None:
        self._state = state
        self._busy: set[Place] = set()
        self._copied: bytes | None = None
        """What the master's file holds, while there is one that this broker follows."""
        self._wanted: set[Place] = set()
        self._wakes: dict[Place, int] = {}
        """Where waiting requests may find something -> how many messages are told to
        notifications."""
        self._save_at = NEVER
        self._saving: list[dict[Place, int]] = []
        """For each file on its way: what is to be stored once it is safe."""
        self._orders_due_ms = NEVER_MS
        self.checkouts = Checkouts()
        self.orders = Orders(state.wall_ms)
        self.revival = Revival(state)
        self.waiting = Waiting(state)
        state.files.keep(File.POPS, self.content)

    def begin(self) -> None:
        """The files are loaded."""
        for place, _ in self.checkouts.positions():
            self.checkouts.move(place, self._stored(place) or 0)

    def content(self) -> bytes:
        """The file."""
        return self.checkouts.content() if self._copied is None else self._copied

    def take_table(self, content: bytes) -> None:
        """The file is as the master's, and is read once it is needed. RemoteError where it is no
        file."""
        if not content.startswith(b"{"):
            raise RemoteError(f"what is out is told in {len(content)} bytes of something else")
        self._copied = content

    def lead(self) -> None:
        """What the last master had out is ours."""
        copied, self._copied = self._copied, None
        if copied is not None:
            self._take_over(copied)
        self._saving.clear()
        self._save_at = NEVER
        self.orders = Orders(self._state.wall_ms)
        self.begin()

    def _take_over(self, content: bytes) -> None:
        checkouts = Checkouts()
        try:
            checkouts.load(content)
        except RemoteError as error:
            self._state.effects.warning(f"what the last master had out is not known: {error}")
        else:
            self.checkouts = checkouts

    def retire(self) -> None:
        """The works are over, and another master gives messages out: whoever waits is answered."""
        self._copied = self.content()
        self.revival.retire()
        self.waiting.dismiss()

    def wind_down(self) -> None:
        """The broker stops: nobody waits, and what is out is to come back when it is due, not at
        once."""
        self.waiting.close()
        if self._save_at < NEVER:
            self._save()

    # ------------------------------------------------------------------ the machine

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
        self.waiting.expire(now)  # first: who is late is answered for good, wakes go on and on
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

    # ------------------------------------------------------------------ how far groups are

    def position(self, place: Place) -> int | None:
        """Where the next pop begins; None when the group never said."""
        following, stored = self.checkouts.next(place), self._stored(place)
        return stored if following is None else max(following, stored or 0)

    def take_reset(self, place: Place) -> None:
        """Go where an administrator told the group to go on, if one did."""
        offset = self._state.resets.take(*place)
        if offset is not None and self._state.settings.use_server_side_reset_offset:
            self.move(place, offset)

    def move(self, place: Place, offset: int) -> None:
        """Pops go on here, before or behind where they were."""
        self.orders.forget(place)
        self.checkouts.move(place, offset)
        for positions in self._saving:
            positions.pop(place, None)
        self._state.offsets.commit(*place, offset)
        self.changed()

    def remove(self, group: str | None = None, topic: str | None = None) -> None:
        """All of a group, or of a topic, which is gone with its offsets: what was out comes never
        again, and tells no other group or topic of that name where to go on."""
        self.orders.remove(group, topic)
        self.checkouts.remove(group, topic)
        for positions in self._saving:
            for place in list(positions):
                if group in (None, place[0]) and topic in (None, place[1]):
                    del positions[place]
        self._state.files.touch(File.POPS)

    def skip(self, place: Place, offset: int) -> None:
        """Nothing before is for the group."""
        if not self.checkouts.skip(place, offset):
            self.store_offset(place, offset)

    def drop(self, checkout: Checkout) -> None:
        """The message was acknowledged, or is in the retry topic for good."""
        had_room = self.checkouts.room(checkout.place[0]) > 0
        offset = self.checkouts.drop(checkout)
        if offset is not None:
            self.store_offset(checkout.place, offset)
        self.changed()
        if not had_room:
            self.wake_soon(checkout.place)

    def store_offset(self, place: Place, offset: int) -> None:
        """Everything before is safe; never back, and not while the group is to go elsewhere."""
        state = self._state
        if self._copied is not None:
            return  # a pop ended late: what it gave out is not ours any more
        if state.groups.find(place[0]) is None or state.topics.find(place[1]) is None:
            return
        stored = self._stored(place)
        if (stored is None or stored < offset) and state.resets.pending(*place) is None:
            state.offsets.commit(*place, offset, state.now + self._interval)

    def changed(self) -> None:
        """The file of checkouts is to be written, in a while."""
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
        self._state.works.start_in_role(
            self._saved(),
            lambda _: None,
            lambda error: self._state.effects.broken("the checkouts could not be saved", error),
        )

    def _saved(self) -> Steps[None]:
        positions = dict(self.checkouts.positions())
        self._saving.append(positions)
        failure = yield from steps.saved(File.POPS)
        self._saving = [each for each in self._saving if each is not positions]
        if failure is not None:
            self.changed()
            return
        for place, offset in positions.items():
            self.store_offset(place, offset)

    # ------------------------------------------------------------------ queues

    def is_busy(self, place: Place) -> bool:
        """Whether a pop is reading the queue; who asks is woken when it has."""
        if place in self._busy:
            self._wanted.add(place)
        return place in self._busy

    @contextmanager
    def reading(self, place: Place) -> Iterator[None]:
        """Nobody else pops from the queue meanwhile."""
        self._busy.add(place)
        try:
            yield
        finally:
            self._busy.remove(place)
            if place in self._wanted:
                self._wanted.remove(place)
                self.wake_soon(place)

    def wake_soon(self, place: Place, messages: int = 1) -> None:
        """Requests of the group that wait may find something there, of which so many messages are
        to be told to notifications."""
        self._wakes[place] = self._wakes.get(place, 0) + messages

    def watch_order(self, due_ms: int) -> None:
        """A queue that is consumed in order may wait until then."""
        self._orders_due_ms = min(self._orders_due_ms, due_ms)

    def _free_orders(self) -> None:
        state = self._state
        for place in self.orders.visible_again(state.wall_ms):
            if state.groups.find(place[0]) is None or state.topics.find(place[1]) is None:
                self.orders.forget(place)
            self.wake_soon(place)
        self._orders_due_ms = self.orders.next_ms(state.wall_ms)
