"""Writes the files that the examples show, by a real store on a disk in memory.

The store receives two messages and is stopped cleanly. Its files are small, as the settings below
say, and its clock stands still, so that the same bytes come out each time.
"""

from __future__ import annotations

import struct
from functools import cache
from itertools import count
from typing import Final

from gantrymq.store.engine import Store
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import record as codec
from gantrymq.wire.message import record_scan
from gantrymq.wire.message.record import Record

WALL_MS: Final = 1_700_000_000_123
BORN_MS: Final = 1_700_000_000_000
BORN_HOST: Final = bytes((10, 1, 2, 3)) + (54321).to_bytes(4, "big")
STORE_HOST: Final = bytes((192, 168, 0, 9)) + (10911).to_bytes(4, "big")
INDEX_NAME: Final = "20231114221320123"
SETTINGS: Final = StoreSettings(
    mapped_file_size_commit_log=4096,
    mapped_file_size_consume_queue=200,
    max_hash_slot_num=4,
    max_index_num=6,
)


def message(number: int) -> Record:
    """One of the two messages."""
    return Record(
        b"Orders",
        b"order %d" % number,
        properties=b"TAGS\x01paid\x02KEYS\x01k%d\x02" % number,
        queue_id=1,
        born_timestamp_ms=BORN_MS,
        born_host=BORN_HOST,
        store_host=STORE_HOST,
    )


def opened(disk: MemoryDisk | None = None) -> Store:
    """A store that is open, on this disk or on a new one."""
    disk = MemoryDisk() if disk is None else disk
    store = Store(
        disk,
        MemoryBackground(disk),
        SETTINGS,
        new_index_name=map(str, count(int(INDEX_NAME))).__next__,
        local_hour=lambda _: 12,
    )
    for _ in store.open(0.0):
        pass
    return store


@cache
def stopped_store() -> MemoryDisk:
    """The disk of the store after its clean stop."""
    disk = MemoryDisk()
    store = opened(disk)
    for number in range(2):
        store.put(message(number))
    store.close(1.0, WALL_MS)
    return disk


def content(path: str) -> bytes:
    """All of a file of the stopped store."""
    return content_on(stopped_store(), path)


def content_on(disk: MemoryDisk, path: str) -> bytes:
    """All of a file of this disk."""
    file = disk.open(path)
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def full_file() -> bytes:
    """The first file of a log that went on in a second file."""
    disk = MemoryDisk()
    store = opened(disk)
    while store.log.end < SETTINGS.mapped_file_size_commit_log:
        store.put(message(0))
        store.turn(0.0, WALL_MS)
    return content_on(disk, f"commitlog/{0:020d}")


def end_of_records(data: bytes) -> int:
    """Where the records of a log file end."""
    at = 0
    while at < len(data) and data[at + 4 : at + 8] != struct.pack(">i", record_scan.MAGIC_BLANK):
        at += codec.decode(data, at).size
    return at
