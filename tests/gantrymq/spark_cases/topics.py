"""A topic of a real broker, with messages that are all different, and its reads through the source.

The reads go through the readers that Spark is given, without Spark: what Spark adds is tested in
tests/spark. A reader is pickled before it reads, as it travels to executors.
"""

from __future__ import annotations

import itertools
import pickle
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, final

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition

from gantrymq.client.blocking import Admin, Producer
from gantrymq.client.core.message import Message
from gantrymq.spark.source.stream_reader import StreamReader
from gantrymq.testing.server import StandaloneServer
from pyspark_rocketmq import DefaultSource

WAIT_SECONDS: Final = 30.0

_numbers = itertools.count(1)

# Any: the value of a JSON object
Json = dict[str, Any]


def expiring_server(folder: Path) -> StandaloneServer:
    """A server whose retention deletes all but the newest messages once `expire` tells it to."""
    settings = (
        "mappedFileSizeCommitLog=65536",
        "cleanResourceInterval=50",
        "deleteCommitLogFilesInterval=0",
        "deleteConsumeQueueFilesInterval=0",
        "flushConsumeQueueLeastPages=0",
        "flushConsumeQueueThoroughInterval=100",
        "deleteWhen=" + ";".join(f"{hour:02}" for hour in range(24)),
    )
    flags = [text for setting in settings for text in ("--set", setting)]
    return StandaloneServer(folder, flags)


@final
class TopicOfTest:
    """One topic of one test."""

    def __init__(self, server: StandaloneServer, *, queues: int = 4, name: str = "") -> None:
        self.server = server
        self.name = name or f"spark-{next(_numbers)}"
        self.sent: list[str] = []
        self.grow(queues)

    def grow(self, queues: int) -> None:
        """Give the topic so many queues."""
        with Admin(name_servers=self.server.name_servers) as admin:
            admin.create_topic(self.name, queues=queues)

    def send(self, count: int, *, tag: str = "", size: int = 0, **properties: str) -> list[str]:
        """The bodies of so many new messages, round robin over the queues."""
        first = len(self.sent)
        bodies = [f"{self.name}/{number}".ljust(size) for number in range(first, first + count)]
        with Producer(f"to-{self.name}", name_servers=self.server.name_servers) as producer:
            for body in bodies:
                message = Message(
                    self.name, body.encode(), tag=tag, keys=[body], properties=properties
                )
                producer.send(message)
        self.sent += bodies
        return bodies

    def expire(self) -> dict[int, int]:
        """Let the broker delete all but the newest messages; the first offset of each queue.

        A broker deletes nothing that its marks on disk do not cover, which takes ten seconds.
        """
        broker = self.server.broker
        log = self.server.data / "store" / "commitlog"
        gives_up_at = time.monotonic() + WAIT_SECONDS
        before: dict[int, int] = {}
        with Admin(name_servers=self.server.name_servers) as admin:
            admin.brokers.change(broker, {"fileReservedTime": "0"})
            admin.brokers.delete_expired_log(broker)
            while time.monotonic() < gives_up_at:
                queues = admin.topics.stats(self.name).queues
                firsts = {queue.queue_id: has.min_offset for queue, has in queues.items()}
                # The last file stays, and the one that is ready for what comes next.
                if len(list(log.iterdir())) <= 2 and all(firsts.values()) and firsts == before:
                    admin.brokers.change(broker, {"fileReservedTime": "72"})
                    return firsts
                before = firsts
                time.sleep(0.1)
        raise AssertionError(f"the broker did not delete all it might: {before}")

    def options(self, **more: object) -> dict[str, str]:
        """Those of a read from the earliest message on; names as Spark hands them over."""
        options = {
            "nameServer": self.server.name_servers,
            "topic": self.name,
            "startingOffsets": "earliest",
            **more,
        }
        return {name.lower(): str(value) for name, value in options.items() if value is not None}


def batch_reader(options: dict[str, str]) -> DataSourceReader:
    source = DefaultSource(options)
    return source.reader(source.schema())


def stream_reader(options: dict[str, str]) -> StreamReader:
    source = DefaultSource(options)
    reader = source.streamReader(source.schema())
    assert isinstance(reader, StreamReader)
    return reader


def bodies(
    reader: DataSourceReader | DataSourceStreamReader, tasks: Sequence[InputPartition]
) -> list[str]:
    """What the tasks read, sorted."""
    return sorted(
        body.decode()
        for task in tasks
        for batch in pickle.loads(pickle.dumps(reader)).read(task)  # noqa: S301 - our own bytes
        for body in batch.column("body").to_pylist()
    )


def batch(options: dict[str, str]) -> list[str]:
    """What a batch reads, sorted."""
    reader = batch_reader(options)
    return bodies(reader, list(reader.partitions()))


def wait_for_end(reader: StreamReader, start: Json, messages: int) -> Json:
    """The end of the next micro-batch, once so many messages wait."""
    gives_up_at = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < gives_up_at:
        if waiting(reader.reportLatestOffset()) - waiting(start) >= messages:
            return reader.latestOffset(start, reader.getDefaultReadLimit())
        reader.latestOffset(start, reader.getDefaultReadLimit())  # which waits for news
    raise AssertionError(f"{messages} messages did not come: {reader.reportLatestOffset()}")


def waiting(offset: Json) -> int:
    """The sum of an offset's positions."""
    return sum(
        position
        for brokers in offset["q"].values()
        for queues in brokers.values()
        for position in queues.values()
    )
