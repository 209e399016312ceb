"""Tests that the quick reader of entries agrees with the walk that decodes records."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.store.commitlog.arena import Arena
from gantrymq.store.commitlog.log_entries import EntryReader
from gantrymq.store.layout import POSITION_MAX
from gantrymq.store.record.delay_levels import DelayLevels
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.record.walk import Found, LogItem, walk
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import properties, tags
from gantrymq.wire.message.record import Record
from gantrymq.wire.message.record_scan import encode_blank

V4 = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"
V6 = bytes(16) + b"\x00\x00\x2a\x9f"
FILE_BYTES = 2000
LEVELS = DelayLevels("1s 5s")

NAMES = st.sampled_from([b"TAGS", b"KEYS", b"UNIQ_KEY", b"DELAY", b"a", b"xTAGS", b""])
VALUES = st.sampled_from(
    [b"", b"1", b"2", b"3", b"k1 k2", "é\U0001f600".encode(), b"\xff", b"a\x01b"]
)
PROPERTIES = st.builds(
    lambda pairs, cut: b"".join([n + b"\x01" + v + b"\x02" for n, v in pairs])[
        : -1 if cut else None
    ],
    st.lists(st.tuples(NAMES, VALUES), max_size=4),
    st.booleans(),
)
RECORDS = st.builds(
    Record,
    st.sampled_from([b"T", b"SCHEDULE_TOPIC_XXXX", b"t" * 127, b"%RETRY%" + b"g" * 200, b"T\0"]),
    st.binary(max_size=40),
    properties=PROPERTIES | st.binary(max_size=20) | st.just(bytes(600)),
    queue_id=st.integers(-(1 << 31), (1 << 31) - 1),
    queue_offset=st.integers(-(1 << 63), (1 << 63) - 1),
    sys_flag=st.integers(-(1 << 31), (1 << 31) - 1),
    born_host=st.sampled_from([V4, V6]),
    store_host=st.sampled_from([V4, V6]),
)


def log(records: list[Record], start: int) -> bytes:
    """The bytes up to the end of the first file."""
    arena = Arena(start, FILE_BYTES, 1_700_000_000_000)
    for record in records:
        arena.add(record)
    runs = arena.runs()
    return runs[0].data if runs else b""


def expected(record: Record, size: int) -> dict[str, object]:
    """The entry that the general codec makes of the record."""
    found = properties.parse(record.properties)
    code = tags.tags_code(found.get("TAGS"))
    if record.topic == b"SCHEDULE_TOPIC_XXXX" and found.get("DELAY", "") in {"1", "2", "3"}:
        code = LEVELS.delivery_ms(int(found["DELAY"]), record.store_timestamp_ms)
    return {
        "topic": record.topic,
        "queue_id": record.queue_id,
        "queue_offset": record.queue_offset,
        "physical_offset": record.physical_offset,
        "size": size,
        "tags_code": code,
        "store_timestamp_ms": record.store_timestamp_ms,
        "sys_flag": record.sys_flag,
        "has_unit": record.sys_flag & 0xC in {0, 8},
        "has_keys": record.sys_flag & 0xC != 0xC,
    }


def texts(entry: DispatchEntry) -> tuple[str, str]:
    return entry.unique_key.decode("utf-8", "replace"), entry.keys.decode("utf-8", "replace")


def assert_same(
    data: bytes, start: int, flushed: int = POSITION_MAX, *, verify_body: bool = True
) -> LogItem | None:
    """Compare both readers item by item; return the last item if it is no record."""
    reader = EntryReader(FILE_BYTES, LEVELS, verify_body=verify_body)
    entries = reader.read(data, start, flushed=flushed)
    items = list(walk(data, start, FILE_BYTES, flushed=flushed, verify_body=verify_body))
    records = [(item.record, item.size) for item in items if item.record is not None]
    last = items[-1] if items and items[-1].record is None else None
    assert len(entries.found) == len(records)
    for entry, (record, size) in zip(entries.found, records, strict=True):
        wanted = expected(record, size)
        assert {name: getattr(entry, name) for name in wanted} == wanted
        found = properties.parse(record.properties)
        assert texts(entry) == (found.get("UNIQ_KEY", ""), found.get("KEYS", ""))
    assert entries.stop == last
    assert entries.end == start + sum(size for _, size in records)
    return last


@given(st.lists(RECORDS, max_size=4), st.booleans())
def test_entries_equal_those_of_the_walk(records: list[Record], marked: bool) -> None:
    data = log(records, 2 * FILE_BYTES)
    assert_same(data, 2 * FILE_BYTES, 2 * FILE_BYTES if marked else POSITION_MAX)


@given(RECORDS, RECORDS, st.integers(0, 20_000), st.integers(1, 255), st.booleans())
def test_any_damage_is_judged_like_by_the_walk(
    first: Record, second: Record, at: int, change: int, verify_body: bool
) -> None:
    data = bytearray(log([first, second], FILE_BYTES))
    data[at % len(data)] ^= change
    assert_same(bytes(data), FILE_BYTES, verify_body=verify_body)
    assert_same(bytes(data[: at % len(data)]), FILE_BYTES, verify_body=verify_body)


@given(st.lists(RECORDS, min_size=1, max_size=3), st.integers(-400, 400))
def test_no_record_passes_the_end_of_its_file(records: list[Record], shift: int) -> None:
    assert_same(log(records, 0), FILE_BYTES + shift)


@pytest.mark.parametrize("value", [-(1 << 31), -1, 0, 90, 91, 200, 0x7FFF, 0x7FFFFFFF, 0x01FF0000])
@pytest.mark.parametrize("width", [1, 2, 4])
def test_wrong_lengths_are_judged_like_by_the_walk(value: int, width: int) -> None:
    for topic in (b"TTT", b"T" * 128):
        record = Record(topic, b"body", properties=b"a\x01b", born_host=V4, store_host=V4)
        data = log([record], 0)
        lie = (value & (1 << 8 * width) - 1).to_bytes(width, "big")
        for at in range(len(data) - width + 1):
            assert_same(data[:at] + lie + data[at + width :], 0, verify_body=False)


def test_a_length_byte_of_more_than_127_is_negative() -> None:
    good = log([Record(b"T" * 127, b"x", born_host=V4, store_host=V4)], 0)
    longer = good[:-2] + b"T" + good[-2:]
    lying = (len(longer)).to_bytes(4, "big") + longer[4:89] + b"\x80" + longer[90:]
    last = assert_same(lying, 0)
    assert last is not None
    assert "-128" in last.reason


def test_blank_or_torn_record_ends_the_read() -> None:
    record = Record(b"T", b"x", born_host=V4, store_host=V4)
    data = log([record], 0)
    blank = assert_same(data + encode_blank(FILE_BYTES - len(data)) + b"rest", 0)
    assert blank is not None
    assert blank.found is Found.BLANK
    more = assert_same(data + data[:50], 0)
    assert more is not None
    assert more.found is Found.MORE


JavaStore = Callable[[str], MemoryDisk]


@pytest.mark.parametrize("version", ["4.9.8", "5.3.3"])
@pytest.mark.parametrize("state", ["clean", "crashed"])
def test_java_stores_are_read_like_by_the_walk(
    java_store: JavaStore, version: str, state: str
) -> None:
    disk = java_store(f"{version}-{state}")
    for name, data in _log_files(disk):
        reader = EntryReader(len(data), LEVELS)
        entries = reader.read(data, int(name))
        items = list(walk(data, int(name), len(data)))
        assert [entry.physical_offset for entry in entries.found] == [
            item.position for item in items if item.record is not None
        ]
        assert entries.stop == (None if items[-1].record else items[-1])


def _log_files(disk: MemoryDisk) -> Iterator[tuple[str, bytes]]:
    for entry in disk.list("commitlog"):
        yield entry.name, disk.open(f"commitlog/{entry.name}").read(0, entry.size)


def test_wrong_body_above_the_flush_position_is_rejected() -> None:
    data = bytearray(log([Record(b"T", b"body", born_host=V4, store_host=V4)], 0))
    data[88] ^= 1
    reader = EntryReader(FILE_BYTES, LEVELS, verify_body=False)
    assert len(reader.read(bytes(data), 0, flushed=len(data)).found) == 1
    assert not reader.read(bytes(data), 0, flushed=len(data) - 1).found
