"""The job `archive` on a real broker: each message once, whatever is interrupted; compaction."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from gantrymq.client import Message
from gantrymq.client.blocking import Admin, Producer
from gantrymq.fakes.spark_rows import at, message_rows
from gantrymq.spark.jobs.archiving import archive, compaction
from gantrymq.spark.jobs.archiving.archive_record import FOLDER, RecordFolder
from gantrymq.spark.jobs.archiving.compaction import JOURNAL, WORK
from gantrymq.spark.jobs.archiving.files import Files
from gantrymq.spark.jobs.archiving.tables import archive_table, open_table
from gantrymq.spark.jobs.arguments import ArchiveArguments, CompactArguments, LiveSource
from gantrymq.spark.jobs.ending import Ending
from gantrymq.spark.jobs.failures import JobError
from gantrymq.spark.jobs.summary import Summary
from gantrymq.testing.server import StandaloneServer

KEY = ("topic", "brokerName", "queueId", "queueOffset")

# A test runs several streaming queries, or a second JVM, on a machine that runs other stages too.
# One that is broken off in a call of the JVM takes all later ones with it.
TEST_SECONDS = 600

pytestmark = pytest.mark.timeout(TEST_SECONDS)


def fill(server: StandaloneServer, topic: str, count: int, start: int = 0) -> None:
    """Messages of ten bytes: m00000000 and the numbers after it."""
    with Producer("archive-tests", name_servers=server.name_servers) as producer:
        for number in range(start, start + count):
            producer.send(Message(topic, f"m{number:09}", keys=[str(number)]))


@pytest.fixture
def topic(gantry_server: StandaloneServer, request: pytest.FixtureRequest) -> str:
    name: str = request.node.name
    with Admin(name_servers=gantry_server.name_servers) as admin:
        admin.create_topic(name, queues=2)
    return name


def arguments(server: StandaloneServer, topic: str, path: Path) -> ArchiveArguments:
    source = LiveSource({"nameServer": server.name_servers, "topic": topic})
    return ArchiveArguments(str(path), "parquet", source, f"{path}/_checkpoint")


def archived(spark: SparkSession, job: ArchiveArguments) -> Summary:
    return archive.run(spark, job, Ending(is_stream=True))


def compacted(spark: SparkSession, job: ArchiveArguments) -> Summary:
    return compaction.run(spark, CompactArguments(job.path, "parquet"))


def numbers(rows: DataFrame) -> list[int]:
    return sorted(int(row["body"][1:]) for row in rows.select("body").collect())


@pytest.mark.newest_spark
def test_each_run_archives_what_came_since_the_last_also_after_compaction(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str, tmp_path: Path
) -> None:
    job = arguments(gantry_server, topic, tmp_path / "archive")
    fill(gantry_server, topic, 5)
    assert archived(spark, job).facts["rows"] == 5
    fill(gantry_server, topic, 3, start=5)
    summary = archived(spark, job)
    assert (summary.facts["rows"], summary.facts["bytes"]) == (3, 30)
    topics, up_to = summary.tables
    assert topics.rows == [(topic, 3, 30)]
    assert sum(int(row[3] or 0) for row in up_to.rows) == 8

    ((_, rows, before, after),) = compacted(spark, job).tables[0].rows
    assert (rows, after) == (8, 1)
    assert int(before or 0) > 1
    assert len(list((tmp_path / "archive" / f"topic={topic}").glob("day=*/batch=*/*.parquet"))) == 1
    assert compacted(spark, job).facts["compacted"] == 0

    fill(gantry_server, topic, 4, start=8)
    assert archived(spark, job).facts["rows"] == 4
    everything = open_table(spark, job.path, "parquet")
    assert numbers(everything) == list(range(12))
    assert everything.select(*KEY).distinct().count() == 12


def test_a_lost_checkpoint_costs_no_message_and_doubles_none(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str, tmp_path: Path
) -> None:
    job = arguments(gantry_server, topic, tmp_path / "archive")
    fill(gantry_server, topic, 4)
    archived(spark, job)
    (tmp_path / "archive" / "_checkpoint").rename(tmp_path / "lost")
    fill(gantry_server, topic, 4, start=4)
    assert archived(spark, job).facts["rows"] == 4
    assert numbers(open_table(spark, job.path, "parquet")) == list(range(8))


def test_a_batch_that_broke_off_before_its_record_is_written_once(
    spark: SparkSession,
    gantry_server: StandaloneServer,
    topic: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    job = arguments(gantry_server, topic, tmp_path / "archive")
    fill(gantry_server, topic, 6)
    with monkeypatch.context() as patched:
        patched.setattr(RecordFolder, "write", _fail)
        with pytest.raises(Exception, match="the disk of the record is full"):
            archived(spark, job)
    assert numbers(open_table(spark, job.path, "parquet")) == list(range(6))
    fill(gantry_server, topic, 2, start=6)
    archived(spark, job)
    assert numbers(open_table(spark, job.path, "parquet")) == list(range(8))


def _fail(*_: object) -> None:
    raise OSError("the disk of the record is full")


@pytest.mark.parametrize(
    "text", ['{"v":1,"batch":4,"query":"q","rows":1,"bytes":2,"upTo":{}}', "{"]
)
def test_a_record_that_broke_off_in_its_last_step_counts_when_it_is_whole(
    spark: SparkSession, tmp_path: Path, text: str
) -> None:
    records = RecordFolder(Files(spark, str(tmp_path)), str(tmp_path))
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "q.json.new").write_text(text)
    assert records.of("q").batch == (4 if len(text) > 1 else -1)
    records.write(records.of("q").after(5, []))
    assert [record.batch for record in records.all()] == [5]


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_compaction_that_broke_off_is_finished(
    spark: SparkSession, tmp_path: Path, *, is_moved: bool
) -> None:
    """The journal is there; the new folder is in its place, or not yet."""
    files = Files(spark, str(tmp_path))
    place = tmp_path / "topic=orders" / "day=2026-11-28"
    old = [place / "batch=q-00000000", place / "batch=q-00000001"]
    new = place / "batch=compacted-1" if is_moved else tmp_path / WORK / "batch=compacted-1"
    for folder in (*old, new):
        folder.mkdir(parents=True)
        (folder / "part.parquet").write_bytes(b"rows")
    (tmp_path / FOLDER).mkdir()
    steps = {
        "from": str(tmp_path / WORK / "batch=compacted-1"),
        "to": str(place / "batch=compacted-1"),
        "old": list(map(str, old)),
    }
    (tmp_path / FOLDER / JOURNAL).write_text(json.dumps(steps))
    compaction.finish(files, str(tmp_path))
    assert [each.name for each in place.iterdir()] == ["batch=compacted-1"]
    assert list((tmp_path / FOLDER).iterdir()) == []
    assert not (tmp_path / WORK).exists()


def test_what_a_reader_must_not_see_is_found_before_it_is_recorded(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Two topics and two days of one batch, read back by their folders."""
    table = archive_table(spark, str(tmp_path), "parquet")
    rows = message_rows(spark, {}, {"topic": "%DLQ%a/b"}, {"storeTimestamp": at(-1)})
    dated = rows.withColumn("day", f.to_date("storeTimestamp"))
    written = table.write(dated.withColumn("batch", f.lit("q-00000007")), "q", 7)
    assert written.expected == 3
    assert written.rows is not None
    assert written.rows.count() == 3
    assert {row["topic"] for row in written.rows.collect()} == {"orders", "%DLQ%a/b"}


