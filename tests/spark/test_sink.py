"""DataFrames written to topics of a real broker: what is stored when runs fail and are repeated."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]  # it has no types of its own
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from gantrymq.client.blocking import Admin
from gantrymq.fakes.stores.stored_bodies import StoredMessage, stored_bodies, stored_messages
from gantrymq.testing.server import StandaloneServer

FORMAT = "rocketmq"


@pytest.fixture
def topic(gantry_server: StandaloneServer, request: pytest.FixtureRequest) -> str:
    return make_topic(gantry_server, request.node.name.split("[", maxsplit=1)[0])


def make_topic(server: StandaloneServer, name: str) -> str:
    with Admin(name_servers=server.name_servers) as admin:
        admin.create_topic(name, queues=4)
    return name


def rows(spark: SparkSession, count: int, partitions: int = 2) -> DataFrame:
    return spark.range(0, count, 1, partitions).select(f.col("id").cast("string").alias("body"))


def write(frame: DataFrame, server: StandaloneServer, topic: str, **options: str) -> None:
    writer = frame.write.format(FORMAT).option("nameServer", server.name_servers)
    writer.option("topic", topic).options(**options).mode("append").save()


def messages(server: StandaloneServer, topic: str) -> list[StoredMessage]:
    return stored_messages(server.name_servers, topic)


def bodies(server: StandaloneServer, topic: str) -> list[int]:
    return sorted(int(message.body) for message in messages(server, topic))


@pytest.mark.newest_spark
def test_all_columns_of_a_batch_are_stored(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str
) -> None:
    frame = spark.sql(
        "SELECT cast('x' AS binary) AS body, 'paid' AS tags, array('k1', 'k2') AS KEYS,"
        " map('a', 'b', 'UNIQ_KEY', 'mine') AS properties, 'customer' AS shardingKey, 5 AS flag,"
        " cast(3 AS tinyint) AS queueId"
    )
    write(frame, gantry_server, topic)
    (message,) = messages(gantry_server, topic)
    assert (message.body, message.flag, message.queue_id) == (b"x", 5, 3)
    said = {"TAGS": "paid", "KEYS": "k1 k2", "a": "b", "__SHARDINGKEY": "customer"}
    assert said.items() <= message.properties.items()
    assert message.properties["UNIQ_KEY"] != "mine"


def test_a_delivery_time_holds_a_message_back(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str
) -> None:
    frame = spark.sql("SELECT 'x' AS body, current_timestamp() + INTERVAL 2 SECONDS AS deliverTime")
    write(frame, gantry_server, topic)
    assert sum(map(len, stored_bodies(gantry_server.name_servers, topic, count=1).values())) == 1


def test_messages_of_a_key_go_to_one_queue_in_order(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str
) -> None:
    frame = rows(spark, 300, partitions=1).withColumn("shardingKey", f.expr("'c' || body % 7"))
    write(frame, gantry_server, topic)
    queues: dict[str, set[int]] = {}
    orders: dict[str, list[int]] = {}
    for message in messages(gantry_server, topic):
        key = message.properties["__SHARDINGKEY"]
        queues.setdefault(key, set()).add(message.queue_id)
        orders.setdefault(key, []).append(int(message.body))
    assert all(len(found) == 1 for found in queues.values())
    assert all(found == sorted(found) for found in orders.values())


def test_a_column_names_the_topic(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str
) -> None:
    other = make_topic(gantry_server, f"{topic}_other")
    choice = f.when(f.col("body") % 2 == 0, topic).otherwise(other)
    writer = rows(spark, 10).withColumn("topic", choice).write.format(FORMAT).mode("append")
    writer.option("nameServer", gantry_server.name_servers).save()
    assert bodies(gantry_server, topic) == [0, 2, 4, 6, 8]
    assert bodies(gantry_server, other) == [1, 3, 5, 7, 9]


def test_a_batch_with_a_sink_id_is_stored_once(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str
) -> None:
    for _ in range(2):
        write(rows(spark, 1000), gantry_server, topic, sinkId="job-7")
    assert bodies(gantry_server, topic) == list(range(1000))


def test_a_batch_without_one_is_stored_each_time(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str
) -> None:
    for _ in range(2):
        write(rows(spark, 10), gantry_server, topic)
    assert len(bodies(gantry_server, topic)) == 20


def test_tasks_of_a_batch_that_fail_half_way_are_retried_and_a_second_run_adds_nothing(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str, tmp_path: Path
) -> None:
    frame = rows(spark, 2000).mapInPandas(breaking(tmp_path / "broken"), "body string")
    write(frame, gantry_server, topic, sinkId="job-8")
    assert list(tmp_path.glob("broken.*")), "no task failed"
    assert bodies(gantry_server, topic) == list(range(2000))
    write(frame, gantry_server, topic, sinkId="job-8")
    assert bodies(gantry_server, topic) == list(range(2000))


def breaking(mark: Path) -> Callable[[Iterator[pd.DataFrame]], Iterator[pd.DataFrame]]:
    """Fails in the middle of each partition, the first time. A closure travels to executors by
    value, which do not have this module."""

    def pieces(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for frame in frames:
            first = frame["body"].iloc[0]
            for start in range(0, len(frame), 100):
                note = mark.with_suffix(f".{first}")
                if start == 500 and not note.exists():
                    note.touch()
                    raise ValueError("on purpose")
                yield frame.iloc[start : start + 100]

    return pieces


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"sinkId": "a/b"}, "option sinkId='a/b'"),
        ({"delivery": "idempotent"}, "needs the option sinkId"),
        ({"delivery": "twice"}, "option delivery='twice'"),
        ({"topic": "a,b"}, "one topic to a write"),
        ({"secretKey": "s"}, "credentialsFile"),
        ({"topic": "nowhere"}, "nowhere"),
    ],
)
def test_bad_options_are_told_before_anything_is_sent(
    spark: SparkSession, gantry_server: StandaloneServer, options: dict[str, str], text: str
) -> None:
    given = {"nameServer": gantry_server.name_servers, "topic": "t", **options}
    with pytest.raises(PySparkException, match=text):
        rows(spark, 1).write.format(FORMAT).options(**given).mode("append").save()


@pytest.mark.parametrize(
    ("select", "text"),
    [
        ("SELECT 1 AS body", "column body is int"),
        ("SELECT 'x' AS value", "column value cannot be written"),
        ("SELECT 'x' AS tags", "column body is missing"),
        ("SELECT 'x' AS body, 't' AS topic", "exclude each other"),
        ("SELECT 'x' AS body, map(1, 'a') AS properties", "map<string,string>"),
        ("SELECT 'x' AS body, 'b' AS brokerName", "needs the column queueId"),
    ],
)
def test_rows_that_cannot_be_written_are_told(
    spark: SparkSession, gantry_server: StandaloneServer, select: str, text: str
) -> None:
    with pytest.raises(PySparkException, match=text):
        write(spark.sql(select), gantry_server, "t")


def test_a_null_body_names_its_row(
    spark: SparkSession, gantry_server: StandaloneServer, topic: str
) -> None:
    frame = rows(spark, 5, partitions=1).select(f.expr("nullif(body, '3')").alias("body"))
    with pytest.raises(PySparkException, match="row 3: the body is empty or null"):
        write(frame, gantry_server, topic)


class Stream:
    """A stream from one topic to another, which may be ended and begun again."""

    def __init__(
        self, spark: SparkSession, server: StandaloneServer, folder: Path, topic: str
    ) -> None:
        self.spark = spark
        self.server = server
        self.checkpoint = folder / "checkpoint"
        self.mark = folder / "broken"
        self.source = make_topic(server, f"{topic}_source")
        self.sink = topic

    def fill(self, first: int, last: int) -> None:
        frame = self.spark.range(first, last, 1, 2).selectExpr("cast(id AS string) AS body")
        write(frame, self.server, self.source)

    def run(self, *, breaks: bool = False) -> None:
        """All that is there, in one micro-batch or several."""
        frame = self.spark.readStream.format(FORMAT).options(**self._options(self.source))
        rows = frame.load().select("body")
        if breaks:
            rows = rows.selectExpr("cast(body AS string) AS body")
            rows = rows.mapInPandas(breaking(self.mark), "body string")
        query = self._started(rows)
        query.awaitTermination()

    def _started(self, rows: DataFrame) -> StreamingQuery:
        writer = rows.writeStream.format(FORMAT).options(**self._options(self.sink))
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        return writer.trigger(availableNow=True).start()

    def forget_last_commit(self) -> None:
        """As if the driver had died between the last write and Spark's note of it."""
        commits = [path for path in (self.checkpoint / "commits").iterdir() if path.name.isdigit()]
        last = max(commits, key=lambda path: int(path.name))
        for path in (last, last.with_name(f".{last.name}.crc")):
            path.unlink(missing_ok=True)

    def _options(self, topic: str) -> dict[str, str]:
        return {
            "nameServer": self.server.name_servers,
            "topic": topic,
            "startingOffsets": "earliest",
        }


