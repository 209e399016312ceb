"""Messages that a broker deleted before they were read: batches and streams fail, or skip them.

A broker deletes what its marks on disk cover, which takes ten seconds: all tests share one topic.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from gantrymq.spark.source.planning.data_loss import DataLossError
from gantrymq.spark.source.stream_reader import StreamReader
from gantrymq.spark_cases.topics import (
    WAIT_SECONDS,
    Json,
    TopicOfTest,
    batch,
    batch_reader,
    bodies,
    expire,
    expiring_server,
    stream_reader,
    wait_for_loss,
)

ALL = ReadAllAvailable()
MESSAGES = 400


@dataclass(frozen=True)
class Expired:
    """A topic most of whose messages expired after all of this had been planned."""

    topic: TopicOfTest
    firsts: dict[int, int]
    planned: list[InputPartition]
    skipping_batch: DataSourceReader
    stream: StreamReader
    skipping_stream: StreamReader
    start: Json
    end: Json

    @property
    def left(self) -> list[str]:
        return sorted(self.topic.sent[self.lost :])

    @property
    def lost(self) -> int:
        return sum(self.firsts.values())


@pytest.fixture(scope="module")
def expired(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Expired]:
    with expiring_server(tmp_path_factory.mktemp("expiring")) as server:
        topic = TopicOfTest(server, queues=2)
        topic.send(MESSAGES, size=1000)
        skipping = topic.options(failOnDataLoss=False)
        reader = batch_reader(skipping)
        planned = list(reader.partitions())
        streams = stream_reader(topic.options()), stream_reader(skipping)
        start = streams[0].initialOffset()
        assert streams[1].initialOffset() == start
        end = streams[0].latestOffset(start, ALL)
        firsts = expire(topic, server)
        yield Expired(topic, firsts, planned, reader, *streams, start, end)
        for stream in streams:
            stream.stop()


def test_a_batch_from_the_earliest_message_reads_what_is_left(expired: Expired) -> None:
    assert batch(expired.topic.options()) == expired.left


def test_a_batch_from_an_expired_offset_fails_or_skips(expired: Expired) -> None:
    topic = expired.topic
    old = f'{{"{topic.name}":{{"broker-a":{{"0":5,"1":-2}}}}}}'
    text = f"offsets 5 to {expired.firsts[0] - 1} were deleted"
    with pytest.raises(DataLossError, match=text):
        batch(topic.options(startingOffsets=old))
    assert batch(topic.options(startingOffsets=old, failOnDataLoss=False)) == expired.left


def test_a_task_that_was_planned_before_fails_or_skips(expired: Expired) -> None:
    text = f"offsets 0 to {expired.firsts[0] - 1} were deleted"
    with pytest.raises(DataLossError, match=text):
        bodies(batch_reader(expired.topic.options()), expired.planned)
    assert bodies(expired.skipping_batch, expired.planned) == expired.left


def test_a_stream_fails(expired: Expired) -> None:
    wait_for_loss(expired.stream, expired.start, expired.lost)
    with pytest.raises(DataLossError):
        expired.stream.partitions(expired.start, expired.end)


def test_a_stream_skips_and_counts_what_is_lost(expired: Expired) -> None:
    stream, start = expired.skipping_stream, expired.start
    gives_up_at = time.monotonic() + WAIT_SECONDS
    while (end := stream.latestOffset(start, ALL)).get("lost", 0) < expired.lost:
        assert time.monotonic() < gives_up_at, end
    assert end["lost"] == expired.lost
    assert bodies(stream, stream.partitions(start, end)) == expired.left


def test_a_batch_of_a_stream_that_was_planned_before_skips(expired: Expired) -> None:
    stream = expired.skipping_stream
    tasks = stream.partitions(expired.start, expired.end)
    assert bodies(stream, tasks) == expired.left
