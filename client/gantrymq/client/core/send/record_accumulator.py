"""Accumulates messages for up to `linger_s` so that many of them leave in one request.

    a batch is sent      when it is full, or `linger_s` after its first message
    alone, at once       messages that no batch can contain: delayed, retried, large enough for
                         compression, or with properties so large that the broker may refuse them,
                         because a broker refuses a batch as a whole

Invariant: each message that `add` accepted is acknowledged, or its batch has an error, or it still
counts as waiting. The waiting bytes exceed `waiting_bytes_max` by at most the last addition: one
message, or one list that by itself is no larger than the limit. Batches to an explicitly chosen
queue are sent one after another, so their order holds.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import BytesWriter

from gantrymq.base.errors import GantryError
from gantrymq.client.core.errors import ClientError, StateError
from gantrymq.client.core.flow.flow_steps import FOREVER, Signal, Wait
from gantrymq.client.core.flow.semaphore import Semaphore
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.results import SendResult
from gantrymq.client.core.ports import Running
from gantrymq.client.core.send.batches import (
    add_part,
    add_parts,
    joined,
    pattern_start,
    reckoned_bytes,
    unbatchable,
    waits,
)
from gantrymq.client.core.send.producer_batch import Batch, BatchKey, Share
from gantrymq.client.core.send.send_request import (
    SendRequest,
    must_be_sendable,
    of_message,
    property_bytes,
    property_text,
)
from gantrymq.client.core.send.sending import Sender
from gantrymq.client.core.send.waiting_memory import (
    BATCH_BYTES,
    OBJECT_BYTES,
    SENDING_BYTES,
    must_fit_list,
)
from gantrymq.wire.bodies.shared import MessageQueue

# Ids made per reading of the clock; a millisecond has room for many more.
_IDS_AT_ONCE: Final = 1024

# Ids are made ahead, doubling the number each time: one at a time they would take three times as
# long.
_SPARE_IDS_MAX: Final = 64

# Concurrent sends: enough to keep brokers busy, few enough to be answered in time.
SENDS_MAX: Final = 16

# Half of the limit for properties; brokers add far less than the other half.
_PROPERTIES_ALONE_BYTES: Final = 16 << 10

# A caller that waits for room is woken when 1/16 is free. It refills that part while the event loop
# sends nothing and reads no responses, so the part must be small.
_ROOM_PARTS: Final = 16


class WaitingFullError(ClientError):
    """Too many messages wait for acknowledgement."""


@final
class RecordAccumulator:
    """The record accumulator of one producer."""

    def __init__(self, sender: Sender, wrapped_in: str) -> None:
        self._sender = sender
        self._wrapped_in = wrapped_in
        self._ports = sender.instance.ports
        self._new_id = self._ports.new_id
        self._new_ids = self._ports.new_ids
        self._has_hooks = bool(sender.hooks)
        self._settings = sender.settings
        self._open: dict[BatchKey, Batch] = {}
        self._unfinished: dict[Batch, Running | None] = {}
        self._last_of_queue: dict[MessageQueue, Batch] = {}
        self._room = Signal()
        # Half, because the sizes computed here differ from those that brokers count.
        settings = sender.settings
        self._batch_bytes_max = min(settings.batch_bytes_max, settings.message_bytes_max // 2)
        self._alone_bytes = min(settings.compress_over_bytes, self._batch_bytes_max)
        self._room_from = settings.waiting_bytes_max * (_ROOM_PARTS - 1) // _ROOM_PARTS
        """`room` returns when no more than this many bytes wait."""
        self._send_slots = Semaphore(SENDS_MAX)
        self.waiting_bytes = 0

    def add(self, message: Message, queue: MessageQueue | None = None) -> Batch:
        """Add a message; return the batch whose last message it now is. Raises MessageError,
        WaitingFullError."""
        settings = self._settings
        must_be_sendable(message, settings)
        if self.waiting_bytes >= settings.waiting_bytes_max:
            raise self._full_error()
        return self._add(message, queue)

    def add_many(
        self, pattern: Message, bodies: list[bytes], queue: MessageQueue | None = None
    ) -> list[Share]:
        """Add a message like the pattern for each body: all of them, or none and an error. Raises
        MessageError, WaitingFullError."""
        settings = self._settings
        start = pattern_start(pattern, self._wrapped_in, self._new_id())
        alone_bytes = min(self._alone_bytes, max(0, self._batch_bytes_max - len(start)))
        if len(start) > _PROPERTIES_ALONE_BYTES or unbatchable(pattern) is not None:
            alone_bytes = 0
        longest = must_fit_list(
            pattern, bodies, len(start), alone_bytes, settings=settings, has_hooks=self._has_hooks
        )
        if self.waiting_bytes >= settings.waiting_bytes_max:
            raise self._full_error()
        shares: list[Share] = []
        if longest >= alone_bytes or self._has_hooks:
            for body in bodies:
                batch = self._add(pattern.with_body(body), queue)
                if shares and shares[-1].batch is batch:
                    shares[-1].count += 1
                else:
                    shares.append(Share(batch, batch.count - 1, 1))
            return shares
        key = (pattern.topic, queue, waits(pattern))
        first = 0
        while first < len(bodies):
            batch = self._with_room(key, len(bodies[first]) + len(start))
            count = self._fill(batch, pattern.flag, start, bodies, first)
            shares.append(Share(batch, batch.count - count, count))
            first += count
        return shares

    def _fill(self, batch: Batch, flag: int, start: bytes, bodies: list[bytes], first: int) -> int:
        """Add bodies from index `first` on until the batch is full; return how many were added."""
        settings, parts = self._settings, batch.parts
        before = len(parts)
        fit = 1 + (self._batch_bytes_max - before) // (len(start) + len(bodies[first]))
        wanted = min(len(bodies) - first, settings.batch_messages_max - batch.count, _IDS_AT_ONCE)
        ids = self._new_ids(min(wanted, fit))
        count = add_parts(parts, flag, start, bodies, first, ids, self._batch_bytes_max)
        batch.ids += ids if count == len(ids) else ids[:count]
        self._account(batch, count, len(parts) - before)
        return count

    def _add(self, message: Message, queue: MessageQueue | None) -> Batch:
        body_bytes = size = len(message.body)
        if message.properties:
            own_bytes = property_bytes(message.properties)
            if own_bytes > _PROPERTIES_ALONE_BYTES:
                property_text(message.properties, self._new_id())  # raises if they are too long
                return self._send_alone(message, queue)
            size += own_bytes
        if (
            body_bytes >= self._alone_bytes
            or size >= self._batch_bytes_max
            or unbatchable(message) is not None
        ):
            return self._send_alone(message, queue)
        key = (message.topic, queue, waits(message))
        batch = self._with_room(key, size)
        parts = batch.parts
        before = len(parts)
        if not batch.spare_ids:
            batch.spare_ids = self._new_ids(min(1 + batch.count, _SPARE_IDS_MAX))
            batch.spare_ids.reverse()
        batch.ids.append(add_part(parts, message, self._wrapped_in, batch.spare_ids.pop()))
        written = len(parts) - before
        if self._has_hooks:
            batch.messages.append(message)
            written += body_bytes + OBJECT_BYTES
        self._account(batch, 1, written)
        return batch

    def reserve(self, message: Message) -> Batch:
        """Reserve a batch for one message whose queue is not known yet: see `release` and
        `fail`."""
        must_be_sendable(message, self._settings)
        if self.waiting_bytes >= self._settings.waiting_bytes_max:
            raise self._full_error()
        return self._new_single(message, None)

    def release(self, batch: Batch, queue: MessageQueue) -> None:
        """Send a reserved batch to this queue."""
        topic, _, is_waited_for = batch.key
        batch.key = (topic, queue, is_waited_for)
        self._start(batch)

    def fail(self, batch: Batch, error: Exception | None) -> None:
        """Fail a reserved batch with this error; None means that the producer was closed."""
        batch.error = error
        self._finish(batch)

    def _full_error(self) -> WaitingFullError:
        return WaitingFullError(
            f"{self.waiting_bytes} bytes wait to be acknowledged, allowed are"
            f" {self._settings.waiting_bytes_max} (waiting_bytes_max): await producer.room() before"
            " going on"
        )

    async def room(self) -> None:
        """Wait until a small part of `waiting_bytes_max` is free. It is small so that refilling it
        takes less time than the brokers need for the rest."""
        while self.waiting_bytes > self._room_from:
            await Wait(FOREVER, self._room)

    async def flush(self, until: float = FOREVER) -> None:
        """Wait until everything added before is acknowledged or has failed, but no longer than
        `until`."""
        for batch in tuple(self._open.values()):
            self._close_batch(batch)
        for batch in tuple(self._unfinished):
            while not batch.is_over:
                if not await Wait(until, batch.ended):
                    return

    def abandon(self) -> None:
        """Fail everything that is not acknowledged; brokers may have stored some of it."""
        for batch, flow in tuple(self._unfinished.items()):
            if flow is not None:
                flow.cancel()
            self._finish(batch)  # a flow cancelled before it began does not finish its batch

    # ------------------------------------------------------------------ inside

    def _with_room(self, key: BatchKey, size: int) -> Batch:
        """Return the open batch of the key with room for `size` bytes, or a new batch."""
        batch = self._open.get(key)
        if batch is not None and len(batch.parts) + size > self._batch_bytes_max:
            self._close_batch(batch)
            batch = None
        return self._begin(key) if batch is None else batch

    def _account(self, batch: Batch, count: int, written: int) -> None:
        batch.count += count
        size = written + count * SENDING_BYTES
        batch.bytes += size
        self.waiting_bytes += size
        if (
            len(batch.parts) >= self._batch_bytes_max
            or batch.count >= self._settings.batch_messages_max
        ):
            self._close_batch(batch)

    def _begin(self, key: BatchKey) -> Batch:
        batch = self._open[key] = Batch(key)
        batch.bytes = BATCH_BYTES
        self.waiting_bytes += BATCH_BYTES
        self._start(batch)
        return batch

    def _send_alone(self, message: Message, queue: MessageQueue | None) -> Batch:
        batch = self._new_single(message, queue)
        self._start(batch)
        return batch

    def _new_single(self, message: Message, queue: MessageQueue | None) -> Batch:
        batch = Batch((message.topic, queue, waits(message)))
        batch.messages.append(message)
        batch.count = 1
        batch.bytes = BATCH_BYTES + OBJECT_BYTES + SENDING_BYTES + reckoned_bytes(message)
        self.waiting_bytes += batch.bytes
        batch.full.fire()
        self._unfinished[batch] = None
        return batch

    def _start(self, batch: Batch) -> None:
        queue = batch.key[1]
        before = None
        if queue is not None:
            before = self._last_of_queue.get(queue)
            if before is not None:
                self._close_batch(before)  # later messages must not join it and overtake this batch
            self._last_of_queue[queue] = batch
        self._unfinished[batch] = self._ports.start(self._run(batch, before), "batch")

    def _close_batch(self, batch: Batch) -> None:
        """Close the batch: nothing is added to it any more."""
        if self._open.get(batch.key) is batch:
            del self._open[batch.key]
        batch.full.fire()

    async def _run(self, batch: Batch, before: Batch | None) -> None:
        try:
            await Wait(self._ports.clock.monotonic() + self._settings.linger_s, batch.full)
            self._close_batch(batch)
            while before is not None and not before.is_over:
                await Wait(FOREVER, before.ended)
            if batch.count:  # 0 if its first message was refused
                batch.result = await self._send(batch)
        except Exception as error:
            batch.error = error
            if not isinstance(error, GantryError):
                raise
        finally:
            self._finish(batch)

    async def _send(self, batch: Batch) -> SendResult:
        """Send the batch when a slot is free; the wait for a slot does not count towards its
        timeout."""
        await self._send_slots.take()
        try:
            result = await self._sender.send(self._request(batch), queue=batch.key[1])
        finally:
            self._send_slots.give_back()
        return result.of_topic(batch.key[0])

    def _finish(self, batch: Batch) -> None:
        if batch not in self._unfinished:
            return  # it was abandoned
        if not batch.is_over:
            batch.error = StateError("the producer was closed before a broker acknowledged it")
        if batch.count and isinstance(batch.error, GantryError) and not batch.is_watched:
            self._ports.log(
                f"messages not sent topic={batch.key[0]} count={batch.count} error={batch.error}"
            )
        self._close_batch(batch)
        del self._unfinished[batch]
        queue = batch.key[1]
        if queue is not None and self._last_of_queue.get(queue) is batch:
            del self._last_of_queue[queue]
        self.waiting_bytes -= batch.bytes
        batch.parts = BytesWriter()  # a kept Sending keeps the batch, not the bytes
        batch.messages = []
        batch.spare_ids = []
        batch.ended.fire()
        if self.waiting_bytes <= self._room_from:
            self._room.fire()

    def _request(self, batch: Batch) -> SendRequest:
        settings, group, wrapped_in = self._settings, self._sender.group, self._wrapped_in
        if not batch.ids:
            return of_message(
                batch.messages[0],
                settings=settings,
                group=group,
                wrapped_in=wrapped_in,
                new_id=self._new_id(),
            )
        topic, _, is_waited_for = batch.key
        request = joined(
            batch.parts,
            topic,
            batch.ids,
            settings=settings,
            group=group,
            wrapped_in=wrapped_in,
            waits=is_waited_for,
        )
        request.messages += batch.messages
        return request
