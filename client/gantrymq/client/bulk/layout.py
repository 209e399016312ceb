"""Defines the layout of a topic: the queues over which its messages are spread."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import final
from zlib import crc32

from gantrymq.base.errors import RemoteError
from gantrymq.wire.bodies.shared import MessageQueue


@final
@dataclass(frozen=True, slots=True)
class Layout:
    """The queues of one topic, sorted. Invariant: the same layout and key give the same queue."""

    topic: str
    queues: Sequence[MessageQueue]

    @property
    def broker_names(self) -> list[str]:
        return sorted({queue.broker_name for queue in self.queues})

    def by_key(self, key: bytes) -> MessageQueue:
        """Return the queue for messages with this sharding key."""
        return self.queues[crc32(key) % len(self.queues)]

    def by_number(self, number: int) -> MessageQueue:
        return self.queues[number % len(self.queues)]

    def find(self, queue_id: int, broker_name: str | None = None) -> MessageQueue | None:
        """Return the queue with this id: on this broker if named, else on the first that has it."""
        for queue in self.queues:
            if queue.queue_id == queue_id and broker_name in {None, queue.broker_name}:
                return queue
        return None

    def encode(self) -> bytes:
        """Encode for a note; see `notes`."""
        queues: dict[str, list[int]] = {}
        for queue in self.queues:
            queues.setdefault(queue.broker_name, []).append(queue.queue_id)
        return json.dumps({"v": 1, "q": queues}, sort_keys=True).encode()

    @staticmethod
    def decode(topic: str, data: bytes) -> Layout:
        """Decode a note; raises RemoteError if it is not a layout."""
        try:
            queues = json.loads(data)["q"]
            found = [
                MessageQueue(topic, name, int(each)) for name in queues for each in queues[name]
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise RemoteError(f"the note {data[:80]!r} is no layout of queues") from error
        return Layout(topic, sorted(found))
