"""Which folders of an archive are rewritten, and into how many files."""

from __future__ import annotations

from gantrymq.spark.jobs.archiving.archive_record import Record
from gantrymq.spark.jobs.archiving.compaction import Batch, is_settled, plan

TARGET = 1000


def batches(*sizes: tuple[int, ...]) -> list[Batch]:
    return [Batch(f"batch={number}", each) for number, each in enumerate(sizes)]


def test_small_files_are_merged_into_the_fewest_files() -> None:
    rewrite = plan(batches((100, 100), (300,), (400, 200)), TARGET)
    assert rewrite is not None
    assert len(rewrite.batches) == 3
    assert rewrite.files == 2


def test_large_files_are_left_alone() -> None:
    rewrite = plan(batches((900, 950), (10,), (20,)), TARGET)
    assert rewrite is not None
    assert [each.folder for each in rewrite.batches] == ["batch=1", "batch=2"]


def test_a_single_small_file_is_not_rewritten() -> None:
    assert plan(batches((900,), (10,)), TARGET) is None
    assert plan([], TARGET) is None


def test_compacted_files_are_not_compacted_again() -> None:
    assert plan(batches((700, 600)), TARGET) is None


def test_a_batch_that_may_be_written_again_is_not_settled() -> None:
    records = {"a-b": Record("a-b", 3)}
    assert is_settled("a-b-00000003", records)
    assert not is_settled("a-b-00000004", records)
    assert not is_settled("other-00000000", records)
    assert not is_settled("a-b-last", records)
    assert is_settled("compacted-0123456789ab", {})
