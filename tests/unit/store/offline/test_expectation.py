"""Tests which queue and index entries an inspection expects for a record."""

from __future__ import annotations

import pytest

from gantrymq.store.dispatch.deleted_topics import PATH, Deleted, encode
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.offline.expectation import Expectation, keys_of
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.java_string import hash_code

SIZES = IndexSizes(10, 20)


def entry(
    topic: bytes = b"T", keys: bytes = b"", unique_key: bytes = b"", flags: int = 0
) -> DispatchEntry:
    return DispatchEntry(
        topic, 3, 0, 0, 100, tags_code=0, unique_key=unique_key, keys=keys,
        store_timestamp_ms=1, sys_flag=flags,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "queue"), [(0, ("T", 3)), (8, ("T", 3)), (4, None), (12, None), (0x80, None)]
)
def test_half_messages_are_in_no_queue(flags: int, queue: tuple[str, int] | None) -> None:
    assert Expectation(MemoryDisk(), SIZES, {}).queue(entry(flags=flags)) == queue


def test_message_with_an_invalid_topic_is_in_no_queue() -> None:
    assert Expectation(MemoryDisk(), SIZES, {}).queue(entry(b"..")) is None


def test_message_of_a_deleted_topic_is_in_no_queue() -> None:
    disk = MemoryDisk()
    disk.make_folder("gantry")
    disk.create(PATH).write(0, [encode({"T": Deleted(1, 1)})])
    expectation = Expectation(disk, SIZES, {})
    assert expectation.queue(entry()) is None
    assert expectation.queue(entry(b"U")) == ("U", 3)


def test_the_unique_key_comes_first_and_keys_are_split_at_blanks() -> None:
    assert keys_of(entry(keys=b"a  b", unique_key=b"U 1")) == [b"U 1", b"a", b"b"]
    assert keys_of(entry()) == []


def test_hashes_are_those_of_the_index() -> None:
    expectation = Expectation(MemoryDisk(), SIZES, {})
    assert expectation.hashes(entry(keys=b"a")) == [abs(hash_code("T#a"))]
    assert expectation.hashes(entry(keys=b"a", flags=12)) == []
