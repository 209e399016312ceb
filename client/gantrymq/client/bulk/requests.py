"""Collects the messages of one queue into send requests, and numbers them in a producer session.

A session's id is `name/partition/topic/queue`. Each queue has its own numbering, so a broker sees
the numbers of a session without gaps, independently of other queues.
"""

from __future__ import annotations

from typing import Final, final

from gantrymq.client.bulk.outgoing import Origin, OutgoingMessage, part
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

SESSION_FIELD: Final = "gantrySession"
REPEATS_FIELD: Final = "gantryRepeats"

_DEFAULT_TOPIC: Final = "TBW102"


@final
class BulkRequest:
    """One send request: a batch, or one delayed message. It is the same for all attempts."""

    __slots__ = (
        "body",
        "count",
        "first",
        "first_row",
        "flag",
        "is_batch",
        "lane",
        "last_row",
        "properties",
        "was_tried",
    )

    def __init__(self, lane: Lane, body: bytes, *, is_batch: bool, rows: tuple[int, int]) -> None:
        self.lane: Lane = lane
        self.body: bytes = body
        self.is_batch: bool = is_batch
        self.first_row, self.last_row = rows
        self.first: int = 0
        """The number of its first message in the session."""
        self.count: int = 1
        self.flag: int = 0
        self.properties: str = ""
        self.was_tried: bool = False
        """Whether an earlier attempt may have reached the broker."""

    def command(self, group: str, born_ms: int) -> Command:
        """Encode the request for one attempt."""
        queue, lane = self.lane.queue, self.lane
        ext = {
            "a": group,
            "b": queue.topic,
            "c": _DEFAULT_TOPIC,
            "d": "4",
            "e": str(queue.queue_id),
            "f": "0",
            "g": str(born_ms),
            "h": str(self.flag),
            "i": self.properties,
            "j": "0",
            "k": "false",
            "m": "true" if self.is_batch else "false",
            "n": queue.broker_name,
        }
        if lane.session_id is not None:
            ext[SESSION_FIELD] = f"{lane.session_id}:{lane.epoch}:{self.first}"
        code = RequestCode.SEND_BATCH_MESSAGE if self.is_batch else RequestCode.SEND_MESSAGE_V2
        return Command(code, ext=ext, body=self.body)

    @property
    def text(self) -> str:
        """The rows and their queue, for error texts."""
        queue = self.lane.queue
        rows = f"row {self.first_row}"
        if self.count > 1:
            rows = f"rows {self.first_row} to {self.last_row} (those for this queue)"
        return f"{rows}, topic {queue.topic}, broker {queue.broker_name}, queue {queue.queue_id}"


@final
class Lane:
    """The messages of one queue in order, collected into requests."""

    __slots__ = (
        "_batch_bytes",
        "_count",
        "_first_row",
        "_last_row",
        "_parts",
        "_size",
        "epoch",
        "next_number",
        "queue",
        "session_id",
    )

    def __init__(
        self, queue: MessageQueue, origin: Origin, batch_bytes: int, *, is_idempotent: bool
    ) -> None:
        self.queue: MessageQueue = queue
        self.epoch: int = origin.epoch
        self.session_id: str | None = None
        if is_idempotent:
            self.session_id = session_id(origin, queue)
        self.next_number: int = 0
        self._batch_bytes: int = batch_bytes
        self._parts: list[bytes] = []
        self._size: int = 0
        self._first_row: int = 0
        self._last_row: int = 0

    def add(self, message: OutgoingMessage, properties: bytes, row: int) -> list[BulkRequest]:
        """Add one message; return the requests that are complete now."""
        if message.is_delayed:
            return [*self.take(), self._alone(message, properties, row)]
        data = part(message, properties)
        done = self.take() if self._size + len(data) > self._batch_bytes else []
        if not self._parts:
            self._first_row = row
        self._parts.append(data)
        self._size += len(data)
        self._last_row = row
        return done

    def take(self) -> list[BulkRequest]:
        """Return the collected messages as a request, if there are any."""
        if not self._parts:
            return []
        rows = self._first_row, self._last_row
        request = BulkRequest(self, b"".join(self._parts), is_batch=True, rows=rows)
        request.count = len(self._parts)
        self._parts, self._size = [], 0
        return [self._numbered(request)]

    def _alone(self, message: OutgoingMessage, properties: bytes, row: int) -> BulkRequest:
        request = BulkRequest(self, message.body, is_batch=False, rows=(row, row))
        request.flag, request.properties = message.flag, properties.decode()
        return self._numbered(request)

    def _numbered(self, request: BulkRequest) -> BulkRequest:
        request.first = self.next_number
        self.next_number += request.count
        return request


def session_id(origin: Origin, queue: MessageQueue) -> str:
    """Return the id of the producer session from this origin to the queue."""
    return f"{origin.name}/{origin.partition}/{queue.topic}/{queue.queue_id}"
