"""Tests reads of stores that Java wrote: by pull, id, key and time, hot and cold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gantrymq.store.commitlog.commitlog import CommitLog
from gantrymq.store.consumequeue.queue_times import Boundary
from gantrymq.store.consumequeue.queues import Queues
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.index.index import Index
from gantrymq.store.index.index_file import IndexSizes
from gantrymq.store.read import lookups
from gantrymq.store.read.async_reader import run
from gantrymq.store.read.lookups import Bounds
from gantrymq.store.read.pull import pull
from gantrymq.store.read.pull_query import PullQuery, PullStatus
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.memory_background import MemoryBackground
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import offset_id
from gantrymq.wire.message.record import decode_all

HOST = b"\x7f\x00\x00\x01\x00\x00\x51\xaf"
EVER = (0, 1 << 60)
MEMORY_BYTES = 1 << 40

JavaStore = Callable[[str], MemoryDisk]
Contents = Callable[[str], dict[str, Any]]


class Store:
    """A clean store as it is read: no recovery is needed where another reader knows the end."""

    def __init__(self, disk: MemoryDisk, listed: dict[str, Any]) -> None:
        self.listed = listed
        self.messages = [each for each in listed["commitlog"] if each["topic"] != "<BLANK>"]
        self.settings = StoreSettings(mapped_file_size_commit_log=65_536)
        self.log = CommitLog(disk, MemoryBackground(disk), self.settings)
        self.log.load()
        last = self.messages[-1]
        self.log.resume(LogPosition(last["offset"] + last["size"], last["offset"]))
        self.queues = Queues(disk, 400)
        self.queues.load(0)
        self.index = Index(disk, IndexSizes(200, 100), lambda: "unused")
        self.index.load(is_clean=True, flushed_ms=0)
        self.readable = self.log.end


@pytest.fixture(params=[("5.3.3", False), ("5.3.3", True), ("4.9.8", False), ("4.9.8", True)])
def store(request: pytest.FixtureRequest, java_store: JavaStore, java_contents: Contents) -> Store:
    """A store of each version, with everything in memory and with nothing in memory."""
    version, is_cold = request.param
    disk = java_store(f"{version}-clean")
    disk.reads_cached = not is_cold
    return Store(disk, java_contents(f"{version}-clean"))


def bytes_at(store: Store, position: int, size: int) -> bytes:
    return store.log.segments.read(position, size)


def test_every_message_by_pull(store: Store) -> None:
    listing = store.listed["consumequeue_offset_phyOffset_size_tagsCode"]
    assert listing
    for name, units in listing.items():
        topic, _, queue_id = name.rpartition("/")
        offset, pulled = 0, b""
        while True:
            answer = run(pull(store, PullQuery(topic, int(queue_id), offset, 7), MEMORY_BYTES))
            if answer.status is not PullStatus.FOUND:
                break
            assert answer.count == min(7, len(units) - offset)
            pulled += b"".join(answer.chunks)
            offset = answer.next_offset
        assert answer.status is PullStatus.OFFSET_OVERFLOW_ONE
        assert (answer.minimum, answer.maximum) == (0, len(units))
        assert pulled == b"".join([bytes_at(store, each[1], each[2]) for each in units])
        assert [record.queue_offset for record in decode_all(pulled)] == list(range(len(units)))


def test_every_message_of_a_tag_by_pull(store: Store) -> None:
    listing = store.listed["consumequeue_offset_phyOffset_size_tagsCode"]
    for name, units in listing.items():
        topic, _, queue_id = name.rpartition("/")
        for code in {each[3] for each in units}:
            query = PullQuery(topic, int(queue_id), 0, 32, tags=frozenset({code}).__contains__)
            answer = run(pull(store, query, MEMORY_BYTES))
            expected = [each[0] for each in units if each[3] == code][:32]
            assert [each.queue_offset for each in decode_all(b"".join(answer.chunks))] == expected


def test_every_message_by_position_and_id(store: Store) -> None:
    for each in store.messages:
        message = run(lookups.message_by_id(store, offset_id.encode(HOST, each["offset"])))
        assert message is not None
        assert message.data == bytes_at(store, each["offset"], each["size"])
        assert message.record.topic.decode() == each["topic"]
        assert message.record.body.hex().startswith(each["bodyHex"])


def test_message_ids_from_java_find_the_messages(store: Store) -> None:
    for sent in store.listed.get("sent", []):
        for message_id in filter(None, sent.get("offsetMsgId", "").split(",")):
            assert run(lookups.message_by_id(store, message_id)) is not None


def test_every_message_by_key(store: Store) -> None:
    expected: dict[tuple[str, str], list[int]] = {}
    for each in store.messages:
        named = each["properties"]
        for key in {named.get("UNIQ_KEY", ""), *named.get("KEYS", "").split(" ")} - {""}:
            expected.setdefault((each["topic"], key), []).append(each["offset"])
    assert expected
    for (topic, key), offsets in expected.items():
        answer = run(lookups.messages_by_key(store, topic, key, 64, *EVER))
        found = [each.record.physical_offset for each in answer.messages]
        assert found == offsets[-64:]


def test_every_message_by_time(store: Store) -> None:
    times = {each["offset"]: each["storeTimestamp"] for each in store.messages}
    for name, units in store.listed["consumequeue_offset_phyOffset_size_tagsCode"].items():
        topic, queue_id = name.rpartition("/")[0], int(name.rpartition("/")[2])
        stored = [times[each[1]] for each in units]
        assert run(lookups.queue_bounds(store, topic, queue_id)) == Bounds(0, len(units))
        assert run(lookups.earliest_store_time(store, topic, queue_id)) == stored[0]
        for offset, stored_ms in enumerate(stored):
            assert run(lookups.store_time_of(store, topic, queue_id, offset)) == stored_ms
            for wanted in (stored_ms - 1, stored_ms, stored_ms + 1):
                lower, upper = (
                    run(lookups.offset_by_time(store, topic, queue_id, wanted, boundary))
                    for boundary in (Boundary.LOWER, Boundary.UPPER)
                )
                later = [n for n, time in enumerate(stored) if time >= wanted]
                earlier = [n for n, time in enumerate(stored) if time <= wanted]
                assert lower == min(later, default=len(units))
                assert upper == max(earlier, default=0)
    assert run(lookups.first_store_time(store)) == store.messages[0]["storeTimestamp"]
