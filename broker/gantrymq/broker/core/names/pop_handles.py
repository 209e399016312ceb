"""Encodes receipt handles, the lists in a pop's answer, and names of retry topics.

    handle          startOffset popTime invisibleTime reviveQueue kind broker queueId [offset]
    startOffsetInfo kind queueId startOffset             ;-separated, one for each queue
    msgOffsetInfo   kind queueId offset,offset,...
    orderCountInfo  kind qo<queueId>%<offset> count      and: kind queueId count
    kind            0 the topic itself, 1 %RETRY%group_topic, 2 %RETRY%group+topic

A client makes handles from the lists, and sends one back with each acknowledgement. Pop time and
offset together distinguish an in-flight message from an earlier delivery of it. Java distributes
its revive messages by the revive queue; here it only says whether the messages were popped in
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX
from gantrymq.wire.header_fields import parse_int32, parse_int64

TOPIC: Final = "0"
RETRY: Final = "1"
RETRY_V2: Final = "2"

PLAIN_QUEUE: Final = 0
ORDERLY_QUEUE: Final = 999

_PARTS_MIN: Final = 4


@final
@dataclass(frozen=True, slots=True)
class Handle:
    """The fields of a client's handle that the broker uses."""

    pop_ms: int
    revive_queue: int

    @property
    def is_orderly(self) -> bool:
        return self.revive_queue == ORDERLY_QUEUE


def parse(text: str) -> Handle:
    """Parse a handle. Raises RemoteError for an invalid one."""
    parts = text.split(" ")
    if len(parts) < _PARTS_MIN:
        raise RemoteError(f"extraInfo is no receipt handle: it has {len(parts)} parts")
    try:
        return Handle(parse_int64(parts[1]), parse_int32(parts[3]))
    except ValueError as error:
        raise RemoteError(f"extraInfo is no receipt handle: it {error}") from None


def handle(
    place: tuple[str, int], start: int, times_ms: tuple[int, int], broker: str, offset: int
) -> str:
    """The handle of a message from a retry topic, which is returned under its original topic.

    `times_ms` has the pop time and the invisible time.
    """
    topic, queue_id = place
    pop_ms, invisible_ms = times_ms
    kind = kind_of(topic)
    return f"{start} {pop_ms} {invisible_ms} {PLAIN_QUEUE} {kind} {broker} {queue_id} {offset}"


def start_info(topic: str, queue_id: int, start: int) -> str:
    return f"{kind_of(topic)} {queue_id} {start}"


def offsets_info(topic: str, queue_id: int, offsets: Sequence[int]) -> str:
    return f"{kind_of(topic)} {queue_id} {','.join(map(str, offsets))}"


def count_info(topic: str, queue_id: int, count: int, offset: int | None = None) -> str:
    """A count of earlier deliveries: of one message, or without an offset the lowest of the queue's
    batch."""
    key = str(queue_id) if offset is None else f"qo{queue_id}%{offset}"
    return f"{kind_of(topic)} {key} {count}"


# ---------------------------------------------------------------------- retry topics


def retry_topic(group: str, topic: str) -> str:
    """The topic where the group gets messages of `topic` again, in 5.x's default form."""
    return f"{RETRY_PREFIX}{group}_{topic}"


def kind_of(topic: str) -> str:
    return RETRY if topic.startswith(RETRY_PREFIX) else TOPIC


def topic_of(kind: str, group: str, topic: str) -> str:
    """The topic where the message is stored. Raises RemoteError for an unknown kind."""
    if kind == TOPIC:
        return topic
    if kind == RETRY:
        return retry_topic(group, topic)
    if kind == RETRY_V2:
        return f"{RETRY_PREFIX}{group}+{topic}"
    raise RemoteError(f"retry is {kind!r}: 0, 1 or 2 is known")
