"""Records say how far an archive has come, and survive being written and read."""

from __future__ import annotations

import pytest

from gantrymq.spark.jobs.archiving.archive_record import (
    QueueCount,
    Record,
    decode,
    encode,
    furthest,
    nested,
)
from gantrymq.spark.jobs.failures import JobError
from gantrymq.spark.options.assignment import QueueKey

FIRST = QueueKey("orders", "broker-a", 0)
SECOND = QueueKey("orders", "broker-a", 1)
BILLS = QueueKey("bills", "broker-b", 0)


def test_a_record_that_is_written_is_read_back_unchanged() -> None:
    record = Record("q", 7, 30, 3000, {FIRST: 12, BILLS: 18})
    assert decode(encode(record), "path") == record


def test_a_batch_adds_its_counts_and_moves_its_queues() -> None:
    before = Record("q", 0, 5, 50, {FIRST: 5, BILLS: 1})
    after = before.after(1, [QueueCount(FIRST, 2, 20, 7), QueueCount(SECOND, 1, 9, 1)])
    assert after == Record("q", 1, 8, 79, {FIRST: 7, SECOND: 1, BILLS: 1})


def test_an_empty_batch_counts_as_archived() -> None:
    assert Record("q", 3, 5).after(4, []).batch == 4


def test_a_new_query_starts_at_the_furthest_recorded_offsets() -> None:
    records = [Record("a", 1, 0, 0, {FIRST: 9, BILLS: 3}), Record("b", 1, 0, 0, {FIRST: 4})]
    assert furthest(records, ()) == {FIRST: 9, BILLS: 3}
    assert furthest(records, ("bills",)) == {BILLS: 3}


def test_offsets_are_nested_like_the_starting_offsets_option() -> None:
    assert nested({SECOND: 2, FIRST: 1}) == {"orders": {"broker-a": {"0": 1, "1": 2}}}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"v":2}', '{"v":1,"query":"q","batch":"x"}'])
def test_a_file_that_is_not_a_record_is_refused_with_its_path(text: str) -> None:
    with pytest.raises(JobError, match="s3a://archive/record"):
        decode(text, "s3a://archive/record")
