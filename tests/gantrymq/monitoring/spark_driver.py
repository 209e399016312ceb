"""Runs a Spark driver with streaming queries that fail, hang, fall behind and lose messages.

    python -m gantrymq.monitoring.spark_driver NAMESRV PORT FOLDER

Its metrics are at PORT. It takes a word a line on standard input, and answers `done`:

    fail    run a query whose code fails
    stall   start one on `stalling` whose second micro-batch hangs; `unstall` lets it go on
    behind  start one on `behind` that takes a message in each micro-batch; `catch-up` starts it
            again without that limit
    read    read all of `lossy`, and end; `again` goes on there, whatever was deleted meanwhile
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path
from typing import Final, final

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from gantrymq.spark import configure
from gantrymq.spark.metrics import serve

JVM_MEMORY: Final = "1g"
SETTINGS: Final = {
    "spark.driver.memory": JVM_MEMORY,
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@final
class Driver:
    """The Spark session and its queries."""

    def __init__(self, name_servers: str, port: int, folder: Path) -> None:
        builder = configure(SparkSession.builder.master("local[2]").appName("monitored"))
        folders = {"spark.local.dir": folder / "local", "spark.sql.warehouse.dir": folder / "house"}
        for name, value in {**SETTINGS, **folders}.items():
            builder = builder.config(name, str(value))
        self._spark = builder.getOrCreate()
        self._spark.sparkContext.setLogLevel("ERROR")
        self._name_servers = name_servers
        self._folder = folder
        self._may_go_on = threading.Event()
        self._slow: StreamingQuery | None = None
        serve(self._spark, port, "127.0.0.1")

    def obey(self, word: str) -> None:
        """Carry out one line of standard input."""
        {
            "fail": self._fail,
            "stall": self._stall,
            "unstall": self._may_go_on.set,
            "behind": self._fall_behind,
            "catch-up": self._catch_up,
            "read": self._read,
            "again": self._read,
        }[word]()

    def _fail(self) -> None:
        rows = self._spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
        query = self._writer(rows.selectExpr("raise_error('on purpose')"), "failing").start()
        try:
            query.awaitTermination()
        except StreamingQueryException:
            return
        raise AssertionError("the query does not fail")

    def _stall(self) -> None:
        def take(frame: DataFrame, number: int) -> None:
            frame.collect()
            if number == 1:
                self._may_go_on.wait()

        rows = self._rows("stalling", maxOffsetsPerTrigger=1)
        rows.writeStream.foreachBatch(take).queryName("stalling").option(
            "checkpointLocation", str(self._folder / "stalling")
        ).start()

    def _fall_behind(self) -> None:
        rows = self._rows("behind", maxOffsetsPerTrigger=1)
        self._slow = self._writer(rows, "behind").start()

    def _catch_up(self) -> None:
        assert self._slow is not None
        self._slow.stop()
        self._writer(self._rows("behind"), "behind").start()

    def _read(self) -> None:
        rows = self._rows("lossy", failOnDataLoss=False)
        self._writer(rows, "losing").trigger(availableNow=True).start().awaitTermination()

    def _rows(self, topic: str, **options: object) -> DataFrame:
        told = {"nameServer": self._name_servers, "topic": topic, "startingOffsets": "earliest"}
        more = {name: str(value) for name, value in options.items()}
        return self._spark.readStream.format("rocketmq").options(**told, **more).load()

    def _writer(self, rows: DataFrame, name: str) -> DataStreamWriter:
        checkpoint = str(self._folder / name)
        writer = rows.writeStream.format("noop").queryName(name)
        return writer.option("checkpointLocation", checkpoint)


def main(name_servers: str, port: str, folder: str) -> None:
    """Carry out lines until standard input ends."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    driver = Driver(name_servers, int(port), Path(folder))
    print("done", flush=True)  # noqa: T201 - the test waits for it
    for line in sys.stdin:
        driver.obey(line.strip())
        print("done", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
