"""`spark.read.format("rocketmq")` in real Spark: found by name, read by SQL, failing in time."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType

from gantrymq.spark.columns import COLUMNS
from gantrymq.spark_cases.topics import TopicOfTest
from gantrymq.testing.server import StandaloneServer

MESSAGES = 200


@pytest.fixture(scope="module")
def topic(gantry_server: StandaloneServer) -> TopicOfTest:
    topic = TopicOfTest(gantry_server)
    topic.send(MESSAGES, tag="paid", price="5")
    return topic


def load(spark: SparkSession, read: TopicOfTest, **options: object) -> DataFrame:
    return spark.read.format("rocketmq").options(**read.options(**options)).load()


def bodies(frame: DataFrame) -> list[str]:
    return sorted(row.body.decode() for row in frame.select("body").collect())


@pytest.mark.newest_spark
def test_a_batch_has_every_message_in_all_columns(spark: SparkSession, topic: TopicOfTest) -> None:
    frame = load(spark, topic)
    rows = frame.collect()
    assert frame.columns == [column.name for column in COLUMNS]
    assert sorted(row.body.decode() for row in rows) == sorted(topic.sent)
    assert {(row.topic, row.tags, row.brokerName) for row in rows} == {
        (topic.name, "paid", "broker-a")
    }
    assert all(row["keys"] == row.body.decode() for row in rows)
    assert all(row.properties["price"] == "5" for row in rows)
    places = {(row.queueId, row.queueOffset) for row in rows}
    assert places == {(queue, offset) for queue in range(4) for offset in range(MESSAGES // 4)}


def test_sql_knows_the_format(spark: SparkSession, topic: TopicOfTest) -> None:
    options = ", ".join(f"`{name}` '{value}'" for name, value in topic.options().items())
    spark.sql(f"CREATE OR REPLACE TEMPORARY VIEW orders USING rocketmq OPTIONS ({options})")
    (row,) = spark.sql(
        "SELECT count(*) AS n, max(queueOffset) AS last FROM orders WHERE queueId < 2"
    ).collect()
    assert (row.n, row.last) == (MESSAGES // 2, MESSAGES // 4 - 1)


def test_a_schema_of_the_user_has_its_columns_in_its_order(
    spark: SparkSession, topic: TopicOfTest
) -> None:
    reader = spark.read.format("rocketmq").options(**topic.options())
    frame = reader.schema("QUEUEOFFSET bigint, body binary, properties string").load()
    assert frame.columns == ["QUEUEOFFSET", "body", "properties"]
    row = frame.orderBy("QUEUEOFFSET").first()
    assert row is not None
    assert row.QUEUEOFFSET == 0
    assert '"TAGS":"paid"' in row.properties.replace(" ", "")
    as_json = load(spark, topic, propertiesFormat="json", columns="properties")
    assert as_json.schema.fields[0].dataType == StringType()


def test_filters_are_pushed_to_the_plan(spark: SparkSession, topic: TopicOfTest) -> None:
    where = "queueId = 1 AND queueOffset >= 45 AND body IS NOT NULL"
    pushed = load(spark, topic, filterPushdown=True).where(where)
    assert pushed.rdd.getNumPartitions() == 1
    assert bodies(pushed) == bodies(load(spark, topic).where(where))
    assert pushed.count() == 5


def test_an_empty_range_is_an_empty_frame(spark: SparkSession, topic: TopicOfTest) -> None:
    assert load(spark, topic, subExpression="no-such-tag").count() == 0
    assert load(spark, topic, endingTimestamp="1").count() == 0


def test_a_task_that_is_run_again_reads_the_same(spark: SparkSession, topic: TopicOfTest) -> None:
    def fail_once(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        assert context is not None
        yield from batches
        if context.attemptNumber() == 0:
            raise RuntimeError("the first attempt of every task fails at its end")

    frame = load(spark, topic, minPartitions=6).select("body")
    assert bodies(frame.mapInArrow(fail_once, frame.schema)) == sorted(topic.sent)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"topic": "no-such-topic"}, "no name server knows no-such-topic"),
        ({"startingOffsets": "latest"}, "startingOffsets='latest' cannot be used"),
        ({"secretKey": "hunter2"}, "secretkey is refused"),
        ({"columns": "colour"}, "names the column colour"),
    ],
)
def test_wrong_options_fail_before_any_task(
    spark: SparkSession, topic: TopicOfTest, options: dict[str, str], text: str
) -> None:
    with pytest.raises(AnalysisException, match=text) as raised:
        load(spark, topic, **options).count()
    assert "hunter2" not in str(raised.value)
