"""Encodes the offsets of a stream as Spark keeps them in its checkpoint.

    {"v":1,"q":{"orders":{"broker-a":{"0":123}}},"from":{"orders":{"broker-a":{"0":100}}},"lost":7}

    q      for each queue, the offset of the next message to read
    from   where the micro-batch that ends here begins, for queues that the offset before does not
           have: all of a first micro-batch, and those that are new or were truncated
    init   1: nothing was read yet; this is where the stream begins
    lost   the number of messages skipped so far because they were lost; left out if 0

Spark asks for the initial offset again if it restarts before the first micro-batch is done, and
keeps only the ends of micro-batches: `from` makes the replay of a micro-batch exact. Invariant:
equal offsets have equal texts, because Spark compares the texts. So keys are sorted, and
unnecessary parts are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self, final

from gantrymq.base.errors import GantryError
from gantrymq.spark.options.assignment import QueueKey

VERSION: Final = 1


class StreamOffsetError(GantryError):
    """A checkpoint has an offset that this version cannot read."""


@final
@dataclass(frozen=True, slots=True)
class StreamOffset:
    """One offset of a stream. The values are never changed after it is made."""

    positions: Mapping[QueueKey, int]
    bases: Mapping[QueueKey, int] = field(default_factory=dict)
    is_initial: bool = False
    lost: int = 0

    def base(self, start: StreamOffset) -> dict[QueueKey, int]:
        """Return where the micro-batch from `start` to here begins, for each of its queues.

        A queue without a beginning has not moved since it was seen first.
        """
        known = {**start.positions, **self.bases}
        return {queue: known.get(queue, end) for queue, end in self.positions.items()}

    # Any: the value of a JSON object
    def to_json(self) -> dict[str, Any]:
        """Return the JSON for Spark."""
        value: dict[str, Any] = {"v": VERSION, "q": _nested(self.positions)}
        if self.bases:
            value["from"] = _nested(self.bases)
        if self.is_initial:
            value["init"] = 1
        if self.lost:
            value["lost"] = self.lost
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Raises StreamOffsetError."""
        version = value.get("v")
        if version != VERSION:
            raise StreamOffsetError(
                f"the checkpoint has an offset of version {version}, and this version of gantrymq"
                f" reads version {VERSION}: use the version that wrote it, or a new checkpoint"
            )
        try:
            return cls(
                _flat(value["q"]),
                _flat(value.get("from", {})),
                bool(value.get("init", 0)),
                int(value.get("lost", 0)),
            )
        except (KeyError, ValueError, AttributeError) as error:
            raise StreamOffsetError(
                f"the checkpoint has an offset of another source ({error!r}): check that the"
                " checkpoint belongs to this query"
            ) from None


def _nested(values: Mapping[QueueKey, int]) -> dict[str, dict[str, dict[str, int]]]:
    nested: dict[str, dict[str, dict[str, int]]] = {}
    for queue, value in sorted(values.items()):
        brokers = nested.setdefault(queue.topic, {})
        brokers.setdefault(queue.broker_name, {})[str(queue.queue_id)] = value
    return nested


def _flat(nested: Mapping[str, Mapping[str, Mapping[str, int]]]) -> dict[QueueKey, int]:
    return {
        QueueKey(topic, broker_name, int(queue_id)): int(value)
        for topic, brokers in nested.items()
        for broker_name, queues in brokers.items()
        for queue_id, value in queues.items()
    }