def test_delta_without_its_jars_is_refused_with_what_helps(
    spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(JobError, match=r"spark\.jars"):
        archive_table(spark, str(tmp_path), "delta")


def test_an_archive_that_is_not_there_is_named(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(JobError, match="nowhere"):
        open_table(spark, str(tmp_path / "nowhere"), "parquet")


@pytest.fixture
def continuous(
    gantry_server: StandaloneServer, topic: str, tmp_path: Path
) -> Iterator[subprocess.Popen[str]]:
    flags = ["-n", gantry_server.name_servers, "-t", topic, "--path", str(tmp_path / "archive")]
    conf = ["--master", "local[1]", "--conf", "spark.ui.enabled=false"]
    command = [sys.executable, "-m", "gantrymq.app", "spark", "archive", *flags, *conf, "--json"]
    process = subprocess.Popen(
        [*command, "--continuous", "1s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    yield process
    process.kill()
    process.communicate()


def test_sigterm_ends_a_continuous_archive_after_its_batch(
    spark: SparkSession,
    gantry_server: StandaloneServer,
    topic: str,
    tmp_path: Path,
    continuous: subprocess.Popen[str],
) -> None:
    """The command `gantry spark archive`, in a process of its own."""
    fill(gantry_server, topic, 7)
    assert continuous.stderr is not None
    told = next(line for line in continuous.stderr if line.startswith("archived micro-batch"))
    assert "queues=" in told
    continuous.send_signal(signal.SIGTERM)
    out, _ = continuous.communicate(timeout=TEST_SECONDS / 2)
    assert continuous.returncode == 143
    summary = json.loads(out)
    rows = open_table(spark, str(tmp_path / "archive"), "parquet")
    assert rows.count() == summary["rows"] > 0
    commits = tmp_path / "archive" / "_checkpoint" / "commits"
    assert any(name.name.isdecimal() for name in commits.iterdir())
