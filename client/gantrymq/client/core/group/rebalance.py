"""Takes and releases queues until a consumer owns exactly its share of the group's queues.

    share     for each subscribed topic: the strategy, applied to the sorted queues and client
              ids; broadcasting: all queues
    release   queues that are not in the share, dropped, or idle: persist the offset, then
              release the lock
    take      an orderly consumer acquires the lock first; then determine the start offset and
              start pulling

Invariant: a queue is released only after its offset was sent, and taken only after its start offset
is known. What failed is repeated in the next round, which then follows soon.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol, final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.group.allocation import Allocate
from gantrymq.client.core.group.group_members import share_of
from gantrymq.client.core.group.offset_store import OffsetStore
from gantrymq.client.core.group.process_queue import ProcessQueue
from gantrymq.client.core.group.queue_locks import QueueLocks
from gantrymq.client.core.group.start_offset import StartOffsets
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message.namespace import RETRY_PREFIX
from gantrymq.wire.bodies.shared import MessageQueue


class Consuming(Protocol):
    """What the rebalance needs of the consumer."""

    def begin(self, process_queue: ProcessQueue, offset: int) -> None:
        """Start pulling and consuming the queue at this offset."""

    def end(self, process_queue: ProcessQueue) -> bool:
        """Stop a dropped queue; return whether no listener uses it any more, so that another member
        may take it."""


@final
class Rebalance:
    """The queues of one consumer."""

    def __init__(
        self,
        instance: Instance,
        group: str,
        consuming: Consuming,
        offsets: OffsetStore,
        starts: StartOffsets,
        *,
        allocate: Allocate | None,
        locks: QueueLocks | None,
    ) -> None:
        """`allocate` is None for a broadcasting group, which takes all queues. `locks` is given for
        an orderly consumer."""
        self.queues: dict[MessageQueue, ProcessQueue] = {}
        self._instance = instance
        self._group = group
        self._consuming = consuming
        self._offsets = offsets
        self._starts = starts
        self._allocate = allocate
        self._locks = locks
        self._is_closed = False

    # ------------------------------------------------------------------ rounds

    async def round(self, topics: Iterable[str], changed: Callable[[str], None]) -> bool:
        """Rebalance all topics; return whether everything succeeded. Calls `changed` for each topic
        whose queues changed."""
        is_balanced = True
        wanted = tuple(topics)
        for topic in wanted:
            try:
                share = await self._share(topic)
            except GantryError as error:
                self._log(
                    f"doRebalance, {self._group}: share of queues unknown, retrying"
                    f" topic={topic} error={error}"
                )
                is_balanced = False
                continue
            if share is not None and not self._is_closed:
                is_balanced = await self._take_share(topic, share, changed) and is_balanced
        gone = [each for each in self.queues.values() if each.queue.topic not in wanted]
        return await self._give_up(gone) and is_balanced

    async def _share(self, topic: str) -> list[MessageQueue] | None:
        """Return this consumer's share; None if the topic has no route, in which case its queues
        stay."""
        instance = self._instance
        route = instance.routes.find(topic) or await instance.refresh_route(topic)
        if route is None:
            if not topic.startswith(RETRY_PREFIX):
                self._log(f"doRebalance, {self._group}, but the topic[{topic}] not exist.")
            return None
        return await share_of(instance, self._group, route, self._allocate)

    async def _take_share(
        self, topic: str, share: Collection[MessageQueue], changed: Callable[[str], None]
    ) -> bool:
        wanted = set(share)
        now = self._instance.ports.clock.monotonic()
        over = [
            each
            for queue, each in self.queues.items()
            if queue.topic == topic
            and (queue not in wanted or each.is_dropped or each.is_idle(now))
        ]
        is_balanced = await self._give_up(over)
        missing = [queue for queue in share if queue not in self.queues]
        if missing:
            is_balanced = await self._take(missing) and is_balanced
        if over or missing:
            changed(topic)
        return is_balanced

    # ------------------------------------------------------------------ taking and releasing

    async def _take(self, queues: list[MessageQueue]) -> bool:
        """Take queues; return whether all of them were taken."""
        asked_at = self._instance.ports.clock.monotonic()
        granted = dict.fromkeys(queues, True) if self._locks is None else {}
        if self._locks is not None:
            granted = await self._locks.lock(queues)
        is_complete = True
        for queue in queues:
            if not granted.get(queue) or not await self._begin(queue, asked_at):
                is_complete = False
        unused = [queue for queue in queues if granted.get(queue) and queue not in self.queues]
        if self._locks is not None:
            await self._locks.unlock(unused)
        return is_complete

    async def _begin(self, queue: MessageQueue, locked_at: float) -> bool:
        self._offsets.forget(queue)
        try:
            offset = await self._starts.of(queue)
        except GantryError as error:
            self._log(f"doRebalance, {self._group}, compute offset failed, {queue}: {error}")
            return False
        if self._is_closed:
            return False
        process_queue = ProcessQueue(queue, self._instance.ports.clock.monotonic())
        if self._locks is not None:
            process_queue.locked_at = locked_at
        # The start offset counts as progress at once, not only after the first response, which a
        # broker may hold. Otherwise a consumer that starts at the end and restarts meanwhile would
        # start at a later end and skip messages.
        if not self._starts.is_guess(queue, offset):
            process_queue.pass_to(offset)
        self.queues[queue] = process_queue
        self._consuming.begin(process_queue, offset)
        return True

    async def _give_up(self, those: Collection[ProcessQueue]) -> bool:
        """Release queues; return whether all of them were released."""
        if not those:
            return True
        for each in those:
            each.drop()
        ended = [each for each in those if self._consuming.end(each)]
        is_stored = await self._store(ended)
        # If its new offset is not persisted, a moved queue would start at its old offset.
        gone = [each for each in ended if is_stored or not each.is_moved]
        locked = []
        for each in gone:
            if self.queues.pop(each.queue, None) is not None:
                each.release()
                self._offsets.forget(each.queue)
                if each.locked_at is not None:
                    locked.append(each.queue)
        if self._locks is not None and locked:
            await self._locks.unlock(locked)
        return len(gone) == len(those)

    async def _store(self, those: Collection[ProcessQueue]) -> bool:
        """Persist the offsets with confirmation, because the next owners read them soon; return
        whether that succeeded."""
        queues = []
        for each in those:
            offset = self.committed(each)
            if offset is not None:
                self._offsets.update(each.queue, offset)
                queues.append(each.queue)
        try:
            await self._offsets.persist(queues, confirm=True)
        except (GantryError, OSError) as error:
            names = ", ".join(map(str, queues))
            self._log(f"offsets not persisted queues={names} error={error}")
            return False
        return True

    def holds(self, process_queue: ProcessQueue) -> bool:
        """Tell whether this consumer holds the queue's lock now; True if it uses no locks."""
        now = self._instance.ports.clock.monotonic()
        return self._locks is None or process_queue.is_locked(now)

    def committed(self, process_queue: ProcessQueue) -> int | None:
        """Return the offset to commit; None if the queue may belong to another member by now."""
        if process_queue.is_moved or self.holds(process_queue):
            return process_queue.commit_offset
        return None

    # ------------------------------------------------------------------ between rounds

    def note_offsets(self) -> list[MessageQueue]:
        """Copy offsets to the store; return the queues whose offsets may be committed. Others are
        excluded because the commit could overwrite another member's progress."""
        noted = []
        for queue, process_queue in self.queues.items():
            offset = None if process_queue.is_dropped else self.committed(process_queue)
            if offset is not None:
                self._offsets.update(queue, offset)
                noted.append(queue)
        return noted

    async def close(self) -> None:
        """Release all queues, even those that a listener still uses."""
        self._is_closed = True
        await self._give_up(tuple(self.queues.values()))
        # Queues whose offset could not be persisted are left. No further round follows, and their
        # locks would keep the next owner waiting until they expire at the broker.
        locked = [queue for queue, each in self.queues.items() if each.locked_at is not None]
        self.queues.clear()
        if self._locks is not None and locked:
            await self._locks.unlock(locked)

    def _log(self, line: str) -> None:
        self._instance.ports.log(line)
