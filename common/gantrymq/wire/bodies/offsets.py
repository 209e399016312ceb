"""Defines the bodies that carry offsets of a reset and of a correction.

ResetOffsetBody            {"offsetTable":{QUEUE:9}}
for C++ clients            {"offsetTable":[{"brokerName":"b","offset":9,"queueId":1,"topic":"T"}]}
QueryCorrectionOffsetBody  {"correctionOffsets":{0:5}}
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Self

from gantrymq.base.lazy_dataclass import dataclass
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.jsonvalue import (
    Json,
    JsonObject,
    int_key,
    list_of,
    long_field,
    long_of,
    object_of,
)


@dataclass(frozen=True, slots=True)
class ResetOffsetBody:
    """The offsets at which a group continues in the queues of a topic."""

    offsets: Mapping[MessageQueue, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        """Parse either form."""
        table = object_of(value, "ResetOffsetBody").get("offsetTable")
        if isinstance(table, list):
            items = [object_of(item, "offsetTable") for item in list_of(table, "offsetTable")]
            return cls({MessageQueue.from_json(item): long_field(item, "offset") for item in items})
        members = object_of(table or {}, "offsetTable")
        return cls(
            {
                MessageQueue.from_key(key): long_of(offset, "offsetTable")
                for key, offset in members.items()
            }
        )

    def to_json(self) -> JsonObject:
        table: JsonObject = {queue.to_key(): offset for queue, offset in self.offsets.items()}
        return {"offsetTable": table}

    def to_json_for_cpp(self) -> JsonObject:
        items: list[Json] = [
            {
                "brokerName": queue.broker_name,
                "offset": offset,
                "queueId": queue.queue_id,
                "topic": queue.topic,
            }
            for queue, offset in self.offsets.items()
        ]
        return {"offsetTable": items}


@dataclass(frozen=True, slots=True)
class QueryCorrectionOffsetBody:
    """The lowest offset of a topic's groups, by queue."""

    offsets: Mapping[int, int] = field(default_factory=dict)

    @classmethod
    def from_json(cls, value: Json) -> Self:
        bean = object_of(value, "QueryCorrectionOffsetBody")
        table = object_of(bean.get("correctionOffsets") or {}, "correctionOffsets")
        return cls(
            {
                int_key(queue_id, "correctionOffsets"): long_of(offset, "correctionOffsets")
                for queue_id, offset in table.items()
            }
        )

    def to_json(self) -> JsonObject:
        table: JsonObject = dict(self.offsets.items())
        return {"correctionOffsets": table}
