"""What jobs make of messages, in real Spark, on rows that tests make up."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as f

from gantrymq.fakes.spark_rows import Message, at, message_rows
from gantrymq.spark.jobs import dead_letters, stats, trace_records, traces
from gantrymq.spark.jobs.archiving.rows import filtered
from gantrymq.spark.jobs.arguments import Filters
from gantrymq.spark.jobs.sending import sendable

pytestmark = pytest.mark.newest_spark


def offsets(rows: DataFrame) -> list[int]:
    return sorted(row["queueOffset"] for row in rows.collect())


# ---------------------------------------------------------------- filters
def test_filters_leave_messages_with_a_tag_and_a_key_that_where_allows(spark: SparkSession) -> None:
    rows = message_rows(
        spark,
        {"tags": "paid", "keys": "a b", "properties": {"country": "de"}},
        {"tags": "paid", "keys": "ab", "properties": {"country": "de"}},
        {"tags": "open", "keys": "b", "properties": {"country": "fr"}},
        {},
    )
    assert offsets(filtered(rows, Filters())) == [0, 1, 2, 3]
    assert offsets(filtered(rows, Filters(tags=("paid",)))) == [0, 1]
    assert offsets(filtered(rows, Filters(keys=("b", "x")))) == [0, 2]
    assert offsets(filtered(rows, Filters(where="properties['country'] = 'de'"))) == [0, 1]
    assert offsets(filtered(rows, Filters(("open",), ("b",), "queueOffset > 2"))) == []


# ---------------------------------------------------------------- replay
def test_a_copy_keeps_what_the_sender_said_and_is_marked(spark: SparkSession) -> None:
    rows = message_rows(
        spark,
        {
            "tags": "paid",
            "keys": "k1 k2",
            "flag": 3,
            "properties": {
                "KEYS": "k1 k2",
                "TAGS": "paid",
                "UNIQ_KEY": "AC",
                "__SHARDINGKEY": "customer",
                "country": "de",
                "REPLAY_ID": "an earlier one",
                "GANTRY_SESSION": "s",
            },
        },
        {"properties": None, "queueId": 5},
    )
    copies = sorted(
        sendable(rows, f.lit("again"), "r1").collect(), key=lambda row: str(row["tags"])
    )
    assert [copy["topic"] for copy in copies] == ["again", "again"]
    bare, full = copies
    assert full["properties"] == {"country": "de", "REPLAY_ID": "r1"}
    assert (full["tags"], full["keys"], full["flag"]) == ("paid", "k1 k2", 3)
    assert (full["body"], full["shardingKey"]) == (b"body", "customer")
    assert bare["properties"] == {"REPLAY_ID": "r1"}
    assert bare["shardingKey"] == "orders broker-a 5"


def test_copies_of_a_queue_are_one_task_in_order_whatever_order_they_were_read_in(
    spark: SparkSession,
) -> None:
    messages: list[Message] = [
        {"queueId": number % 3, "queueOffset": number // 3} for number in range(60)
    ]
    first = _placed(message_rows(spark, *messages))
    second = _placed(message_rows(spark, *reversed(messages)).repartition(5))
    assert first == second
    for queue in range(3):
        tasks = {task for task, key, _ in first if key == f"orders broker-a {queue}"}
        assert len(tasks) == 1
    in_queue = [body for _, key, body in first if key == "orders broker-a 1"]
    assert in_queue == sorted(in_queue)


def _placed(rows: DataFrame) -> list[tuple[int, str, int]]:
    """The task, the key and the offset of each copy, in the order of its task."""
    numbered = rows.withColumn("body", rows["queueOffset"].cast("string").cast("binary"))
    tasks = sendable(numbered, f.col("topic"), "r").rdd.glom().collect()
    return [
        (task, row["shardingKey"], int(row["body"]))
        for task, part in enumerate(tasks)
        for row in part
    ]


# ---------------------------------------------------------------- stats
def test_messages_are_counted_by_minute_topic_and_tag(spark: SparkSession) -> None:
    rows = message_rows(
        spark,
        {"tags": "a", "body": b"x" * 10, "storeTimestamp": at(1)},
        {"tags": "a", "body": b"x" * 30, "storeTimestamp": at(59), "bornTimestamp": at(58.5)},
        {"tags": "a", "body": b"x", "storeTimestamp": at(60), "bornTimestamp": at(60)},
        {"tags": None, "body": b"", "storeTimestamp": at(61), "bornTimestamp": at(61)},
    )
    counted = stats.by_time(_sized(rows), "minute").orderBy("time", "tag").collect()
    assert [(row["time"].second, row["tag"], row["messages"], row["bytes"]) for row in counted] == [
        (0, "a", 2, 40),
        (0, None, 1, 0),
        (0, "a", 1, 1),
    ]
    first = counted[0]
    assert (first["size_p50"], first["size_p95"]) == (10, 30)
    assert (first["delay_p50_ms"], first["delay_p95_ms"]) == (500, 1000)


def test_top_keys_and_producers_count_each_key_and_no_port(spark: SparkSession) -> None:
    rows = message_rows(
        spark,
        {"keys": "a b", "bornHost": "10.0.0.1:5000"},
        {"keys": "a", "bornHost": "10.0.0.1:6000"},
        {"keys": "", "bornHost": "[fe80::1]:6000"},
        {"keys": None, "bornHost": None},
    )
    assert [tuple(row) for row in stats.top_keys(rows, 1).collect()] == [("orders", "a", 2)]
    assert {tuple(row) for row in stats.top_producers(rows, 5).collect()} == {
        ("orders", "10.0.0.1", 2),
        ("orders", "fe80::1", 1),
    }


def _sized(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("*", "octet_length(body) AS size")


# ---------------------------------------------------------------- dlq
def test_dead_letters_are_told_by_group_and_first_topic(spark: SparkSession) -> None:
    rows = message_rows(
        spark,
        {
            "topic": "%DLQ%pay",
            "reconsumeTimes": 16,
            "storeTimestamp": at(9),
            "properties": {"RETRY_TOPIC": "orders"},
            "msgId": "early",
        },
        {
            "topic": "%DLQ%pay",
            "reconsumeTimes": 16,
            "storeTimestamp": at(11),
            "properties": {"DLQ_ORIGIN_TOPIC": "orders", "RETRY_TOPIC": "other"},
            "msgId": "late",
            "body": b"\xffbad",
        },
        {"topic": "%RETRY%a%b", "reconsumeTimes": 1, "properties": {"RETRY_TOPIC": "bills"}},
    )
    rows = dead_letters.with_origin(rows)
    grouped = [tuple(row)[:5] for row in dead_letters.by_group(rows).collect()]
    assert grouped == [("DLQ", "pay", "orders", 16, 2), ("RETRY", "a%b", "bills", 1, 1)]
    samples = dead_letters.latest(rows, 1).collect()
    assert [row["msgId"] for row in samples] == ["late", None]


def test_topics_of_groups_are_found_by_kind_and_name() -> None:
    names = ["orders", "%DLQ%pay", "%RETRY%pay", "%DLQ%other", "%SYS%x"]
    assert dead_letters.wanted(names, (), ("DLQ",)) == ["%DLQ%other", "%DLQ%pay"]
    assert dead_letters.wanted(names, ("pay",), ("DLQ", "RETRY")) == ["%DLQ%pay", "%RETRY%pay"]


# ---------------------------------------------------------------- trace
def line(*fields: object) -> str:
    return "\x01".join(map(str, fields)) + "\x02"


def sent(message_id: str, at_ms: int, *, success: bool = True, topic: str = "orders") -> str:
    text = str(success).lower()
    head = ("Pub", at_ms, "region", "producers", topic, message_id, "tag", "key", "host")
    return line(*head, 10, 5, 0, "offset-id", text)


def delivered(message_id: str, at_ms: int, request: str, cost_ms: int, result: str) -> str:
    before = line("SubBefore", at_ms, "region", "consumers", request, message_id, 0, "key")
    return before + line("SubAfter", request, message_id, cost_ms, result, "key", 0)


def records(spark: SparkSession, *bodies: str) -> DataFrame:
    messages: list[Message] = [{"body": body.encode()} for body in bodies]
    rows = message_rows(spark, *messages)
    return trace_records.fields(rows)


def test_traces_tell_costs_losses_and_the_way_of_a_message(spark: SparkSession) -> None:
    every = records(
        spark,
        sent("m1,m2", 1000) + sent("m3", 2000) + sent("m4", 3000, success=False),
        delivered("m1", 1100, "r1", 50, "true") + "\n" + delivered("m2", 1200, "r1", 70, "false"),
        line("SubBefore", 1900, "region", "consumers", "r2", "m2", 1, "key"),
        line("Recall", 1, "r", "g", "orders", "m9", "true"),
        sent("young", 9000),
    )
    sends, deliveries = trace_records.sends(every), trace_records.deliveries(every)
    missed = traces.never_consumed(sends, deliveries, before_ms=9000)
    assert [row["messageId"] for row in missed.collect()] == ["m3"]
    (topic,) = traces.by_topic(sends, missed).collect()
    assert topic.asDict() == {
        "topic": "orders",
        "sent": 4,
        "failed": 1,
        "never_consumed": 1,
        "send_p50_ms": 5,
        "send_p95_ms": 5,
    }
    (group,) = traces.by_group(sends, deliveries).collect()
    assert group == Row(
        topic="orders",
        group="consumers",
        deliveries=3,
        retries=1,
        failed=1,
        unfinished=1,
        consume_p50_ms=50,
        consume_p95_ms=70,
        end_to_end_p50_ms=150,
        end_to_end_p95_ms=150,
    )


def test_lines_that_are_no_trace_are_passed_over(spark: SparkSession) -> None:
    every = records(spark, "hello", line("Pub", "x"), line("SubBefore", "no number"), "\x02\x02")
    assert trace_records.sends(every).collect() == []
    assert [row["startedMs"] for row in trace_records.deliveries(every).collect()] == [None]
