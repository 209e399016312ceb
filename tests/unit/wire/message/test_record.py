"""Tests records: Java's bytes in both directions, records of four real stores, and damage."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import TypedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import CorruptionError, LocalError
from gantrymq.wire import hosts
from gantrymq.wire.message import compression, offset_id, properties, record, record_scan
from gantrymq.wire.message.record import Record, Unfit
from gantrymq.wire.message.record_scan import Sight

VECTORS = Path(__file__).parents[3] / "vectors"
MESSAGES = {
    item["name"]: item for item in json.loads((VECTORS / "messages-5.3.3.json").read_text())
}
DECODED = [name for name, item in MESSAGES.items() if "decoded" in item]
ENCODED = [name for name in MESSAGES if name.startswith("MessageExtEncoder")]
STORES = ["5.3.3-clean", "5.3.3-crashed", "4.9.8-clean", "4.9.8-crashed"]
LOG_FILE_BYTES = 65536  # how the stores were configured


def vector(name: str) -> bytes:
    return bytes.fromhex(MESSAGES[name]["hex"])


def log_files(store: str) -> dict[int, bytes]:
    """Start offset -> bytes of each commit log file of a store."""
    files = {}
    with tarfile.open(VECTORS / f"store-{store}.tar.gz") as archive:
        for member in archive.getmembers():
            if "/commitlog/" in member.name:
                content = archive.extractfile(member)
                assert content is not None
                files[int(member.name.rpartition("/")[2])] = content.read()
    return dict(sorted(files.items()))


class Stored(TypedDict):
    """The values that contents.json has of a record, as far as tests compare them."""

    topic: str
    queueId: int
    queueOffset: int
    offset: int
    size: int
    flag: int
    sysFlag: int
    bornTimestamp: int
    storeTimestamp: int
    reconsumeTimes: int
    preparedTransactionOffset: int
    bodyLen: int
    properties: dict[str, str]


def stored(found: Record) -> Stored:
    return Stored(
        topic=found.topic.decode(),
        queueId=found.queue_id,
        queueOffset=found.queue_offset,
        offset=found.physical_offset,
        size=found.size,
        flag=found.flag,
        sysFlag=found.sys_flag,
        bornTimestamp=found.born_timestamp_ms,
        storeTimestamp=found.store_timestamp_ms,
        reconsumeTimes=found.reconsume_times,
        preparedTransactionOffset=found.prepared_transaction_offset,
        bodyLen=len(found.body),
        properties=properties.parse(found.properties),
    )


def log_records(store: str) -> list[tuple[bytes, Record]]:
    """Each record of a store with the bytes it was decoded from, found by scanning."""
    found = []
    for content in log_files(store).values():
        position = 0
        while True:
            sight, size = record_scan.scan(content, position, len(content))
            if sight is not Sight.RECORD:
                assert sight is Sight.NOTHING or size == len(content) - position
                break
            found.append((content[position : position + size], record.decode(content, position)))
            position += size
    return found


packed_hosts = st.binary(min_size=8, max_size=8) | st.binary(min_size=20, max_size=20)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
records = st.builds(
    Record,
    topic=st.binary(max_size=255),
    body=st.binary(max_size=64),
    properties=st.binary(max_size=64),
    queue_id=int32,
    flag=int32,
    queue_offset=int64,
    physical_offset=int64,
    sys_flag=int32,
    born_timestamp_ms=int64,
    born_host=packed_hosts,
    store_timestamp_ms=int64,
    store_host=packed_hosts,
    reconsume_times=int32,
    prepared_transaction_offset=int64,
)


def small(topic: bytes = b"T", body: bytes = b"body", properties: bytes = b"a\x01b\x02") -> Record:
    host = hosts.parse("10.1.2.3:54321")
    return Record(topic, body, properties=properties, born_host=host, store_host=host)


@pytest.mark.parametrize("name", DECODED)
def test_decodes_what_java_encoded(name: str) -> None:
    item = MESSAGES[name]
    said = item["decoded"]
    found = record.decode(vector(name))
    assert found.topic.decode() == said["topic"]
    assert found.queue_id == said["queueId"]
    assert found.flag == said["flag"]
    assert found.queue_offset == said["queueOffset"]
    assert found.physical_offset == said["physicOffset"]
    assert found.sys_flag == item.get("sysFlagStored", said["sysFlag"])
    assert found.born_timestamp_ms == said["bornTimestamp"]
    assert hosts.java_text(found.born_host) == said["bornHost"]
    assert found.store_timestamp_ms == said["storeTimestamp"]
    assert hosts.java_text(found.store_host) == said["storeHost"]
    assert found.reconsume_times == said["reconsumeTimes"]
    assert found.prepared_transaction_offset == said["preparedTransactionOffset"]
    assert record.body_crc(found.body) == said["bodyCRC"]
    assert properties.parse(found.properties) == said["properties"]
    assert offset_id.encode(found.store_host, found.physical_offset) == said["msgId"]
    kind = compression.of(found.sys_flag)
    body = compression.decompress(kind, found.body, 4096) if kind else found.body
    assert body.hex() == said["bodyHex"]


@pytest.mark.parametrize("name", DECODED + ENCODED)
def test_encodes_to_javas_bytes(name: str) -> None:
    data = vector(name)
    found = record.decode(data)
    assert record.encode(found) == data
    assert found.size == len(data)


def test_a_long_topic_takes_version_2() -> None:
    v1, v2 = (record.decode(vector(name)) for name in ENCODED)
    assert (v1.version, v2.version) == (1, 2)
    assert v2.topic.decode() == MESSAGES[ENCODED[1]]["topic"]
    assert small(topic=b"t" * 127).version == 1
    assert small(topic=b"t" * 128).version == 2


@pytest.mark.parametrize("store", STORES)
def test_every_stored_record_encodes_to_the_bytes_it_came_from(store: str) -> None:
    found = log_records(store)
    assert len(found) > 30
    for data, item in found:
        assert record.encode(item) == data


@pytest.mark.parametrize("version", ["5.3.3", "4.9.8"])
def test_stores_hold_the_records_that_their_lists_name(version: str) -> None:
    listed = json.loads((VECTORS / f"store-{version}-clean.contents.json").read_text())["commitlog"]
    found = [stored(item) for _, item in log_records(f"{version}-clean")]
    wanted = [
        {key: item[key] for key in Stored.__annotations__} for item in listed if "queueId" in item
    ]
    assert found == wanted


def test_scan_distinguishes_records_blanks_torn_tails_and_no_record() -> None:
    data = record.encode(small())
    size = len(data)
    assert record_scan.scan(data + b"more", 0, size) == (Sight.RECORD, size)
    assert record_scan.scan(b"front" + data, 5, 5 + size) == (Sight.RECORD, size)
    assert record_scan.scan(data, 0, size - 1) == (Sight.TORN, size)
    assert record_scan.scan(data, 0, 7) == (Sight.TORN, 8)
    assert record_scan.scan(record_scan.encode_blank(500), 0, 8) == (Sight.BLANK, 500)
    assert record_scan.scan(bytes(100), 0, 100) == (Sight.NOTHING, 0)
    assert record_scan.scan(b"\x00\x00\x00\x5a" + data[4:], 0, size) == (Sight.NOTHING, 0)
    assert record_scan.scan(b"\xff" + data[1:], 0, size) == (Sight.NOTHING, 0)


def test_scan_finds_the_blank_that_java_wrote() -> None:
    first = log_files("5.3.3-clean")[0]
    contents = json.loads((VECTORS / "store-5.3.3-clean.contents.json").read_text())
    blank = next(item for item in contents["commitlog"] if "queueId" not in item)
    position, size = blank["offset"], LOG_FILE_BYTES - blank["offset"]
    assert record_scan.scan(first, position, len(first)) == (Sight.BLANK, size)
    assert first[position : position + 8] == record_scan.encode_blank(size)


def test_a_blank_needs_eight_bytes() -> None:
    assert record_scan.encode_blank(8).hex() == "00000008cbd43194"
    with pytest.raises(LocalError, match="8 bytes"):
        record_scan.encode_blank(7)


@given(records)
def test_encoded_record_is_decoded_back(item: Record) -> None:
    data = record.encode(item)
    found = record.decode(b"xx" + data + b"yy", 2)
    assert len(data) == item.size
    item.sys_flag = found.sys_flag  # its host bits follow the hosts
    assert found == item
    assert record.encode(found) == data


@given(records)
def test_host_bits_follow_the_hosts(item: Record) -> None:
    found = record.decode(record.encode(item))
    assert found.sys_flag & ~0x30 == item.sys_flag & ~0x30
    assert bool(found.sys_flag & 0x10) == (len(item.born_host) == 20)
    assert bool(found.sys_flag & 0x20) == (len(item.store_host) == 20)


@pytest.mark.parametrize("name", DECODED[:2] + ENCODED)
def test_a_record_cut_anywhere_is_corrupt(name: str) -> None:
    data = vector(name)
    for cut in range(len(data)):
        with pytest.raises(CorruptionError):
            record.decode(data[:cut])


@pytest.mark.parametrize("name", DECODED[:2] + ENCODED)
def test_damage_is_detected_or_survives_the_round_trip(name: str) -> None:
    data = vector(name)
    refused = 0
    for position in range(len(data)):
        for flip in (0x01, 0x10, 0x80, 0xFF):
            damaged = bytearray(data)
            damaged[position] ^= flip
            try:
                found = record.decode(bytes(damaged) + bytes(600))
            except CorruptionError:
                refused += 1
            else:
                assert record.encode(found) == damaged
    assert refused >= 4 * (4 + 4 + 4 + 4)  # size, magic, CRC and body length never pass


@given(st.binary(max_size=300), st.integers(-5, 300))
def test_random_bytes_are_corrupt(data: bytes, position: int) -> None:
    framed = len(data).to_bytes(4, "big") + vector(DECODED[0])[4:8] + data[8:]
    for candidate in (data, framed):
        try:
            found = record.decode(candidate, position)
        except CorruptionError:
            continue
        assert record.encode(found) == candidate[position : position + found.size]


def test_a_wrong_body_passes_only_unverified() -> None:
    data = bytearray(record.encode(small(body=b"body")))
    data[data.index(b"body")] ^= 1
    with pytest.raises(CorruptionError, match="CRC"):
        record.decode(bytes(data))
    assert record.decode(bytes(data), verify_body=False).body == b"cody"


def test_a_size_that_is_not_the_sum_of_its_parts_is_corrupt() -> None:
    data = record.encode(small())
    longer = (len(data) + 1).to_bytes(4, "big") + data[4:] + b"\x00"
    with pytest.raises(CorruptionError, match=f"add up to {len(data)}"):
        record.decode(longer)


def test_pull_bodies_decode_whole() -> None:
    items = [small(body=b"1"), small(topic=b"t" * 200), small(properties=b"")]
    body = b"".join(record.encode(item) for item in items)
    assert record.decode_all(body) == items
    assert record.decode_all(b"") == []
    with pytest.raises(CorruptionError):
        record.decode_all(body + b"\x00")


def test_values_without_room_are_refused_with_the_reason() -> None:
    assert record.refusal(255, 32767) is None
    topic = record.refusal(256, 0)
    properties = record.refusal(5, 32768)
    assert topic is not None
    assert properties is not None
    assert topic.cause is Unfit.TOPIC_TOO_LONG
    assert "256 bytes, at most 255" in topic.text
    assert properties.cause is Unfit.PROPERTIES_TOO_LONG
    assert "32768 bytes, at most 32767" in properties.text


@pytest.mark.parametrize(
    "item",
    [
        small(topic=b"t" * 256),
        small(properties=b"p" * 32768),
        Record(b"t" * 128, b"", born_host=bytes(8), store_host=bytes(8), version=1),
        Record(b"t", b"", born_host=bytes(7), store_host=bytes(8)),
        Record(b"t", b"", born_host=bytes(8), store_host=bytes(8), queue_id=2**31),
    ],
)
def test_impossible_record_is_a_programming_error(item: Record) -> None:
    with pytest.raises(LocalError):
        record.encode(item)


def test_crc_property_has_javas_bytes() -> None:
    assert record.crc_property(123456789).hex() == MESSAGES[list(MESSAGES)[-1]]["hex"]


@given(records)
def test_crc_property_finds_any_damage(item: Record) -> None:
    data = record.encode(item, append_crc=True)
    assert record.crc_property_holds(b"x" + data + b"x", 1, len(data))
    assert record.encode(record.decode(data)) == data
    for position in range(len(data)):
        damaged = data[:position] + bytes([data[position] ^ 4]) + data[position + 1 :]
        assert not record.crc_property_holds(damaged, 0, len(data))


def test_crc_property_separates_itself_and_needs_room() -> None:
    data = record.encode(small(properties=b"a\x01b"), append_crc=True)
    parsed = properties.parse(record.decode(data).properties)
    assert parsed["a"] == "b"
    assert len(parsed["__CRC32#"]) == 10
    assert not record.crc_property_holds(record.encode(small()), 0, small().size)
    with pytest.raises(LocalError, match="32768"):
        record.encode(small(properties=b"p" * 32747), append_crc=True)


def test_records_compare_by_value_and_print_their_fields() -> None:
    assert small() == small()
    assert small() != small(body=b"other")
    assert small() != "a record"
    assert "queue_id=0" in repr(small())
    assert "body=<4 bytes>" in repr(small())
