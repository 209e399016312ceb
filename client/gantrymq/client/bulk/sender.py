"""Sends many messages, from one thread, as batches that are pipelined to each broker.

    settings = BulkSettings(name_servers=("n1:9876",), group="load")
    sender = BulkSender(settings, Origin("load-7", 0, 3))
    layout = sender.layout("orders")
    for number, body in enumerate(bodies):
        sender.send(OutgoingMessage(body), layout.by_number(number))
    sender.flush()

An idempotent sender that sends the same messages in the same order from the same origin to the same
queues stores each message once, however often it runs; `layout` pins the queues. It requires
Gantry's brokers. Any other sender stores messages at least once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType
from typing import Self, final

from gantrymq.client.bulk.connections import Connections
from gantrymq.client.bulk.layout import Layout
from gantrymq.client.bulk.notes import LayoutNotes
from gantrymq.client.bulk.outgoing import (
    Origin,
    OutgoingMessage,
    check_body,
    property_bytes,
    unique_key,
)
from gantrymq.client.bulk.rate_limit import RateLimit
from gantrymq.client.bulk.requests import BulkRequest, Lane
from gantrymq.client.bulk.settings import BulkSettings
from gantrymq.client.bulk.window import BrokerWindow
from gantrymq.wire.bodies.shared import MessageQueue


@final
@dataclass(frozen=True, slots=True)
class SendLimits:
    """Limits of requests in flight, request sizes and the send rate."""

    max_in_flight: int = 4
    """Maximum number of requests in flight to each broker."""
    batch_bytes: int = 240_000
    """Bytes per request. Brokers process requests below 256 KiB faster, and each queue buffers up
    to this many bytes in memory."""
    message_bytes_max: int = 4 << 20
    messages_per_second: int | None = None


@final
class BulkSender:
    """Sends messages to queues, for one thread. Use it with `with`, or call `close`."""

    def __init__(
        self,
        settings: BulkSettings,
        origin: Origin,
        limits: SendLimits = SendLimits(),
        *,
        is_idempotent: bool = False,
    ) -> None:
        """Raises ConfigurationError if a file of the settings cannot be used."""
        self._origin = origin
        self._limits = limits
        self._is_idempotent = is_idempotent
        self._connections = Connections(settings)
        self._key_prefix = origin.key_prefix()
        self._lanes: dict[MessageQueue, Lane] = {}
        self._windows: dict[str, BrokerWindow] = {}
        self._rate = None
        if limits.messages_per_second is not None:
            self._rate = RateLimit(limits.messages_per_second)
        self.sent = 0
        """Number of messages given to `send`, which is the row of the next one."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def layout(self, topic: str, proposal: Layout | None = None) -> Layout:
        """Return the queues to send to: the current ones, or those of `proposal`. An idempotent
        sender gets those of the first run of its epoch. Raises RouteError and SendError."""
        found = proposal or Layout(topic, self._connections.queues_to_write(topic))
        if not self._is_idempotent:
            return found
        return LayoutNotes(self._connections).pinned(self._origin, found)

    def send(self, message: OutgoingMessage, queue: MessageQueue) -> None:
        """Add one message; blocks while too many requests are in flight. Raises MessageError if the
        message can never be sent, and SendError if an earlier message was not stored."""
        row = self.sent
        check_body(message, self._limits.message_bytes_max, row)
        key = unique_key(self._key_prefix, self._origin.partition, row)
        properties = property_bytes(message, key, row)
        if self._rate is not None and (seconds := self._rate.take(time.monotonic())) > 0:
            time.sleep(seconds)
        for request in self._lane(queue).add(message, properties, row):
            self._submit(request)
        self.sent += 1

    @property
    def repeats(self) -> int:
        """How many of the acknowledged messages an earlier run had already stored."""
        return sum(window.repeats for window in self._windows.values())

    def flush(self) -> None:
        """Wait until all messages are acknowledged; raises SendError."""
        for lane in self._lanes.values():
            for request in lane.take():
                self._submit(request)
        for window in self._windows.values():
            window.flush()

    def close(self) -> None:
        """Close the connections. Messages that were not flushed may be stored or not."""
        self._connections.close()

    def _submit(self, request: BulkRequest) -> None:
        broker_name = request.lane.queue.broker_name
        window = self._windows.get(broker_name)
        if window is None:
            window = self._windows[broker_name] = BrokerWindow(
                self._connections, broker_name, self._limits.max_in_flight
            )
        window.send(request)

    def _lane(self, queue: MessageQueue) -> Lane:
        lane = self._lanes.get(queue)
        if lane is None:
            lane = self._lanes[queue] = Lane(
                queue, self._origin, self._limits.batch_bytes, is_idempotent=self._is_idempotent
            )
        return lane
