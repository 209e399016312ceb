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
from typing import Any, Final, Protocol, final

from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable

from gantrymq.client.aio.machinery.configuration import ClientKeywords
from gantrymq.client.blocking import Admin, Producer
from gantrymq.client.core.message.message import Message
from gantrymq.spark.source.planning.data_loss import DataLossError
from gantrymq.spark.source.stream_offset import StreamOffset
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


class Server(Protocol):
    """A name server with a broker."""

    @property
    def name_servers(self) -> str:
        """As clients are given it."""

    @property
    def broker(self) -> str:
        """The broker's address."""


@final
class TopicOfTest:
    """One topic of one test."""

    def __init__(
        self,
        server: Server,
        *,
        queues: int = 4,
        name: str = "",
        access_key: str = "",
        secret_key: str = "",
    ) -> None:
        self.server = server
        self._client: ClientKeywords = {
            "name_servers": server.name_servers,
            "access_key": access_key,
            "secret_key": secret_key,
        }
        self.name = name or f"spark-{next(_numbers)}"
        self.sent: list[str] = []
        self.grow(queues)

    def grow(self, queues: int) -> None:
        """Give the topic so many queues."""
        with Admin(**self._client) as admin:
            admin.create_topic(self.name, queues=queues)

    def send(self, count: int, *, tag: str = "", size: int = 0, **properties: str) -> list[str]:
        """The bodies of so many new messages, round robin over the queues."""
        first = len(self.sent)
        bodies = [f"{self.name}/{number}".ljust(size) for number in range(first, first + count)]
        with Producer(f"to-{self.name}", **self._client) as producer:
            for body in bodies:
                message = Message(
                    self.name, body.encode(), tag=tag, keys=[body], properties=properties
                )
                producer.send(message)
        self.sent += bodies
        return bodies

    def options(self, **more: object) -> dict[str, str]:
        """Those of a read from the earliest message on; names as Spark hands them over."""
        options = {
            "nameServer": self.server.name_servers,
            "topic": self.name,
            "startingOffsets": "earliest",
            **more,
        }
        return {name.lower(): str(value) for name, value in options.items() if value is not None}


def expire(topic: TopicOfTest, server: StandaloneServer) -> dict[int, int]:
    """Let the broker delete all but the newest messages; the first offset of each queue.

    A broker deletes nothing that its marks on disk do not cover, which takes ten seconds.
    """
    broker = server.broker
    log = server.data / "store" / "commitlog"
    gives_up_at = time.monotonic() + WAIT_SECONDS
    before: dict[int, int] = {}
    with Admin(name_servers=server.name_servers) as admin:
        admin.brokers.change(broker, {"fileReservedTime": "0"})
        admin.brokers.delete_expired_log(broker)
        while time.monotonic() < gives_up_at:
            queues = admin.topics.stats(topic.name).queues
            firsts = {queue.queue_id: has.min_offset for queue, has in queues.items()}
            # The last file stays, and the one that is ready for what comes next.
            if len(list(log.iterdir())) <= 2 and all(firsts.values()) and firsts == before:
                admin.brokers.change(broker, {"fileReservedTime": "72"})
                return firsts
            before = firsts
            time.sleep(0.1)
    raise AssertionError(f"the broker did not delete all it might: {before}")


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
        if _backlog(reader.reportLatestOffset(), start) >= messages:
            return reader.latestOffset(start, reader.getDefaultReadLimit())
        reader.latestOffset(start, reader.getDefaultReadLimit())  # which waits for news
    raise AssertionError(f"{messages} messages did not come: {reader.reportLatestOffset()}")


def waiting(offset: Json) -> int:
    """The sum of an offset's positions."""
    return sum(StreamOffset.from_json(offset).positions.values())


def _backlog(latest: Json, start: Json) -> int:
    """What waits in the queues that brokers tell of now."""
    read = StreamOffset.from_json(start).positions
    ends = StreamOffset.from_json(latest).positions
    return sum(max(0, end - read.get(queue, 0)) for queue, end in ends.items())


def next_millisecond() -> int:
    """A time after all messages that were stored, and before all that are sent from now on."""
    now_ms = int(time.time() * 1000) + 2
    while time.time() * 1000 < now_ms + 2:
        time.sleep(0.001)
    return now_ms


def wait_for_loss(reader: StreamReader, start: Json, messages: int) -> None:
    """Until the stream says that so many are gone; the broker deletes them file by file."""
    gives_up_at = time.monotonic() + WAIT_SECONDS
    lost = 0
    while time.monotonic() < gives_up_at:
        try:
            reader.latestOffset(start, ReadAllAvailable())
        except DataLossError as error:
            lost = sum(loss.end - loss.first for loss in error.losses)
        if lost == messages:
            return
    raise AssertionError(f"{lost} messages are gone, not {messages}")
