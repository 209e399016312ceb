"""Writes messages with Spark, and reads the topic as a DataFrame in a batch and as a stream.

Run:  pip install '.[spark]'                           Java 17 is needed as well
      python examples/27_spark_topic_to_dataframe.py   while `gantry standalone` runs

The stream with the trigger `availableNow` reads all stored messages and ends. Its checkpoint stores
its position, so the next run reads only newer messages.

Prints:
    topic -> DataFrame:
    paid 2
    sent 1
    the stream read 3 messages
    and then 1 more
"""

import os
import sys
import tempfile
import time

from pyspark.sql import DataFrame, SparkSession

from gantrymq.client.blocking import Admin
from gantrymq.spark import configure

NAME_SERVERS = os.environ.get("NAMESRV_ADDR", "127.0.0.1:9876")
TOPIC = f"orders-{time.time_ns()}"
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # Spark starts its workers with it


def write(rows: DataFrame) -> None:
    writer = rows.write.format("rocketmq").option("nameServer", NAME_SERVERS)
    writer.option("topic", TOPIC).mode("append").save()


def read_on(spark: SparkSession, folder: str) -> int:
    """How many messages the stream finds that it has not read before."""
    stream = spark.readStream.format("rocketmq").option("nameServer", NAME_SERVERS)
    stream = stream.option("topic", TOPIC).option("startingOffsets", "earliest")
    target = stream.load().writeStream.format("parquet").option("path", f"{folder}/orders")
    query = target.option("checkpointLocation", f"{folder}/checkpoint")
    running = query.trigger(availableNow=True).start()
    running.awaitTermination()
    return sum(progress.numInputRows for progress in running.recentProgress)


def main() -> None:
    with Admin(name_servers=NAME_SERVERS) as admin:
        admin.create_topic(TOPIC, queues=2)
    builder = configure(SparkSession.builder.master("local[2]"))
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()

    orders = [("coffee", "paid"), ("tea", "paid"), ("cocoa", "sent")]
    write(spark.createDataFrame(orders, "body string, tags string"))

    print("topic -> DataFrame:")
    reader = spark.read.format("rocketmq").option("nameServer", NAME_SERVERS)
    for row in (
        reader.option("topic", TOPIC).load().groupBy("tags").count().orderBy("tags").collect()
    ):
        print(row["tags"], row["count"])

    with tempfile.TemporaryDirectory() as folder:
        print("the stream read", read_on(spark, folder), "messages")
        write(spark.createDataFrame([("water", "paid")], "body string, tags string"))
        print("and then", read_on(spark, folder), "more")
    spark.stop()


if __name__ == "__main__":
    main()
