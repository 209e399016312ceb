"""Streams of real brokers, asked as Spark asks them: offsets, micro-batches, progress, failures."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from gantrymq.client.blocking import Admin
from gantrymq.client.core.errors import BrokerError
from gantrymq.spark.options import RocketMQOptionError
from gantrymq.spark.source.membership import GroupInUseError
from gantrymq.spark.source.stream_reader import StreamReader
from gantrymq.spark_cases.topics import (
    WAIT_SECONDS,
    Json,
    TopicOfTest,
    bodies,
    stream_reader,
    wait_for_end,
    wait_for_loss,
    waiting,
)
from gantrymq.testing.server import StandaloneServer

ALL = ReadAllAvailable()
OPEN: list[StreamReader] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    """Readers of a test end with it, however it ends."""
    yield
    while OPEN:
        OPEN.pop().stop()


def opened(options: dict[str, str]) -> StreamReader:
    reader = stream_reader(options)
    OPEN.append(reader)
    return reader


def read(reader: StreamReader, start: Json, end: Json) -> list[str]:
    return bodies(reader, reader.partitions(start, end))


def test_a_stream_reads_new_messages_once(topic: TopicOfTest) -> None:
    first = topic.send(10)
    reader = opened(topic.options())
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    assert read(reader, start, end) == sorted(first)
    assert reader.latestOffset(end, ALL) is end
    assert reader.partitions(end, end) == []
    second = topic.send(6)
    later = wait_for_end(reader, end, 6)
    assert read(reader, end, later) == sorted(second)


def test_a_stream_begins_at_the_latest_message(topic: TopicOfTest) -> None:
    topic.send(10)
    reader = opened(topic.options(startingOffsets=None))
    start = reader.initialOffset()
    assert start["init"] == 1
    assert waiting(start) == 10
    sent = topic.send(3)
    assert read(reader, start, wait_for_end(reader, start, 3)) == sorted(sent)


def test_a_first_batch_that_is_run_again_reads_the_same(topic: TopicOfTest) -> None:
    """After a crash Spark asks for the initial offset again, which is a later one by then."""
    topic.send(10)
    before = opened(topic.options(startingOffsets="latest"))
    start = before.initialOffset()
    sent = topic.send(5)
    logged = json.loads(json.dumps(wait_for_end(before, start, 5)))
    topic.send(7)
    after = opened(topic.options(startingOffsets="latest"))
    later = after.initialOffset()
    assert waiting(later) == 22
    assert read(after, later, logged) == sorted(sent)
    rest = after.latestOffset(logged, ALL)
    assert len(read(after, logged, rest)) == 7


def test_limits_take_a_part_of_the_backlog(topic: TopicOfTest) -> None:
    topic.send(40)
    reader = opened(topic.options(maxOffsetsPerTrigger=15))
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMaxRows(15)
    offsets = [reader.initialOffset()]
    while (end := reader.latestOffset(offsets[-1], limit)) is not offsets[-1]:
        offsets.append(end)
    assert [waiting(offset) for offset in offsets] == [0, 15, 30, 40]
    pairs = itertools.pairwise(offsets)
    parts = [body for start, end in pairs for body in read(reader, start, end)]
    assert sorted(parts) == sorted(topic.sent)
    assert waiting(reader.latestOffset(offsets[0], ALL)) == 40


def test_a_limit_of_bytes_goes_by_the_sizes_of_messages(topic: TopicOfTest) -> None:
    topic.send(40, size=1000)
    reader = opened(topic.options(maxBytesPerTrigger="12k"))
    start = reader.initialOffset()
    taken = waiting(reader.latestOffset(start, reader.getDefaultReadLimit()))
    assert 5 <= taken <= 12


def test_a_batch_waits_for_enough_messages_and_no_longer_than_it_may(topic: TopicOfTest) -> None:
    topic.send(3)
    options = topic.options(minOffsetsPerTrigger=5, maxTriggerDelay="1h")
    reader = opened(options)
    start = reader.initialOffset()
    assert reader.latestOffset(start, reader.getDefaultReadLimit()) is start
    topic.send(2)
    assert waiting(wait_for_end(reader, start, 5)) == 5
    impatient = opened(topic.options(minOffsetsPerTrigger=50, maxTriggerDelay="1ms"))
    start = impatient.initialOffset()
    assert waiting(moved(impatient, start)) == 5


def test_available_now_reads_the_backlog_of_its_start_and_ends(topic: TopicOfTest) -> None:
    topic.send(10)
    options = topic.options(
        maxOffsetsPerTrigger=4, minOffsetsPerTrigger=4, group="now", pollWaitMs=10
    )
    reader = opened(options)
    reader.prepareForTriggerAvailableNow()
    topic.send(5)
    offset = reader.initialOffset()
    parts = []
    limit = reader.getDefaultReadLimit()
    while (end := reader.latestOffset(offset, limit)) is not offset:
        parts += read(reader, offset, end)
        offset = end
    assert sorted(parts) == sorted(topic.sent[:10])
    assert sum(lags(topic, "now").values()) == 5, "progress is stored before the last answer"


def test_progress_shows_at_the_broker_with_the_client(topic: TopicOfTest) -> None:
    topic.send(8)
    reader = opened(topic.options(group="watched"))
    start = reader.initialOffset()
    end = reader.latestOffset(start, ALL)
    reader.latestOffset(end, ALL)
    wait_for_lag(topic, "watched", 0)
    topic.send(4)
    assert sum(lags(topic, "watched").values()) == 4
    reader.commit(wait_for_end(reader, end, 4))
    wait_for_lag(topic, "watched", 0)
    with Admin(name_servers=topic.server.name_servers) as admin:
        connection = admin.connections.consumers("watched")
        assert [each.client_id.split("@")[0] for each in connection.connections] == ["spark"]
        assert topic.name in connection.subscriptions
        reader.stop()
        with pytest.raises(BrokerError, match="206"):
            admin.connections.consumers("watched")


def test_a_group_in_use_is_refused_unless_it_may_be_shared(
    topic: TopicOfTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantrymq.spark.source.stream_watch.GROUP_FREE_SECONDS", 0.3)
    options = topic.options(group="taken")
    opened(options).initialOffset()
    with pytest.raises(GroupInUseError, match="taken is in use by spark@"):
        opened(options).initialOffset()
    opened({**options, "allowsharedgroup": "true"}).initialOffset()
    opened({**options, "commitprogress": "false"}).initialOffset()


def test_a_stream_waits_for_the_last_member_of_its_group_to_leave(topic: TopicOfTest) -> None:
    options = topic.options(group="handed-over")
    first = opened(options)
    first.initialOffset()
    first.stop()
    opened(options).initialOffset()


def test_queues_and_topics_that_appear_later_are_read_from_their_beginning(
    gantry_server: StandaloneServer,
) -> None:
    one = TopicOfTest(gantry_server, queues=1, name="grown-one")
    one.send(3)
    options = one.options(topic=None, topicPattern="grown-.*", discoveryInterval=100)
    reader = opened({**options, "startingoffsets": "latest"})
    start = reader.initialOffset()
    one.grow(3)
    grown = one.send(6)
    end = wait_for_end(reader, start, 6)
    assert read(reader, start, end) == sorted(grown)
    two = TopicOfTest(gantry_server, queues=2, name="grown-two")
    new = two.send(4)
    assert read(reader, end, wait_for_end(reader, end, 4)) == sorted(new)


def test_queues_of_a_broker_that_is_down_keep_their_positions(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with StandaloneServer(tmp_path_factory.mktemp("stopped")) as server:
        topic = TopicOfTest(server)
        topic.send(8)
        reader = opened(topic.options(pollWaitMs=50, requestTimeout="300ms"))
        start = reader.initialOffset()
        end = reader.latestOffset(start, ALL)
        server.kill()
        assert reader.latestOffset(end, ALL) is end
        assert waiting(reader.reportLatestOffset()) == 8
        server.start()


def test_a_topic_that_was_created_again_is_a_loss(topic: TopicOfTest) -> None:
    topic.send(20)
    failing = opened(topic.options(pollWaitMs=20))
    skipping = opened(topic.options(pollWaitMs=20, failOnDataLoss=False))
    start = failing.initialOffset()
    end = failing.latestOffset(start, ALL)
    with Admin(name_servers=topic.server.name_servers) as admin:
        admin.delete_topic(topic.name)
        admin.create_topic(topic.name, queues=4)
    topic.send(4)
    wait_for_loss(failing, end, 16)
    anew = moved(skipping, end)
    assert waiting(anew) < 20
    more = topic.send(4)
    last = wait_for_end(skipping, anew, 4)
    assert set(read(skipping, anew, last)) >= set(more)


def test_wrong_options_fail_when_the_stream_begins(topic: TopicOfTest) -> None:
    with pytest.raises(RocketMQOptionError, match="no name server knows no-such-topic"):
        opened(topic.options(topic="no-such-topic")).initialOffset()
    with pytest.raises(RocketMQOptionError, match="maxOffsetsPerTrigger='0'"):
        stream_reader(topic.options(maxOffsetsPerTrigger=0))


def test_a_checkpoint_of_another_source_is_refused(topic: TopicOfTest) -> None:
    with pytest.raises(Exception, match="offset of version None"):
        opened(topic.options()).latestOffset({"partition-0": 5}, ALL)


def moved(reader: StreamReader, start: Json) -> Json:
    """The next end that is not `start`."""
    gives_up_at = time.monotonic() + WAIT_SECONDS
    limit = reader.getDefaultReadLimit()
    while (end := reader.latestOffset(start, limit)) is start:
        assert time.monotonic() < gives_up_at, "the stream does not go on"
    return end


def lags(topic: TopicOfTest, group: str) -> dict[int, int]:
    """By queue."""
    with Admin(name_servers=topic.server.name_servers) as admin:
        queues = admin.groups.progress(group, topic.name).queues
    return {
        queue.queue_id: offset.broker_offset - offset.consumer_offset
        for queue, offset in queues.items()
    }


def wait_for_lag(topic: TopicOfTest, group: str, wanted: int) -> None:
    gives_up_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < gives_up_at:
        if (found := lags(topic, group)) and sum(found.values()) == wanted:
            return
        time.sleep(0.05)
    raise AssertionError(f"the lag is {lags(topic, group)}")
