"""Runs Java brokers on given store directories, and the JVM that reads and fills such stores."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.drivers import Driver
from gantrymq.interop.servers import JavaBroker, fields, gantry_name_server
from gantrymq.interop.store.store_contents import Contents, Key, Pulled, Queue
from gantrymq.interop.store.store_messages import QUEUES, Told
from gantrymq.interop.toolchain import JarSet
from gantrymq.store.consumequeue.queue_unit import UNIT_BYTES
from gantrymq.store.layout import CONSUME_QUEUE

# Small, so that a few hundred messages fill several files of each kind.
SIZES: Final[Mapping[str, int]] = {
    "mappedFileSizeCommitLog": 1 << 20,
    "mappedFileSizeConsumeQueue": 200,
    "maxHashSlotNum": 50,
    "maxIndexNum": 100,
}
BEHAVIOUR: Final[Mapping[str, str]] = {
    "transactionCheckInterval": "3600000",  # a check appends copies of open transactions
    "transactionTimeOut": "3600000",  # brokers of 5.5.0 check once more when they stop
    "transactionOpBatchInterval": "100",
}
STOP_SECONDS: Final = 60.0


class StoreBroker(JavaBroker):
    """A broker with small files; the content of `store` at the start is its store.

    It has its own name server, so that no other broker has its queues.
    """

    def __init__(self, version: str, folder: Path) -> None:
        (folder / "namesrv").mkdir(parents=True)
        self.name_server = gantry_name_server(folder / "namesrv")
        sizes = {key: str(size) for key, size in SIZES.items()}
        super().__init__(version, folder, [self.name_server], {**sizes, **BEHAVIOUR})
        self.store = folder / "store"

    def finish(self) -> None:
        """Stop the broker cleanly: it unregisters, and writes everything."""
        assert self.child is not None
        self.child.finish(STOP_SECONDS)
        self.child = None

    def __enter__(self) -> Self:
        self.name_server.start()
        try:
            self.start()
        except BaseException:
            self.name_server.kill()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()
        self.name_server.kill()


def stamp_queues(store: Path, contents: Contents) -> None:
    """Give the queues' files the times at which their last units would have been written.

    4.9 searches by time in the first file that was changed at that time or later: for it, a
    nanosecond too early is a millisecond too early.
    """
    units = SIZES["mappedFileSizeConsumeQueue"] // UNIT_BYTES
    for topic, queue_id in contents.queues:
        times = contents.times((topic, queue_id))
        for path in (store / CONSUME_QUEUE / topic / str(queue_id)).glob("*"):
            end = int(path.name) // UNIT_BYTES + units
            last_ns = times[:end][-1] * 1_000_000
            os.utime(path, ns=(last_ns, last_ns))


def write_topics(store: Path) -> None:
    """Write the topic configuration, without which a broker serves no queue."""
    topics = {
        topic: {
            "order": False,
            "perm": 6,
            "readQueueNums": queues,
            "topicFilterType": "SINGLE_TAG",
            "topicName": topic,
            "topicSysFlag": 0,
            "writeQueueNums": queues,
        }
        for topic, queues in QUEUES.items()
    }
    version = {"counter": 1, "timestamp": 1_700_000_000_000}
    config = store / "config"
    config.mkdir(parents=True)
    text = json.dumps({"dataVersion": version, "topicConfigTable": topics}, indent="\t")
    (config / "topics.json").write_text(text)


class StoreClient(Driver):
    """A JVM with a consumer, a producer and an administrator for each broker that it gets."""

    def __init__(self, version: str, folder: Path) -> None:
        super().__init__(JarSet.STORE, version, folder)

    def ask(self, broker: StoreBroker, what: str, **details: object) -> list[object]:
        """Send an order to the broker's clients; returns their answer."""
        place = {"namesrv": broker.name_server.address, "broker": broker.broker_name}
        self.order({"do": what, **place, **details})
        answer = self.outcome()["answer"]
        assert isinstance(answer, list)
        return answer


class JavaReader:
    """Reads a Java broker's store through Java's clients."""

    def __init__(self, client: StoreClient, broker: StoreBroker) -> None:
        self._client = client
        self._broker = broker
        self.tells_oldest_only = client.version.startswith("4.")

    def queues(self) -> set[Queue]:
        """The queues of the topics that the tests' messages and Java's producers use."""
        queues = [(topic, queue) for topic, count in QUEUES.items() for queue in range(count)]
        ends = self._client.ask(self._broker, "ends", queues=queues)
        return {queue for queue, end in zip(queues, ends, strict=True) if end}

    def pull(self, queue: Queue) -> Pulled:
        found = self._client.ask(self._broker, "pull", topic=queue[0], queue=queue[1])
        minimum, end, *messages = found
        return Pulled(int(str(minimum)), int(str(end)), [fields(each) for each in messages])

    def view(self, ids: Sequence[tuple[str, str]]) -> Sequence[Told]:
        return [fields(each) for each in self._client.ask(self._broker, "view", ids=ids)]

    def find(
        self, keys: Sequence[Key], begin_ms: int, *, is_unique: bool
    ) -> Sequence[Sequence[int]]:
        details = {"keys": keys, "begin": begin_ms, "unique": is_unique}
        answer = self._client.ask(self._broker, "find", **details)
        return [[int(str(offset)) for offset in _listed(offsets)] for offsets in answer]

    def search(self, times: Sequence[tuple[str, int, int]]) -> Sequence[int]:
        answer = self._client.ask(self._broker, "search", times=times)
        return [int(str(offset)) for offset in answer]

    def end(self, queue: Queue) -> int:
        """The end of the queue."""
        (end,) = self._client.ask(self._broker, "ends", queues=[queue])
        return int(str(end))

    def contents(self) -> Contents:
        """Every message of every queue."""
        return Contents.of(
            message for queue in sorted(self.queues()) for message in self.pull(queue).messages
        )

    def wait_for(self, queue: Queue, count: int, seconds: float) -> None:
        """Wait until the queue has that many messages."""
        wait_until(
            lambda: self.end(queue) >= count,
            f"{queue} has {count} messages",
            seconds,
        )


def _listed(value: object) -> list[object]:
    assert isinstance(value, list), value
    return value
