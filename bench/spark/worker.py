"""Runs a Spark session of one side, with orders and results as JSON on stdin and stdout.

    {"do": "fill", "topic": ..., "rows": n, "filler": hex}   sends rows (Kafka; Gantry has a client)
    {"do": "aggregate", "topic": ...}            reads all columns; counts rows, bytes and offsets
    {"do": "noop", "topic": ...}                 reads all columns, and writes them nowhere
    {"do": "two columns", "topic": ...}          like aggregate, with a schema of two columns, which
                                                 are then the only ones that the source builds
                                                 (Gantry)
    {"do": "stream", "topic": ..., "rows": n}    micro-batches of n rows until the topic ends

Run:  python -m bench.spark.worker kafka|gantry ADDRESS FOLDER [JARS]
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final, final

from pyspark.sql import DataFrame, DataFrameReader, SparkSession
from pyspark.sql.streaming.readwriter import DataStreamReader

from gantrymq.spark import configure

JVM_MEMORY: Final = "2g"
COUNTS: Final = {
    "kafka": ("count(*)", "sum(length(value))", "max(offset)"),
    "gantry": ("count(*)", "sum(length(body))", "max(queueOffset)"),
}
PROGRESS_KEPT: Final = "1000"
FILL_TIMEOUT_MS: Final = "600000"  # a busy machine may take minutes to create the topic


@final
class Worker:
    """One session, and the side that it reads from."""

    def __init__(self, side: str, address: str, folder: Path, jars: str) -> None:
        self._side = side
        self._address = address
        self._folder = folder
        settings = {
            "spark.driver.memory": JVM_MEMORY,
            "spark.jars": jars,
            "spark.local.dir": str(folder / "local"),
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.streaming.numRecentProgressUpdates": PROGRESS_KEPT,
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        builder = configure(SparkSession.builder.master("local[2]").appName(f"bench-{side}"))
        for name, value in settings.items():
            builder = builder.config(name, value)
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:  # Any: values of JSON
        topic = order["topic"]
        match order["do"]:
            case "fill":
                return self._timed(lambda: self._fill(topic, order["rows"], order["filler"]))
            case "aggregate":
                return self._timed(lambda: self._counts(self._batch(topic)))
            case "two columns":
                pruned = self._reader(topic).schema("queueOffset bigint, body binary").load()
                return self._timed(lambda: self._counts(pruned))
            case "noop":
                write = self._batch(topic).write.format("noop").mode("overwrite")
                return self._timed(write.save)
            case "stream":
                return {"batch_ms": self._stream(topic, order["rows"])}
        raise ValueError(f"no order {order['do']}")

    def _timed(self, work: Any) -> dict[str, Any]:  # Any: a function of no arguments
        began = time.monotonic()
        result = work()
        return {"seconds": time.monotonic() - began, "counts": result}

    def _reader(self, topic: str) -> DataFrameReader:
        reader: DataFrameReader = self._with_source(self._spark.read, topic)
        return reader

    def _batch(self, topic: str) -> DataFrame:
        return self._reader(topic).load()

    def _with_source(self, reader: Any, topic: str) -> Any:  # Any: of a batch or a stream
        if self._side == "kafka":
            reader = reader.format("kafka").option("kafka.bootstrap.servers", self._address)
            return reader.option("subscribe", topic).option("startingOffsets", "earliest")
        reader = reader.format("rocketmq").option("nameServer", self._address)
        return reader.option("topic", topic).option("startingOffsets", "earliest")

    def _counts(self, frame: DataFrame) -> list[int]:
        row = frame.selectExpr(*COUNTS[self._side]).collect()[0]
        return [int(value) for value in row]

    def _fill(self, topic: str, rows: int, filler: str) -> None:
        number = "unhex(lpad(hex(id), 16, '0'))"
        values = self._spark.range(rows).selectExpr(f"concat({number}, unhex('{filler}')) value")
        write = values.write.format("kafka").option("kafka.bootstrap.servers", self._address)
        write = write.option("kafka.delivery.timeout.ms", FILL_TIMEOUT_MS)
        write.option("topic", topic).save()

    def _stream(self, topic: str, rows: int) -> list[int]:
        """The duration of each micro-batch with rows in ms, including the first ones."""
        reader: DataStreamReader = self._with_source(self._spark.readStream, topic)
        stream = reader.option("maxOffsetsPerTrigger", str(rows)).load()
        with tempfile.TemporaryDirectory(dir=self._folder) as checkpoint:
            writer = stream.writeStream.format("noop").option("checkpointLocation", checkpoint)
            query = writer.start()
            query.processAllAvailable()
            query.stop()
            reports = [json.loads(each.json) for each in query.recentProgress]
        return [
            int(each["durationMs"]["triggerExecution"]) for each in reports if each["numInputRows"]
        ]


def main() -> None:
    side, address, folder, *jars = sys.argv[1:]
    worker = Worker(side, address, Path(folder), ",".join(jars))
    print(json.dumps({"is_ready": True}), flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.obey(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
