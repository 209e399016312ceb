"""Tests which records of a log `gantry store dump` selects: by position, topic, queue and key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.fakes.stores.store_damage import LOG, flip
from gantrymq.store.offline.file_row import read_row
from gantrymq.store.offline.finding import Findings
from gantrymq.store.offline.log_reader import Break
from gantrymq.store.offline.record_choice import RecordChoice, chosen
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message.record import Record

JavaStore = Callable[[str], MemoryDisk]


def choose(disk: MemoryDisk, choice: RecordChoice) -> list[Record | Break]:
    return list(chosen(disk, read_row(disk, "commitlog", 65_536, Findings()), choice))


def positions(found: list[Record | Break]) -> list[int]:
    return [each.physical_offset for each in found if isinstance(each, Record)]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (RecordChoice(limit=2), [0, 245]),
        (RecordChoice(limit=0), []),
        (RecordChoice(first=246, limit=1), [497]),
        (RecordChoice(past=497), [0, 245]),
        (RecordChoice(topic=b"VecTopic", queue_id=0, limit=2), [0, 497]),
        (RecordChoice(topic=b"NoTopic"), []),
        (RecordChoice(key=b"k-1", limit=1), [245]),
        (RecordChoice(key=b"C000020268CB30946E09674E98710001"), [245]),
    ],
)
def test_chosen_records_are_found(
    java_store: JavaStore, choice: RecordChoice, expected: list[int]
) -> None:
    assert positions(choose(java_store("5.3.3-clean"), choice)) == expected


def test_breaks_of_the_log_are_reported_between_records(java_store: JavaStore) -> None:
    disk = java_store("5.3.3-clean")
    flip(disk, LOG, 245 + 90)
    found = choose(disk, RecordChoice(past=700))
    assert [isinstance(each, Break) for each in found] == [False, True, False]
