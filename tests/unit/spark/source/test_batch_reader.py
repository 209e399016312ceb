"""Batches of real brokers, read as Spark reads them: planned here, read by a pickled copy."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThanOrEqual, InputPartition

from gantrymq.client.blocking import Admin
from gantrymq.spark.options import RocketMQOptionError
from gantrymq.spark.source import reading
from gantrymq.spark.source.batch_reader import BatchReader, FilteringBatchReader
from gantrymq.spark.source.planning.bounds import QueueSpan
from gantrymq.spark.source.planning.data_loss import DataLossError
from gantrymq.spark_cases.topics import (
    TopicOfTest,
    batch,
    batch_reader,
    bodies,
    next_millisecond,
)
from gantrymq.testing.server import StandaloneServer
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import MessageQueue

BROKER = "broker-a"


def test_a_batch_reads_every_message_once(topic: TopicOfTest) -> None:
    topic.send(50)
    assert batch(topic.options()) == sorted(topic.sent)


def test_an_empty_topic_is_no_task(topic: TopicOfTest) -> None:
    reader = batch_reader(topic.options())
    assert list(reader.partitions()) == []
    assert bodies(reader, [InputPartition(None)]) == []


def test_topics_are_chosen_by_list_and_by_pattern(gantry_server: StandaloneServer) -> None:
    topics = [TopicOfTest(gantry_server, name=f"chosen-{name}") for name in ("a", "b", "c")]
    for each in topics:
        each.send(3)
    both = sorted(topics[0].sent + topics[1].sent)
    assert batch(topics[0].options(topic="chosen-a, chosen-b")) == both
    by_pattern = topics[0].options(topic=None, topicPattern="chosen-[ab]")
    assert batch(by_pattern) == both


def test_queues_are_assigned(topic: TopicOfTest) -> None:
    topic.send(20)
    assign = f'{{"{topic.name}":{{"{BROKER}":[1,2]}}}}'
    reader = batch_reader(topic.options(topic=None, assign=assign))
    tasks = list(reader.partitions())
    assert [task.value.queue.queue_id for task in tasks] == [1, 2]
    assert len(bodies(reader, tasks)) == 10


def test_offsets_say_where_a_batch_begins_and_ends(topic: TopicOfTest) -> None:
    topic.send(40)
    offsets = {
        "startingOffsets": f'{{"{topic.name}":{{"{BROKER}":{{"0":4,"1":-2}}}}}}',
        "endingOffsets": f'{{"{topic.name}":{{"{BROKER}":{{"0":6,"1":-1,"2":3}}}}}}',
    }
    tasks = list(batch_reader(topic.options(**offsets)).partitions())
    ranges = [(task.value.queue.queue_id, task.value.start, task.value.end) for task in tasks]
    assert ranges == [(0, 4, 6), (1, 0, 10), (2, 0, 3), (3, 0, 10)]


def test_times_say_where_a_batch_begins_and_ends(topic: TopicOfTest) -> None:
    topic.send(8)
    between_ms = next_millisecond()
    later = topic.send(6)
    after_ms = next_millisecond()
    assert batch(topic.options(startingOffsets=None, startingTimestamp=between_ms)) == sorted(later)
    assert batch(topic.options(endingTimestamp=between_ms)) == sorted(topic.sent[:8])
    assert batch(topic.options(endingTimestamp=after_ms)) == sorted(topic.sent)
    assert batch(topic.options(startingOffsets=None, startingTimestamp=after_ms)) == []
    named = f'{{"{topic.name}":{{"{BROKER}":{{"0":{between_ms}}}}}}}'
    by_queue = topic.options(startingOffsets=None, startingOffsetsByTimestamp=named)
    assert len(batch(by_queue)) == len(topic.sent) - 2


def test_a_time_without_messages_fails_with_the_error_strategy(topic: TopicOfTest) -> None:
    topic.send(8)
    late = {"startingTimestamp": next_millisecond(), "startingTimestampStrategy": "error"}
    with pytest.raises(RocketMQOptionError, match="no message was stored at or after"):
        batch(topic.options(startingOffsets=None, **late))


def test_a_batch_continues_at_the_offsets_of_a_group(topic: TopicOfTest) -> None:
    topic.send(40)
    with Admin(name_servers=topic.server.name_servers) as admin:
        admin.groups.create([topic.server.broker], GroupConfig(group_name="consumers")).all()
        queue = MessageQueue(topic.name, BROKER, 0)
        admin.offsets.move(topic.server.broker, "consumers", queue, 7)
    tasks = batch_reader(topic.options(startingOffsets="group", group="consumers")).partitions()
    assert [task.value.start for task in tasks] == [7, 0, 0, 0]


def test_a_group_without_offsets_begins_at_the_earliest(topic: TopicOfTest) -> None:
    topic.send(8)
    unknown = topic.options(startingOffsets="group", group="never-seen")
    assert batch(unknown) == sorted(topic.sent)


def test_brokers_filter_by_tags_and_by_sql(topic: TopicOfTest) -> None:
    paid = topic.send(10, tag="paid", price="5")
    dear = topic.send(10, tag="shipped", price="50")
    topic.send(10, tag="open")
    assert batch(topic.options(subExpression="paid || shipped")) == sorted(paid + dear)
    sql = {"subExpression": "price > 10", "subExpressionType": "SQL92"}
    assert batch(topic.options(**sql)) == dear
    # "AaAa" and "BBBB" have the same hash, which is all that brokers compare.
    alike = topic.send(4, tag="AaAa")
    topic.send(4, tag="BBBB")
    assert batch(topic.options(subExpression="AaAa", columns="body,tags")) == alike
    assert batch(topic.options(subExpression="AaAa", columns="body")) == alike


def test_ranges_are_split_into_tasks(topic: TopicOfTest) -> None:
    topic.send(40)
    reader = batch_reader(topic.options(minPartitions=8))
    tasks = list(reader.partitions())
    assert len(tasks) == 8
    assert bodies(reader, tasks) == sorted(topic.sent)
    assert len(list(batch_reader(topic.options(maxRecordsPerPartition=3)).partitions())) == 16


def test_filters_of_the_query_leave_out_ranges(topic: TopicOfTest) -> None:
    topic.send(40)
    assert type(batch_reader(topic.options())) is BatchReader
    reader = batch_reader(topic.options(filterPushdown=True))
    assert isinstance(reader, FilteringBatchReader)
    filters = [EqualTo(("queueId",), 2), GreaterThanOrEqual(("queueOffset",), 7)]
    assert list(reader.pushFilters(filters)) == filters
    (task,) = reader.partitions()
    assert task.value[1:] == (7, 10)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"topic": "no-such-topic"}, "no name server knows no-such-topic"),
        ({"startingOffsets": '{"u":{"b":{"0":1}}}'}, "names queues that are not read: u b 0"),
        ({"topic": None, "assign": '{"TOPIC":{"broker-a":[9]}}'}, "not there: spark-[0-9]+ .* 9"),
        ({"credentialsFile": "/no/such/file"}, "credentialsFile='/no/such/file' cannot be used"),
        ({"tlsFile": "/no/such/file"}, "tlsFile='/no/such/file' cannot be used"),
        ({"columns": "body,colour"}, "names the column colour"),
    ],
)
def test_wrong_options_fail_before_any_task(
    topic: TopicOfTest, more: dict[str, str | None], text: str
) -> None:
    named = {
        name: value.replace("TOPIC", topic.name) if value else value for name, value in more.items()
    }
    with pytest.raises(RocketMQOptionError, match=text):
        batch_reader(topic.options(**named)).partitions()


def test_a_range_behind_the_end_fails_or_ends_early(
    topic: TopicOfTest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a failover that lost the newest messages; ten seconds of waiting are a short one."""
    real = reading.bulk_settings
    monkeypatch.setattr(
        reading, "bulk_settings", lambda options: replace(real(options), truncated_after_s=0.2)
    )
    topic.send(4)
    reader = batch_reader(topic.options(failOnDataLoss=False))
    (first, *_) = reader.partitions()
    span: QueueSpan = first.value
    beyond = InputPartition(span._replace(end=span.end + 5))
    assert len(bodies(reader, [beyond])) == 1
    with pytest.raises(DataLossError, match="offsets 1 to 5 were read or planned"):
        bodies(batch_reader(topic.options()), [beyond])
