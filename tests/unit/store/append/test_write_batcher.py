"""Tests fed sends and puts in one group: their order, queue offsets and answers."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from gantrymq.base.disk import Disk, DiskFailure
from gantrymq.fakes.stores.store import HOST, SETTINGS, SYNC, OpenedStore, message
from gantrymq.store.append.kernel import Fed, Kernel
from gantrymq.store.record.put_status import PutStatus
from gantrymq.store.settings import StoreSettings
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.wire import frames
from gantrymq.wire.codes import ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.java_string import utf8_bytes
from gantrymq.wire.message.record import Record

SEND_MESSAGE_V2 = 310
QUEUES = 3
TOPICS = ("T", "U")


class FedStore(OpenedStore):
    """A store with a kernel that serves two topics, whose queues have a message each."""

    def __init__(self, disk: FaultyDisk, settings: StoreSettings = SETTINGS) -> None:
        super().__init__(disk, settings)
        self.kernel = Kernel(
            self.store.queues,
            HOST,
            region="DefaultRegion",
            added_properties=b"",
            max_message_size=settings.max_message_size,
            file_bytes=settings.mapped_file_size_commit_log,
        )
        for topic in TOPICS:
            self.kernel.serve(topic.encode(), QUEUES)
            for queue_id in range(QUEUES):
                self.store.put(message(0, topic, queue_id))
        self.turn()
        self.settle()

    def feed(self, data: bytes, start: int = 0) -> Fed:
        return self.store.feed(self.kernel, data, start, HOST, self.wall_ms)

    @property
    def wall_ms(self) -> int:
        return int(1_700_000_000_000 + self.now * 1000)


def send(number: int, topic: str = "T", queue_id: int = 0) -> Command:
    one = message(number, topic, queue_id)
    fields = {
        "b": topic,
        "e": str(queue_id),
        "i": one.properties.decode(),
        **dict.fromkeys("acdfghj", "0"),
    }
    return Command(
        SEND_MESSAGE_V2, opaque=number, ext=fields, body=one.body, version=479, encoding=number % 2
    )


def encoded(*numbers: int, topic: str = "T") -> bytes:
    return b"".join(frames.encode(send(number, topic)) for number in numbers)


def told(replies: bytes) -> list[tuple[int, int]]:
    """Opaque and code of each reply."""
    return [(reply.opaque, reply.code) for reply in FrameReader().decode(replies)]


def test_fed_sends_are_answered_by_the_turn_that_writes_them() -> None:
    opened = FedStore(FaultyDisk())
    data = encoded(1, 2)
    fed = opened.feed(data)
    assert (fed.at, fed.count) == (len(data), 2)
    assert opened.store.deadline() == float("-inf")
    turn = opened.turn()
    (answer,) = turn.answers
    assert (answer.number, answer.status) == (fed.number, PutStatus.PUT_OK)
    assert told(answer.replies) == [(1, 0), (2, 0)]
    assert list(turn.arrived) == [("T", 0)]
    assert opened.bodies() == [b"body 0", b"body 1", b"body 2"]


def test_puts_of_the_same_turn_follow_the_fed_sends() -> None:
    opened = FedStore(FaultyDisk())
    opened.put(8)
    opened.feed(encoded(1, 2))
    opened.put(9)
    opened.put(5, topic="new")
    opened.feed(encoded(3))
    offsets = [answer.queue_offset for answer in opened.turn().answers if not answer.replies]
    assert offsets == [4, 5, 0]
    assert opened.bodies() == [b"body %d" % number for number in (0, 1, 2, 3, 8, 9)]
    opened.feed(encoded(4))
    opened.turn()
    assert opened.bodies()[-1] == b"body 4"


def test_with_sync_flush_replies_wait_for_the_disk() -> None:
    opened = FedStore(FaultyDisk(), SYNC)
    fed = opened.feed(encoded(1))
    assert not opened.turn().answers
    opened.background.complete_all()
    (answer,) = opened.turn().answers
    assert (answer.number, told(answer.replies)) == (fed.number, [(1, 0)])


def test_slow_disk_is_reported_in_the_replies() -> None:
    opened = FedStore(FaultyDisk(), SYNC)
    opened.feed(encoded(1))
    opened.turn()
    (answer,) = opened.turn(6.0).answers
    assert told(answer.replies) == [(1, ResponseCode.FLUSH_DISK_TIMEOUT)]


def test_clean_stop_answers_fed_sends() -> None:
    opened = FedStore(FaultyDisk(), SYNC)
    opened.feed(encoded(1))
    (answer,) = opened.close().answers
    assert told(answer.replies) == [(1, 0)]


def test_group_without_space_is_refused_and_its_queue_offsets_are_reused() -> None:
    disk = FaultyDisk()
    opened = FedStore(disk)
    disk.fail("write", DiskFailure.NO_SPACE)
    opened.feed(encoded(1, 2))
    opened.put(3)
    fed, put = opened.turn().answers
    assert put.status is PutStatus.SERVICE_NOT_AVAILABLE
    assert told(fed.replies) == [(n, ResponseCode.SERVICE_NOT_AVAILABLE) for n in (1, 2)]
    opened.feed(encoded(4))
    opened.put(5)
    assert opened.turn().answers[1].queue_offset == 2
    assert opened.bodies() == [b"body 0", b"body 4", b"body 5"]


def test_refusing_store_accepts_no_fed_sends() -> None:
    opened = FedStore(FaultyDisk())
    opened.store.watch.out_of_space()
    fed = opened.feed(encoded(1))
    assert (fed.at, fed.count, fed.number) == (0, 0, 0)
    assert not opened.turn().answers
    opened.close()
    assert opened.feed(encoded(1)).count == 0


def test_special_send_is_left_and_the_next_turn_has_a_new_store_time() -> None:
    opened = FedStore(FaultyDisk())
    unknown = encoded(1, topic="unknown")
    assert opened.feed(unknown + encoded(2)).at == 0
    assert not opened.turn(10.0).answers
    fed = opened.feed(unknown + encoded(2), len(unknown))
    assert fed.count == 1
    opened.turn()
    assert opened.store.log.store_timestamp_ms == opened.wall_ms


def test_topic_is_deleted_after_the_writes_of_its_turn() -> None:
    opened = FedStore(FaultyDisk())
    opened.feed(encoded(1))
    opened.store.delete_topic("T")
    opened.put(2)
    assert len(opened.turn().answers) == 2
    assert opened.store.queues.find("T", 0) is None
    assert opened.feed(encoded(3)).count == 0
    opened.put(4)
    opened.turn()
    assert opened.bodies() == [b"body 4"]


# ------------------------------------------------------------------ both ways


def history(seed: int) -> Iterator[list[Command]]:
    """The sends of each turn."""
    rng = random.Random(seed)
    number = 0
    for _ in range(60):
        group = []
        for _ in range(rng.randrange(8)):
            number += 1
            group.append(send(number, rng.choice(TOPICS), rng.randrange(QUEUES)))
        yield group


def record_of(command: Command) -> Record:
    ext = command.ext
    assert ext is not None
    return Record(
        ext["b"].encode(),
        command.body,
        properties=utf8_bytes(ext["i"]),
        queue_id=int(ext["e"]),
        born_host=HOST,
        store_host=HOST,
    )


def files(disk: Disk, folder: str) -> dict[str, bytes]:
    """Path and content of every file."""
    found: dict[str, bytes] = {}
    for entry in disk.list(folder):
        path = f"{folder}/{entry.name}"
        if entry.is_folder:
            found |= files(disk, path)
        else:
            file = disk.open(path)
            found[path] = file.read(0, file.size())
    return found


@pytest.mark.parametrize("settings", [SETTINGS, SYNC], ids=["async", "sync"])
@pytest.mark.parametrize("seed", range(5))
def test_fed_or_put_leaves_the_same_bytes(settings: StoreSettings, seed: int) -> None:
    fed, put = FedStore(FaultyDisk(), settings), FedStore(FaultyDisk(), settings)
    for commands in history(seed):
        fed.now += 0.3
        put.now += 0.3
        data = b"".join(map(frames.encode, commands))
        assert fed.feed(data).count == len(commands)
        for command in commands:
            assert isinstance(put.store.put(record_of(command)), int)
        assert list(fed.turn().arrived) == list(put.turn().arrived)
        fed.settle()
        put.settle()
    fed.close()
    put.close()
    for folder in ("commitlog", "consumequeue", "index"):
        assert files(fed.disk, folder) == files(put.disk, folder)
        assert files(fed.disk, folder)


def test_waiting_bytes_equal_the_bytes_in_the_log() -> None:
    store = FedStore(FaultyDisk())
    before = store.store.log.end
    store.feed(encoded(0))
    fed = store.store.waiting_bytes
    store.store.put(message(1, "T", 0))
    assert 0 < fed < store.store.waiting_bytes
    waiting = store.store.waiting_bytes
    store.turn()
    assert store.store.log.end - before == waiting
    assert store.store.waiting_bytes == 0
