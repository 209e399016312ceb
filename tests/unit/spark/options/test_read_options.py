"""The options of reads: what they become, and which cannot stand together."""

from __future__ import annotations

import pickle

import pytest

from gantrymq.client.core.group.subscriptions import Sql
from gantrymq.spark.options import RocketMQOptionError
from gantrymq.spark.options.assignment import EARLIEST, LATEST, QueueKey
from gantrymq.spark.options.read_options import (
    ByGroup,
    ByOffset,
    ByTimestamp,
    batch_options,
    column_names,
    properties_are_json,
    stream_options,
)

LEAST = {"nameServer": "n:9876", "topic": "orders"}


def test_a_batch_reads_all_messages_by_default() -> None:
    options = batch_options(LEAST, {})
    assert (options.starting, options.ending) == (ByOffset(EARLIEST), ByOffset(LATEST))
    assert options.read.selection.topics == ("orders",)
    assert options.read.fail_on_data_loss


def test_a_stream_begins_at_the_latest_message_by_default() -> None:
    options = stream_options(LEAST, {})
    assert options.starting == ByOffset(LATEST)
    assert options.commit_progress
    assert not options.allow_shared_group


def test_the_options_of_rocketmq_spark_are_taken_as_they_are() -> None:
    texts = {
        "nameServer": "n:9876",
        "topic": "orders",
        "group": "readers",
        "subExpression": "paid || shipped",
        "startingOffsets": '{"orders":{"broker-a":{"0":23,"1":-1}}}',
        "pullTimeoutMs": "3000",
        "pullBatchSize": "32",
        "failOnDataLoss": "false",
    }
    options = stream_options(texts, {})
    assert options.read.pull.timeout_s == 3
    named = {QueueKey("orders", "broker-a", 0): 23, QueueKey("orders", "broker-a", 1): LATEST}
    assert options.starting == ByOffset(EARLIEST, named)


def test_the_environment_names_the_name_servers_where_no_option_does() -> None:
    options = batch_options({"topic": "a"}, {"NAMESRV_ADDR": "n1:9876;n2:9876"})
    assert options.read.connection.name_servers == ("n1:9876", "n2:9876")


def test_a_position_is_given_by_a_group_or_a_timestamp() -> None:
    by_group = batch_options({**LEAST, "startingOffsets": "group", "group": "g"}, {})
    assert by_group.starting == ByGroup("g")
    by_time = batch_options(
        {**LEAST, "startingTimestamp": "1000", "startingTimestampStrategy": "error"}, {}
    )
    assert by_time.starting == ByTimestamp(1000, None, must_exist=True)
    until = batch_options({**LEAST, "endingOffsetsByTimestamp": '{"t":{"b":{"0":7}}}'}, {})
    assert until.ending == ByTimestamp(None, {QueueKey("t", "b", 0): 7})


def test_an_sql_expression_is_marked_as_one() -> None:
    options = batch_options({**LEAST, "subExpression": "a > 3", "subExpressionType": "sql92"}, {})
    assert options.read.expression == Sql("a > 3")


@pytest.mark.parametrize(
    ("texts", "text"),
    [
        ({"topic": "a"}, "nameServer is missing"),
        ({"nameServer": "n:1"}, "nothing says what to read"),
        ({**LEAST, "topicPattern": "a.*"}, "topic, topicPattern exclude each other"),
        ({**LEAST, "startingOffsets": "latest"}, "startingOffsets='latest'"),
        ({**LEAST, "startingOffsets": '{"t":{"b":{"0":-1}}}'}, "startingOffsets=-1"),
        ({**LEAST, "startingOffsets": "group"}, "needs the option group"),
        ({**LEAST, "startingOffsets": "earliest", "startingTimestamp": "1"}, "exclude each other"),
        ({**LEAST, "endingOffsets": "earliest"}, "endingOffsets='earliest'"),
        ({**LEAST, "endingOffsets": '{"t":{"b":{"0":-2}}}'}, "endingOffsets=-2"),
        ({**LEAST, "subExpression": "||"}, "subExpression='\\|\\|'"),
        ({**LEAST, "group": "two words"}, "group='two words' cannot be used"),
        ({**LEAST, "pullBatchSize": "0"}, "pullBatchSize='0'"),
        ({**LEAST, "secretKey": "x"}, "put accessKey and secretKey into a file"),
    ],
)
def test_a_batch_refuses_invalid_options(texts: dict[str, str], text: str) -> None:
    with pytest.raises(RocketMQOptionError, match=text):
        batch_options(texts, {})


def test_a_stream_refuses_a_minimum_above_the_maximum() -> None:
    texts = {**LEAST, "minOffsetsPerTrigger": "10", "maxOffsetsPerTrigger": "5"}
    with pytest.raises(RocketMQOptionError, match="minOffsetsPerTrigger=10 is above"):
        stream_options(texts, {})


def test_columns_are_named_in_their_order() -> None:
    assert column_names({"columns": "body, topic"}) == ("body", "topic")
    assert column_names({}) is None
    assert properties_are_json({"propertiesFormat": "JSON"})
    assert not properties_are_json({})


def test_options_travel_to_executors() -> None:
    made = stream_options(LEAST, {})
    assert pickle.loads(pickle.dumps(made)) == made  # noqa: S301 - our own bytes
