"""Runs `archive --compact`, which rewrites the small files of an archive into larger ones.

A Parquet archive is compacted one (topic, day) at a time, by a journal:

    1  the rows of the small batches are written to PATH/_compacting, and counted
    2  PATH/_archive/compaction.journal names the new folder and the old ones
    3  the new folder is moved to its place, then the old ones are deleted
    4  the journal is deleted

A crash before 2 leaves only _compacting, which the next run deletes; a crash after 2 leaves the
journal, which the next run finishes. Within 3 a reader may see rows twice, but never misses one.
Only batches that are archived completely, according to a record, are compacted: they are never
written again.
"""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from pyspark.sql import SparkSession

from gantrymq.spark.jobs.archiving.archive_record import FOLDER, Record, RecordFolder
from gantrymq.spark.jobs.archiving.files import Files
from gantrymq.spark.jobs.archiving.tables import PARTITIONS, open_table, rows_of
from gantrymq.spark.jobs.arguments import CompactArguments
from gantrymq.spark.jobs.failures import JobError
from gantrymq.spark.jobs.summary import Summary, Table, Value

WORK: Final = "_compacting"
JOURNAL: Final = "compaction.journal"
COMPACTED: Final = "compacted-"

# Files from this share of the target on are large enough.
LARGE_ENOUGH: Final = 0.5


@dataclass(frozen=True, slots=True)
class Batch:
    """The folder of one batch of a topic on a day, and the sizes of its files."""

    folder: str
    sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Batches that become one, and its number of files."""

    batches: tuple[Batch, ...]
    files: int


def plan(batches: Iterable[Batch], target_bytes: int) -> Rewrite | None:
    """Plan the small batches of one (topic, day); None if there are fewer than two small files."""
    large = target_bytes * LARGE_ENOUGH
    small = tuple(each for each in batches if any(size < large for size in each.sizes))
    sizes = [size for each in small for size in each.sizes]
    wanted = max(1, -(-sum(sizes) // target_bytes))
    return Rewrite(small, wanted) if len(sizes) > wanted else None


def is_settled(batch: str, records: Mapping[str, Record]) -> bool:
    """Whether the folder `batch=…` is of a batch that will never be written again."""
    if batch.startswith(COMPACTED):
        return True
    query, _, number = batch.rpartition("-")
    record = records.get(query)
    return record is not None and number.isdecimal() and int(number) <= record.batch


def run(spark: SparkSession, arguments: CompactArguments) -> Summary:
    """Compact an archive. Raises JobError if there is none."""
    path = arguments.path
    rows = open_table(spark, path, arguments.table_format)
    if arguments.table_format == "delta":
        del rows
        spark.sql(f"OPTIMIZE delta.`{path}`")
        return Summary("archive", {"archive": path, "compacted": "by OPTIMIZE of Delta"})
    files = Files(spark, path)
    finish(files, path)
    records = {record.query: record for record in RecordFolder(files, path).all()}
    done = []
    for place in _places(files, path):
        settled = [each for each in _batches(files, f"{path}/{place}") if _settled(each, records)]
        rewrite = plan(settled, arguments.target_bytes)
        if rewrite is not None:
            count = _rewrite(spark, files, path, place, rewrite)
            before = sum(len(batch.sizes) for batch in rewrite.batches)
            sys.stderr.write(f"compacted {place} rows={count} files={before}->{rewrite.files}\n")
            done.append((place, count, before, rewrite.files))
    facts: dict[str, Value] = {"archive": path, "compacted": len(done)}
    return Summary(
        "archive", facts, [Table("compacted", ("place", "rows", "before", "after"), done)]
    )


def finish(files: Files, path: str) -> None:
    """Finish what an earlier run began. A second call does nothing."""
    journal = f"{path}/{FOLDER}/{JOURNAL}"
    if files.exists(journal):
        steps = json.loads(files.read(journal))
        if files.exists(steps["from"]):
            files.move(steps["from"], steps["to"])
        for old in steps["old"]:
            files.delete(old)
        files.delete(journal)
    files.delete(f"{path}/{WORK}")


def _places(files: Files, path: str) -> Iterator[str]:
    for topic in files.folders(path):
        if topic.startswith("topic="):
            for day in files.folders(f"{path}/{topic}"):
                yield f"{topic}/{day}"


def _batches(files: Files, folder: str) -> list[Batch]:
    return [
        Batch(f"{folder}/{name}", tuple(files.sizes(f"{folder}/{name}").values()))
        for name in files.folders(folder)
        if name.startswith("batch=")
    ]


def _settled(batch: Batch, records: Mapping[str, Record]) -> bool:
    return is_settled(batch.folder.rpartition("/batch=")[2], records)


def _rewrite(spark: SparkSession, files: Files, path: str, place: str, rewrite: Rewrite) -> int:
    """Rewrite batches, and return the number of rows. Raises JobError if the numbers differ."""
    old = [batch.folder for batch in rewrite.batches]
    rows = rows_of(spark, path, old)
    name = f"batch={COMPACTED}{uuid.uuid4().hex[:12]}"
    made = f"{path}/{WORK}/{name}"
    order = ("brokerName", "queueId", "queueOffset")
    (
        rows.drop(*PARTITIONS)
        .repartitionByRange(rewrite.files, *order)
        .sortWithinPartitions(*order)
        .write.parquet(made)
    )
    before, after = rows.count(), spark.read.parquet(made).count()
    if before != after:
        raise JobError(
            f"{place} has {before} rows, and its compacted copy {after}: nothing changed"
        )
    files.delete(f"{made}/_SUCCESS")
    steps = {"from": made, "to": f"{path}/{place}/{name}", "old": old}
    files.write(f"{path}/{FOLDER}/{JOURNAL}", json.dumps(steps))
    finish(files, path)
    return after
