"""Tests the index against stores that Java wrote: equal bytes and answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.index.index_flush import IndexFlush
from gantrymq.store.read.index_lookup import KeyQuery, find_offsets
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import properties, sys_flag
from gantrymq.wire.message.record import Record

SIZES = IndexSizes(slots=200, entries=100)
STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]
EVER = (0, 1 << 60)

JavaStore = Callable[[str], MemoryDisk]
Contents = Callable[[str], dict[str, Any]]
Records = Callable[[MemoryDisk], Iterator[Record]]


def keys_of(each: Record) -> tuple[bytes, bytes]:
    unique_key = properties.get(each.properties, "UNIQ_KEY") or ""
    return unique_key.encode(), (properties.get(each.properties, "KEYS") or "").encode()


def indexed(disk: MemoryDisk) -> dict[str, bytes]:
    return {
        entry.name: disk.open(f"index/{entry.name}").read(0, entry.size)
        for entry in disk.list("index")
    }


def dispatch(index: Index, records: Iterator[Record]) -> None:
    for each in records:
        if sys_flag.transaction_type(each.sys_flag) != sys_flag.TRANSACTION_ROLLBACK:
            index.put(each.topic, *keys_of(each), each.physical_offset, each.store_timestamp_ms)


@pytest.mark.parametrize("name", STORES)
def test_dispatch_of_a_java_log_creates_the_same_files(
    java_store: JavaStore, log_records: Records, name: str
) -> None:
    java = java_store(name)
    names = iter(indexed(java))
    ours = MemoryDisk()
    index = Index(ours, SIZES, lambda: next(names))
    index.load(is_clean=True, flushed_ms=0)
    dispatch(index, log_records(java))
    IndexFlush(index, MemoryBackground(ours), 0.0, LogPosition()).flush(LogPosition(1 << 60))
    assert indexed(ours) == indexed(java)
    assert not index.unsafe()


@pytest.mark.parametrize("version", ["5.3.3", "4.9.8"])
def test_every_key_of_a_java_index_leads_to_its_records(
    java_store: JavaStore, log_records: Records, version: str
) -> None:
    disk = java_store(f"{version}-clean")
    index = Index(disk, SIZES, lambda: "unused")
    index.load(is_clean=True, flushed_ms=0)
    expected: dict[tuple[bytes, bytes], set[int]] = {}
    for each in log_records(disk):
        unique_key, keys = keys_of(each)
        for key in filter(None, {unique_key, *keys.split(b" ")}):
            expected.setdefault((each.topic, key), set()).add(each.physical_offset)
    assert expected
    for (topic, key), offsets in expected.items():
        query = KeyQuery(index.key_hash(topic, key), 1000, *EVER)
        assert set(find_offsets(index, query)) == offsets


@pytest.mark.parametrize("version", ["5.3.3", "4.9.8"])
def test_the_headers_of_java_files_are_read_as_listed(
    java_store: JavaStore, java_contents: Contents, version: str
) -> None:
    index = Index(java_store(f"{version}-clean"), SIZES, lambda: "unused")
    index.load(is_clean=True, flushed_ms=0)
    names = {
        "file": "name",
        "beginTimestamp": "begin_ms",
        "endTimestamp": "end_ms",
        "beginPhyOffset": "begin_offset",
        "endPhyOffset": "end_offset",
        "hashSlotCount": "used_slots",
        "indexCount": "count",
    }
    for listed, file in zip(java_contents(f"{version}-clean")["index"], index.files, strict=True):
        assert {key: listed[key] for key in names} == {
            key: getattr(file, name) for key, name in names.items()
        }


@pytest.mark.parametrize("stops", [[0], [5000], [11_400, 30_000, 60_000], [1 << 40]])
def test_restarts_during_dispatch_do_not_change_the_files(
    java_store: JavaStore, log_records: Records, stops: list[int]
) -> None:
    java = java_store("5.3.3-clean")
    names = iter(indexed(java))
    ours = MemoryDisk()
    done = -1
    for stop in [*stops, 1 << 50]:
        index = Index(ours, SIZES, lambda: next(names))
        index.load(is_clean=True, flushed_ms=0)
        part = [each for each in log_records(java) if done < each.physical_offset < stop]
        dispatch(index, iter(part))
        done = part[-1].physical_offset if part else done
        IndexFlush(index, MemoryBackground(ours), 0.0, LogPosition()).flush(LogPosition(1 << 60))
    assert indexed(ours) == indexed(java)
