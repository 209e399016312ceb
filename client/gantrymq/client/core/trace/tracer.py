"""Collects message traces and sends them in groups through a sender of their own.

    group      _INNER_TRACE_PRODUCER-<group>-PRODUCE-1 or -CONSUME-1
    topic      RMQ_SYS_TRACE_TOPIC, or the user's
    time       every 5 s, or as soon as a message is full (128 000 bytes)

Invariant: traces are never traced, never delay the traced operation, and never take more memory
than `RECORDS_MAX` records: further records are dropped, and their number is logged.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final, final

from gantrymq.client.core.flow.flow_steps import Signal, Wait
from gantrymq.client.core.instance.hooks import ConsumeContext, EndContext, SendContext
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.message import namespace
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.ports import Running
from gantrymq.client.core.safe_text import as_told
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.send_request import SendRequest, of_message
from gantrymq.client.core.send.sending import Sender
from gantrymq.client.core.trace import trace_text
from gantrymq.client.core.trace.trace_text import TraceRecord
from gantrymq.wire.message import property_names

FLUSH_S: Final = 5.0
BODY_BYTES_MAX: Final = 128_000
# The length of Java's queue.
RECORDS_MAX: Final = 2_048
# This many records wake the sender early.
RECORDS_READY: Final = 100
# Limit of one message's keys, because its properties hold at most 32 767 bytes.
KEYS_CHARACTERS_MAX: Final = 24_000
_REQUEST_ID: Final = "trace request"


@final
class Tracer:
    """The traces of one producer or consumer: a send hook, a consume hook and an end hook. `start`,
    then `close`."""

    def __init__(
        self, instance: Instance, group: str, kind: str, topic: str = namespace.TRACE_TOPIC
    ) -> None:
        """`kind` is PRODUCE or CONSUME."""
        self._ports = instance.ports
        self._settings = ProducerSettings(send_timeout_s=5.0)
        name = f"_INNER_TRACE_PRODUCER-{group}-{kind}-1"
        self._topic = topic
        self._sender = Sender(instance, name, self._settings, ())
        self._records: deque[TraceRecord] = deque()
        self._dropped = 0
        self._wake = Signal()
        self._running: Running | None = None

    def start(self) -> None:
        self._running = self._ports.start(self._work(), "traces")

    async def close(self) -> None:
        """Stop after sending the collected records."""
        if self._running is not None:
            self._running.cancel()
            self._running = None
        await self.flush(is_last=True)

    # ------------------------------------------------------------------ hooks

    def before_send(self, context: SendContext) -> None:
        """Do nothing: one record after the send has everything."""

    def after_send(self, context: SendContext) -> None:
        if context.result is not None and not context.result.is_traced:
            return
        if not self._is_own(context.queue.topic):
            self._add(trace_text.published(context))

    def before_consume(self, context: ConsumeContext) -> None:
        if self._is_wanted(context):
            request_id = self._ports.new_id()
            context.notes[_REQUEST_ID] = request_id
            self._add(trace_text.consuming(context, request_id))

    def after_consume(self, context: ConsumeContext) -> None:
        request_id = context.notes.get(_REQUEST_ID)
        if request_id is not None:
            self._add(trace_text.consumed(context, str(request_id)))

    def after_end(self, context: EndContext) -> None:
        self._add(trace_text.ended(context))

    def recalled(self, group: str, topic: str, message_id: str, *, is_done: bool) -> None:
        """Record the recall of a delayed message, successful or not."""
        at_ms = self._ports.clock.wall_ms()
        self._add(trace_text.recalled(at_ms, group, topic, message_id, is_done=is_done))

    def _is_wanted(self, context: ConsumeContext) -> bool:
        if self._is_own(context.queue.topic):
            return False
        told = (message.properties.get(property_names.TRACE_ON) for message in context.messages)
        return all(each != "false" for each in told)

    def _is_own(self, topic: str) -> bool:
        return topic == self._topic or namespace.is_system(topic)

    # ------------------------------------------------------------------ sending

    def _add(self, record: TraceRecord) -> None:
        if len(self._records) >= RECORDS_MAX:
            self._dropped += 1
            return
        self._records.append(record)
        if len(self._records) >= RECORDS_READY:
            self._wake.fire()

    async def _work(self) -> None:
        clock = self._ports.clock
        while True:
            await Wait(clock.monotonic() + FLUSH_S, self._wake)
            await self.flush()

    async def flush(self, *, is_last: bool = False) -> None:
        """Send the collected records. Records that cannot be sent are lost. On the last flush one
        failure drops all remaining records, because a silent broker would delay each further
        send."""
        if self._dropped:
            self._ports.log(f"traces dropped count={self._dropped}: the buffer is full")
            self._dropped = 0
        while self._records:
            part = self._taken()
            try:
                await self._sender.send(self._request(part))
            except Exception as error:  # it must not stop later traces
                lost = len(part)
                if is_last:
                    lost += len(self._records)
                    self._records.clear()
                cause, shown = as_told(error)
                self._ports.log(f"traces not sent count={lost} error={cause}", shown)

    def _taken(self) -> list[TraceRecord]:
        """Remove as many records as fit in one message, at least one."""
        part: list[TraceRecord] = []
        size = keys_size = 0
        while self._records:
            record = self._records[0]
            size += len(record.text.encode("utf-8", "replace"))
            keys_size += sum(len(key) + 1 for key in record.keys)
            if part and (size > BODY_BYTES_MAX or keys_size > KEYS_CHARACTERS_MAX):
                break
            part.append(self._records.popleft())
        return part

    def _request(self, part: Sequence[TraceRecord]) -> SendRequest:
        text = "".join(record.text for record in part)
        keys = " ".join(dict.fromkeys(key for record in part for key in record.keys))
        if len(keys) > KEYS_CHARACTERS_MAX:  # a single record of a large batch
            keys = keys[:KEYS_CHARACTERS_MAX].rpartition(" ")[0]
        message = Message(self._topic, text.encode("utf-8", "replace"), keys=keys)
        return of_message(
            message,
            settings=self._settings,
            group=self._sender.group,
            wrapped_in="",
            new_id=self._ports.new_id(),
        )
