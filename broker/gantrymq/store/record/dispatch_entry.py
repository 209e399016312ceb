"""Defines what dispatch needs of one record: a unit for its queue, keys for the index.

    tags code    Java's hash of TAGS, sign-extended, 0 without one; a record of SCHEDULE_TOPIC_XXXX
                 with a DELAY level has the time in ms at which it is due instead
    unique key   UNIQ_KEY, and keys KEYS, as stored: index.py splits and hashes them
    session      GANTRY_SESSION, the place in a producer session (sessions/table.py)

Records of prepared and rolled back transactions have no unit; rolled back ones have no keys either.
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

from gantrymq.store.index.index import extend_hash
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.property_scan import PropertyScan
from gantrymq.wire.message import sys_flag
from gantrymq.wire.message.record import Record

SCHEDULE_TOPIC: Final = b"SCHEDULE_TOPIC_XXXX"

_LEVEL_DIGITS_MAX: Final = 10  # of an int32

_TRANSACTION_MASK: Final = 0xC
_COMMIT: Final = 0x8
_ROLLBACK: Final = 0xC


@final
class DispatchEntry:
    """The dispatch data of one record, treated as immutable.

    Created on the hot path, hence slotted rather than a frozen dataclass.
    """

    __slots__ = (
        "keys",
        "physical_offset",
        "queue_id",
        "queue_offset",
        "session",
        "size",
        "store_timestamp_ms",
        "sys_flag",
        "tags_code",
        "topic",
        "unique_key",
    )

    def __init__(
        self,
        topic: bytes,
        queue_id: i64,
        queue_offset: i64,
        physical_offset: i64,
        size: i64,
        *,
        tags_code: i64,
        unique_key: bytes,
        keys: bytes,
        store_timestamp_ms: i64,
        sys_flag: i64,
        session: bytes = b"",
    ) -> None:
        self.topic: bytes = topic
        self.queue_id: i64 = queue_id
        self.queue_offset: i64 = queue_offset
        self.physical_offset: i64 = physical_offset
        self.size: i64 = size
        self.tags_code: i64 = tags_code
        self.unique_key: bytes = unique_key
        self.keys: bytes = keys
        self.store_timestamp_ms: i64 = store_timestamp_ms
        self.sys_flag: i64 = sys_flag
        self.session: bytes = session

    @property
    def has_unit(self) -> bool:
        """Whether consumers see the record."""
        kind = self.sys_flag & _TRANSACTION_MASK
        return kind == 0 or kind == _COMMIT  # noqa: PLR1714 - quicker than building a set

    @property
    def has_keys(self) -> bool:
        """Whether the index has the record."""
        return (self.sys_flag & _TRANSACTION_MASK) != _ROLLBACK


def of_record(record: Record, scan: PropertyScan, levels: DelayLevels) -> DispatchEntry:
    """The entry of a record that has its position; `scan` is overwritten."""
    topic = record.topic
    store_ms = i64(record.store_timestamp_ms)
    flags = sys_flag.with_hosts(record.sys_flag, record.born_host, record.store_host)
    scan.read(record.properties, 0, len(record.properties))
    return DispatchEntry(
        topic,
        i64(record.queue_id),
        i64(record.queue_offset),
        i64(record.physical_offset),
        i64(record.size),
        tags_code=tags_code(topic, scan, store_ms, levels),
        unique_key=scan.unique_key,
        keys=scan.keys,
        store_timestamp_ms=store_ms,
        sys_flag=i64(flags),
        session=scan.session,
    )


def tags_code(
    topic: bytes, scan: PropertyScan, store_timestamp_ms: i64, levels: DelayLevels
) -> i64:
    """The tags code in the queue's unit."""
    delay = scan.delay
    if delay and topic == SCHEDULE_TOPIC and len(delay) <= _LEVEL_DIGITS_MAX and delay.isdigit():
        return i64(levels.delivery_ms(int(delay), int(store_timestamp_ms)))
    return tag_hash(scan.tags)


def tag_hash(tags: bytes) -> i64:
    """The tags code of a message that is not delayed."""
    if not tags:
        return 0
    code = extend_hash(0, tags)
    return code if code < 0x80000000 else code - 0x100000000
