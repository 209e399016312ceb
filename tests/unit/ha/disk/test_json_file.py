"""Small files of a member: the bytes, damage, and a stop in the middle of a write."""

from __future__ import annotations

import zlib

import pytest

from gantrymq.ha.disk.json_file import JsonFile
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all
from gantrymq.wire.jsonvalue import JsonObject, long_field

FILE = JsonFile("gantry/number", b"NUM1", 64, "it holds a number; remove it")


STEPS = 5
"""Changes of the disk that a write consists of; before each of them the power may go."""


def written_once(choose: Chooser) -> FaultyDisk:
    """A disk with the folder and the file fsynced."""
    disk = FaultyDisk(choose)
    disk.make_folder("gantry")
    disk.sync_folder("")
    FILE.write(disk, {"number": 7})
    return disk


def number(said: JsonObject) -> int:
    return long_field(said, "number")


def test_file_has_magic_checksum_and_object() -> None:
    body = b'{"number":7}'
    assert FILE.encode({"number": 7}) == b"NUM1" + zlib.crc32(body).to_bytes(4, "big") + body


def test_missing_file_reads_as_none() -> None:
    assert FILE.read(FaultyDisk(), number) is None


def test_what_is_written_is_read_and_replaced() -> None:
    disk = FaultyDisk()
    for each in (7, 8):
        FILE.write(disk, {"number": each})
        disk = disk.crash()
        assert FILE.read(disk, number) == each


def test_every_damaged_byte_and_every_torn_end_is_refused_with_what_to_do() -> None:
    data = FILE.encode({"number": 7})
    for at in range(len(data)):
        flipped = data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
        for wrong in (flipped, data[:at]):
            with pytest.raises(StoreRefusedError, match=r"number is damaged .*; remove it"):
                FILE.decode(wrong, number)


@pytest.mark.parametrize("body", [b"", b"7", b"[7]", b"{", b'{"number":"x"}'])
def test_a_content_that_is_no_such_object_is_refused(body: bytes) -> None:
    data = b"NUM1" + zlib.crc32(body).to_bytes(4, "big") + body
    with pytest.raises(StoreRefusedError, match="number is damaged"):
        FILE.decode(data, number)


def test_a_file_above_its_bound_is_refused() -> None:
    disk = FaultyDisk()
    FILE.write(disk, {"number": 7, "more": "x" * 64})
    with pytest.raises(StoreRefusedError, match="its checksum is wrong"):
        FILE.read(disk, number)


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_interrupted_write_leaves_the_old_or_the_new_file(choose: Chooser) -> None:
    found = set()
    for operations in range(1, STEPS + 1):
        disk = written_once(choose)
        disk.crash_at = disk.operations + operations
        with pytest.raises(PowerCut):
            FILE.write(disk, {"number": 8})
        found.add(FILE.read(disk.crash(), number))
    assert found == ({7, 8} if choose is keep_all else {7})


@pytest.mark.parametrize("choose", [keep_all, lose_all])
def test_a_write_that_ended_is_on_the_disk(choose: Chooser) -> None:
    disk = written_once(choose)
    before = disk.operations
    FILE.write(disk, {"number": 8})
    assert disk.operations - before == STEPS
    assert FILE.read(disk.crash(), number) == 8
