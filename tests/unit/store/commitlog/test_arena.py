"""Tests that the layout of a write group equals that of Java."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import LocalError
from gantrymq.store.commitlog.arena import Arena
from gantrymq.store.record.walk import Found, walk
from gantrymq.wire.message.record import Record, decode_all

VECTORS = Path(__file__).parents[3] / "vectors"
FILE_BYTES = 65536
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"


def message(size: int) -> Record:
    """A message whose record has this size."""
    return Record(b"T", bytes(size - 92), born_host=HOST, store_host=HOST)


def java_log(store: str) -> list[bytes]:
    """The files of a log that Java wrote."""
    with tarfile.open(VECTORS / f"store-{store}.tar.gz") as archive:
        names = sorted(name for name in archive.getnames() if "/commitlog/0" in name)
        streams = [archive.extractfile(name) or io.BytesIO() for name in names]
        return [stream.read() for stream in streams]


def java_records(files: list[bytes]) -> list[Record]:
    records: list[Record] = []
    for number, data in enumerate(files):
        items = list(walk(data, number * FILE_BYTES, FILE_BYTES))
        records += [item.record for item in items if item.record is not None]
        if items[-1].found is not Found.BLANK:
            break
    return records


def written_by(arena: Arena, files: int) -> list[bytes]:
    """The files as the arena's runs leave them."""
    log = bytearray(files * FILE_BYTES)
    for run in arena.runs():
        log[run.position : run.position + len(run.data)] = run.data
    return [bytes(log[i * FILE_BYTES :][:FILE_BYTES]) for i in range(files)]


@pytest.mark.parametrize("store", ["4.9.8-clean", "4.9.8-crashed", "5.3.3-clean", "5.3.3-crashed"])
def test_layout_equals_that_of_java(store: str) -> None:
    files = java_log(store)
    records = java_records(files)
    assert len(records) > 100
    arena = Arena(0, FILE_BYTES, 0)
    for record in records:
        arena.store_timestamp_ms = record.store_timestamp_ms
        record.physical_offset = -1
        arena.add(record)
    assert len(arena.runs()) == records[-1].physical_offset // FILE_BYTES + 1
    assert len(arena.runs()) > 1 or store.startswith("4.9.8")
    # Behind a blank, and behind the end, Java leaves what was there: zeros, in these stores.
    assert written_by(arena, len(files)) == files


@given(
    start=st.integers(0, 3000),
    sizes=st.lists(st.integers(92, 992), max_size=20),
)
def test_records_are_dense_and_never_cross_a_file(start: int, sizes: list[int]) -> None:
    file_bytes = 1000
    start = start if start % file_bytes + 8 <= file_bytes else start - 8
    arena = Arena(start, file_bytes, 7)
    placed = [message(size) for size in sizes]
    for each in placed:
        arena.add(each)
    end = start
    for each in placed:
        if each.physical_offset != end:  # only because it did not fit, and to the next file
            assert end % file_bytes + each.size + 8 > file_bytes
            assert each.physical_offset == end - end % file_bytes + file_bytes
        end = each.physical_offset + each.size
    assert arena.end == end
    assert sum(len(run.data) for run in arena.runs()) == sum(sizes) + 8 * (
        len(arena.runs()) - 1
    ) * (bool(sizes))
    for run in arena.runs():
        assert run.position % file_bytes + len(run.data) <= file_bytes


def test_eight_bytes_are_reserved_for_the_blank() -> None:
    arena = Arena(0, 200, 0)
    arena.add(message(192))
    assert [len(run.data) for run in arena.runs()] == [192]
    arena = Arena(0, 200, 0)
    arena.add(message(100))
    arena.add(message(93))
    assert arena.runs()[0].data[100:] == bytes.fromhex("00000064 cbd43194")
    assert arena.runs()[1].position == 200


def test_a_batch_goes_to_the_next_file_as_one() -> None:
    arena = Arena(0, 1000, 5)
    arena.add(message(500))
    batch = [message(200), message(300)]
    arena.add_batch(batch)
    assert [each.physical_offset for each in batch] == [1000, 1200]
    first, second = arena.runs()
    assert first.position == 0
    assert decode_all(second.data) == batch
    assert {each.store_timestamp_ms for each in batch} == {5}


def test_a_batch_that_fills_the_file_to_the_blank_stays() -> None:
    arena = Arena(0, 1000, 0)
    arena.add_batch([message(492), message(500)])
    assert len(arena.runs()) == 1


def test_record_that_never_fits_is_a_defect() -> None:
    with pytest.raises(LocalError, match="never fit"):
        Arena(0, 200, 0).add(message(193))
