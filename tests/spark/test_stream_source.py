"""`spark.readStream.format("rocketmq")` in real Spark: crashes, restarts, and what brokers show.

Each test compares all that its query gave with all that was sent. A query gives a micro-batch that
is run again anew, so the rows of its last run count.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from gantrymq.client.blocking import Admin
from gantrymq.spark_cases.topics import TopicOfTest, expire, expiring_server
from gantrymq.testing.server import StandaloneServer

WAIT_SECONDS: Final = 120.0


class Sink:
    """What one query gave, by micro-batch; it fails where it is told to."""

    def __init__(self) -> None:
        self.batches: dict[int, list[str]] = {}
        self.runs: list[int] = []
        self.fails_in: int | None = None

    def take(self, frame: DataFrame, number: int) -> None:
        self.batches[number] = [row.body.decode() for row in frame.select("body").collect()]
        self.runs.append(number)
        if number == self.fails_in:
            raise RuntimeError("the sink fails after it has taken the rows")

    @property
    def bodies(self) -> list[str]:
        """All rows, sorted."""
        return sorted(body for batch in self.batches.values() for body in batch)


class Query:
    """A query over one topic with a checkpoint, which may run several times."""

    def __init__(
        self, spark: SparkSession, topic: TopicOfTest, folder: Path, **options: object
    ) -> None:
        self.sink = Sink()
        self._reader = spark.readStream.format("rocketmq").options(**topic.options(**options))
        self._checkpoint = str(folder / "checkpoint")

    def start(self, *, available_now: bool = False) -> StreamingQuery:
        writer = self._reader.load().writeStream.foreachBatch(self.sink.take)
        if available_now:
            writer = writer.trigger(availableNow=True)
        return writer.option("checkpointLocation", self._checkpoint).start()

    def run(self) -> StreamingQuery:
        """All that is there now."""
        query = self.start(available_now=True)
        assert query.awaitTermination(int(WAIT_SECONDS)), "the query does not end"
        return query

    def fail_in(self, number: int) -> None:
        """Run until the sink fails in this micro-batch, as a driver that crashes there."""
        self.sink.fails_in = number
        with pytest.raises(StreamingQueryException, match="the sink fails"):
            self.run()
        self.sink.fails_in = None


@pytest.fixture
def topic(gantry_server: StandaloneServer) -> TopicOfTest:
    return TopicOfTest(gantry_server)


@pytest.mark.newest_spark
def test_available_now_reads_all_and_leaves_no_lag(
    spark: SparkSession, topic: TopicOfTest, tmp_path: Path
) -> None:
    topic.send(100)
    query = Query(spark, topic, tmp_path, group="now", maxOffsetsPerTrigger=30)
    query.run()
    assert query.sink.bodies == sorted(topic.sent)
    assert [len(batch) for _, batch in sorted(query.sink.batches.items())] == [30, 30, 30, 10]
    assert lag(topic, "now") == 0
    topic.send(10)
    query.run()
    assert query.sink.bodies == sorted(topic.sent)
    assert lag(topic, "now") == 0


def test_a_crash_in_the_first_batch_loses_and_repeats_nothing(
    spark: SparkSession, topic: TopicOfTest, tmp_path: Path
) -> None:
    """The stream begins at the latest message, which is a later one when it starts again."""
    topic.send(20)
    query = Query(spark, topic, tmp_path, startingOffsets="latest")
    running = query.start()
    wait_for(lambda: query.sink.runs == [0], running)
    running.stop()
    assert query.sink.bodies == []
    first = topic.send(20)
    query.fail_in(1)
    second = topic.send(20)
    query.run()
    assert sorted(query.sink.batches[1]) == sorted(first), "the batch that failed is the same again"
    assert query.sink.bodies == sorted(first + second)


def test_a_failed_first_batch_with_rows_is_run_again_as_it_was(
    spark: SparkSession, topic: TopicOfTest, tmp_path: Path
) -> None:
    first = topic.send(20)
    query = Query(spark, topic, tmp_path)
    query.fail_in(0)
    second = topic.send(20)
    query.run()
    assert sorted(query.sink.batches[0]) == sorted(first)
    assert query.sink.runs == [0, 0, 1]
    assert query.sink.bodies == sorted(first + second)


def test_a_crash_in_the_middle_is_gone_on_from(
    spark: SparkSession, topic: TopicOfTest, tmp_path: Path
) -> None:
    topic.send(100)
    query = Query(spark, topic, tmp_path, maxOffsetsPerTrigger=25, minPartitions=6)
    query.fail_in(2)
    topic.send(20)
    query.run()
    assert query.sink.runs[:4] == [0, 1, 2, 2]
    assert query.sink.bodies == sorted(topic.sent)


def test_queues_that_are_made_while_the_query_runs_are_read(
    spark: SparkSession, gantry_server: StandaloneServer, tmp_path: Path
) -> None:
    topic = TopicOfTest(gantry_server, queues=1)
    topic.send(5)
    query = Query(spark, topic, tmp_path, discoveryInterval="200ms", group="growing")
    running = query.start()
    wait_for(lambda: query.sink.bodies == sorted(topic.sent), running)
    topic.grow(3)
    topic.send(9)
    wait_for(lambda: query.sink.bodies == sorted(topic.sent), running)
    wait_for(lambda: lag(topic, "growing") == 0, running)
    running.stop()


def test_expired_messages_fail_the_query_or_are_skipped(
    spark: SparkSession, tmp_path: Path
) -> None:
    with expiring_server(tmp_path / "server") as server:
        topic = TopicOfTest(server, queues=2)
        topic.send(40, size=1000)
        query = Query(spark, topic, tmp_path / "failing")
        query.run()
        topic.send(400, size=1000)
        firsts = expire(topic, server)
        with pytest.raises(StreamingQueryException, match="were deleted before they were read"):
            query.run()
        skipping = Query(spark, topic, tmp_path / "failing", failOnDataLoss=False)
        skipping.run()
        assert skipping.sink.bodies == sorted(topic.sent[sum(firsts.values()) :])


def lag(topic: TopicOfTest, group: str) -> int:
    """The lag of the group in all queues, as consumerProgress shows it."""
    with Admin(name_servers=topic.server.name_servers) as admin:
        queues = admin.groups.progress(group, topic.name).queues.values()
    return sum(each.broker_offset - each.consumer_offset for each in queues)


def wait_for(is_so: Callable[[], bool], query: StreamingQuery) -> None:
    gives_up_at = time.monotonic() + WAIT_SECONDS
    while not is_so():
        assert query.isActive, query.exception()
        assert time.monotonic() < gives_up_at, query.lastProgress
        time.sleep(0.1)