@pytest.fixture
def stream(
    spark: SparkSession, gantry_server: StandaloneServer, tmp_path: Path, topic: str
) -> Stream:
    return Stream(spark, gantry_server, tmp_path, topic)


@pytest.mark.newest_spark
def test_a_stream_whose_driver_dies_before_its_commit_stores_nothing_twice(stream: Stream) -> None:
    stream.fill(0, 1000)
    stream.run()
    for _ in range(2):
        stream.forget_last_commit()
        stream.run()
    stream.fill(1000, 1500)
    stream.run()
    assert bodies(stream.server, stream.sink) == list(range(1500))


def test_a_stream_whose_tasks_fail_half_way_stores_nothing_twice(stream: Stream) -> None:
    stream.fill(0, 4000)
    stream.run(breaks=True)
    assert list(stream.mark.parent.glob(f"{stream.mark.name}.*")), "no task failed"
    assert bodies(stream.server, stream.sink) == list(range(4000))


def test_a_stream_keeps_its_queues_when_the_topic_gets_more(stream: Stream) -> None:
    stream.fill(0, 1000)
    stream.run()
    stream.forget_last_commit()
    with Admin(name_servers=stream.server.name_servers) as admin:
        admin.create_topic(stream.sink, queues=7)
    stream.run()
    assert bodies(stream.server, stream.sink) == list(range(1000))


def test_the_place_in_the_session_is_stored_with_each_message(stream: Stream) -> None:
    stream.fill(0, 10)
    stream.run()
    query_id = json.loads((stream.checkpoint / "metadata").read_text())["id"]
    for message in messages(stream.server, stream.sink):
        assert message.properties["GANTRY_SESSION"].startswith(f"{query_id}/")
