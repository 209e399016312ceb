"""Tests the file of deleted topics: its bytes, damage, and which records a deletion covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.store.dispatch.deleted_topics import PATH, Deleted, decode, encode, read
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.memory_disk import MemoryDisk

TOPICS = {"A": Deleted(500, 1_700_000_000_000), "%RETRY%é\udcff": Deleted(90, 7)}


def test_file_has_the_documented_bytes() -> None:
    data = encode({"A": Deleted(500, 7)})
    assert data[:4] == b"GFD1"
    assert data[8:] == (500).to_bytes(8, "big") + (7).to_bytes(8, "big") + b"\0\1A"


@given(st.dictionaries(st.text(), st.builds(Deleted, *[st.integers(0, 1 << 31)] * 2)))
def test_encoded_list_is_decoded(topics: dict[str, Deleted]) -> None:
    assert decode(encode(topics)) == topics


def test_names_that_are_not_utf8_are_kept() -> None:
    assert decode(encode(TOPICS)) == TOPICS


def test_damage_is_refused_with_a_remedy() -> None:
    data = encode(TOPICS)
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1
        for wrong in (bytes(damaged), data[:at]):
            with pytest.raises(StoreRefusedError, match=r"deleted is damaged.*remove it"):
                decode(wrong)


def test_without_a_file_nothing_was_deleted() -> None:
    disk = MemoryDisk()
    assert read(disk) == {}
    disk.make_folder("gantry")
    disk.create(PATH).write(0, [encode(TOPICS)])
    assert read(disk) == TOPICS


@pytest.mark.parametrize(
    ("position", "store_ms", "is_deleted"),
    [(0, 0, True), (499, 7, True), (500, 7, False), (499, 8, False)],
)
def test_deletion_covers_older_records_below_its_position(
    position: int, store_ms: int, is_deleted: bool
) -> None:
    assert Deleted(500, 7).covers(position, store_ms) == is_deleted
