"""Which queues a member of a group has: it takes and gives up until they are its share.

    share     of each subscribed topic: its queues in order, the group's client ids in order, the
              strategy; broadcasting: all queues
    give up   what is no longer its share, was dropped, or is idle: progress is stored, the lock is
              released, then it is gone
    take      an orderly consumer has the lock first; where to begin, then its pulls begin

Invariant: a queue is given up only after its progress was told, and taken only when it is known
where to begin; what could not be done is done in the next round, which then is soon.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Protocol, final

from gantrymq.base.errors import GantryError
from gantrymq.client.core.allocation import Allocate
from gantrymq.client.core.group_members import share_of
from gantrymq.client.core.instance import Instance
from gantrymq.client.core.namespace import RETRY_PREFIX
from gantrymq.client.core.offset_store import OffsetStore
from gantrymq.client.core.process_queue import ProcessQueue
from gantrymq.client.core.queue_locks import QueueLocks
from gantrymq.client.core.start_offset import StartOffsets
from gantrymq.wire.bodies.shared import MessageQueue


class Consuming(Protocol):
    """What becomes of the queues."""

    def begin(self, process_queue: ProcessQueue, offset: int) -> None:
        """Pull it from here, and consume it."""

    def end(self, process_queue: ProcessQueue) -> bool:
        """It was dropped; whether nobody consumes it any more, so that another one may."""


@final
class Rebalance:
    """Of one group's member."""

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
        """`allocate` None: all queues, of a broadcast group. `locks`: of an orderly consumer."""
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
        """Whether all is as it should be; `changed` is told the topics of which it was not."""
        is_balanced = True
        wanted = tuple(topics)
        for topic in wanted:
            try:
                share = await self._share(topic)
            except GantryError as error:
                self._log(f"doRebalance, {self._group}: no share of {topic} yet: {error}")
                is_balanced = False
                continue
            if share is not None and not self._is_closed:
                is_balanced = await self._take_share(topic, share, changed) and is_balanced
        gone = [each for each in self.queues.values() if each.queue.topic not in wanted]
        return await self._give_up(gone) and is_balanced

    async def _share(self, topic: str) -> list[MessageQueue] | None:
        """None when the topic is not there: what we have of it stays ours."""
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

    # ------------------------------------------------------------------ taking and giving up

    async def _take(self, queues: list[MessageQueue]) -> bool:
        """Whether all of them are ours now."""
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
        # Progress from now on, not from the first answer on, which a broker may hold: who begins
        # at the end, and is started again meanwhile, would begin at the end of that time.
        if not self._starts.is_guess(queue, offset):
            process_queue.pass_to(offset)
        self.queues[queue] = process_queue
        self._consuming.begin(process_queue, offset)
        return True

    async def _give_up(self, those: Collection[ProcessQueue]) -> bool:
        """Whether all of them are gone."""
        if not those:
            return True
        for each in those:
            each.drop()
        ended = [each for each in those if self._consuming.end(each)]
        is_stored = await self._store(ended)
        # Without that a queue that was moved would begin where it was.
        gone = [each for each in ended if is_stored or not each.is_moved]
        locked = []
        for each in gone:
            if self.queues.pop(each.queue, None) is not None:
                self._offsets.forget(each.queue)
                if each.locked_at is not None:
                    locked.append(each.queue)
        if self._locks is not None and locked:
            await self._locks.unlock(locked)
        return len(gone) == len(those)

    async def _store(self, those: Collection[ProcessQueue]) -> bool:
        """Whether the progress is surely stored. The next owners ask for it soon."""
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
            self._log(f"not all offsets of {names} were stored: {error}")
            return False
        return True

    def holds(self, process_queue: ProcessQueue) -> bool:
        """Whether its lock is ours now; without locks no member needs one."""
        now = self._instance.ports.clock.monotonic()
        return self._locks is None or process_queue.is_locked(now)

    def committed(self, process_queue: ProcessQueue) -> int | None:
        """What may be told of it: nothing of a queue that may be another one's by now."""
        if process_queue.is_moved or self.holds(process_queue):
            return process_queue.commit_offset
        return None

    # ------------------------------------------------------------------ between rounds

    def note_offsets(self) -> list[MessageQueue]:
        """Let the store know how far each queue is; of which ones brokers may be told: another
        member's progress would be overwritten by ours."""
        noted = []
        for queue, process_queue in self.queues.items():
            offset = None if process_queue.is_dropped else self.committed(process_queue)
            if offset is not None:
                self._offsets.update(queue, offset)
                noted.append(queue)
        return noted

    async def close(self) -> None:
        """Give up all; what does not end is given up all the same."""
        self._is_closed = True
        await self._give_up(tuple(self.queues.values()))
        self.queues.clear()

    def _log(self, line: str) -> None:
        self._instance.ports.log(line)
