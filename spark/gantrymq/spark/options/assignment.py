"""Parses values by topic, broker and queue, which options write in JSON.

offsets      {"orders":{"broker-a":{"0":23,"1":-2}}}      -2 earliest, -1 latest
timestamps   {"orders":{"broker-a":{"0":1700000000000}}}   milliseconds since 1970
queues       {"orders":{"broker-a":[0,1]}}
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from gantrymq.spark.options.kinds import Kind

LATEST: Final = -1
EARLIEST: Final = -2
OFFSET_MAX: Final = (1 << 63) - 1
QUEUE_ID_MAX: Final = (1 << 31) - 1


class QueueKey(NamedTuple):
    """A queue by the name of its broker, which a change of master does not change."""

    topic: str
    broker_name: str
    queue_id: int

    def __str__(self) -> str:
        return f"{self.topic} {self.broker_name} {self.queue_id}"


QueueValues = Mapping[QueueKey, int]
"""An offset or a timestamp of each queue."""

OFFSET_WORDS: Final = ("earliest", "latest", "group")


def parse_offsets(text: str) -> str | QueueValues:
    """Return one of OFFSET_WORDS, or the offset of each named queue."""
    word = text.strip().lower()
    if word in OFFSET_WORDS:
        return word
    return _values(text, EARLIEST)


def parse_timestamps(text: str) -> QueueValues:
    return _values(text, 0)


def parse_queues(text: str) -> frozenset[QueueKey]:
    """Return the queues. Raises ValueError if it names none."""
    queues = []
    for topic, broker_name, ids in _brokers(text):
        if not isinstance(ids, list):
            raise ValueError(f"{topic}, {broker_name}: not a list of queue ids")  # noqa: TRY004 - as below
        queues += [QueueKey(topic, broker_name, _queue_id(each)) for each in ids]
    if not queues:
        raise ValueError("no queue is named")
    return frozenset(queues)


def _values(text: str, least: int) -> QueueValues:
    values = {}
    for topic, broker_name, queues in _brokers(text):
        if not isinstance(queues, dict):
            raise ValueError(f"{topic}, {broker_name}: not an object of queue ids")  # noqa: TRY004 - below
        for queue_id, value in queues.items():
            queue = QueueKey(topic, broker_name, _queue_id(queue_id))
            values[queue] = _whole(value, queue, least)
    if not values:
        raise ValueError("no queue is named")
    return values


def _brokers(text: str) -> Iterator[tuple[str, str, object]]:
    """Yield each topic and broker name with its value."""
    topics = json.loads(text)
    if not isinstance(topics, dict):
        raise ValueError("not an object of topics")  # noqa: TRY004 - the text is at fault
    for topic, brokers in topics.items():
        if not isinstance(brokers, dict):
            raise ValueError(f"{topic}: not an object of broker names")  # noqa: TRY004 - as above
        for broker_name, queues in brokers.items():
            yield topic, broker_name, queues


def _queue_id(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).isdecimal():
        raise ValueError(f"{value!r} is no queue id")
    number = int(value)
    if number > QUEUE_ID_MAX:
        raise ValueError(f"{value!r} is no queue id")
    return number


def _whole(value: object, queue: QueueKey, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= OFFSET_MAX:
        raise ValueError(f"{queue}: {value!r} is not a whole number from {least} on")
    return value


OFFSETS: Final = Kind(
    'earliest, latest, group, or JSON such as {"topic":{"broker":{"0":23,"1":-2}}}, where -2 is'
    " the earliest and -1 the latest offset",
    parse_offsets,
)
TIMESTAMPS: Final = Kind(
    'JSON of milliseconds since 1970, such as {"topic":{"broker":{"0":1700000000000}}}',
    parse_timestamps,
)
ASSIGNMENT: Final = Kind('JSON such as {"topic":{"broker":[0,1]}}', parse_queues)
