"""Provides a master and its copies whose topics are deleted and recreated."""

from __future__ import annotations

from typing import Final

from gantrymq.fakes.brokers.replicated import Master, Slave, bytes_of_log
from gantrymq.fakes.stores.store import SETTINGS, OpenedStore, message
from gantrymq.store.commitlog import log_truncation
from gantrymq.testing.faulty_disk import FaultyDisk

WALL_MS: Final = 1_700_000_000_000
FILE_BYTES: Final = SETTINGS.mapped_file_size_commit_log
QUEUES: Final = range(4)
DELETED: Final = -1


def sent(master: OpenedStore, *steps: int) -> None:
    """A message to each of these queues of the topic, or the topic is deleted."""
    for step in steps:
        if step == DELETED:
            master.store.delete_topic("T")
        else:
            master.store.put(message(master.store.log.end, "T", step))
        master.turn()


def copy(master: OpenedStore, slave: OpenedStore) -> None:
    begin = slave.store.begin_copy() or 0
    refused = slave.store.append_copy(begin, bytes_of_log(master, begin, None), slave.now)
    assert refused is None, refused.text
    slave.turn(0.1)


def copied(*steps: int) -> Slave:
    master, slave = Master(), Slave()
    sent(master, *steps)
    copy(master, slave)
    return slave


def bodies(store: OpenedStore, queue_id: int) -> list[bytes]:
    return [record.body for record in store.records("T", queue_id)]


def counts(store: OpenedStore) -> list[int]:
    return [len(bodies(store, queue_id)) for queue_id in QUEUES]


def ends(store: OpenedStore) -> list[int]:
    """The next offset of each queue."""
    queues = [store.store.queues.find("T", queue_id) for queue_id in QUEUES]
    return [0 if queue is None else queue.end for queue in queues]


def flush(store: OpenedStore) -> None:
    """Sync log, queues and flush positions."""
    for _ in range(4):
        store.turn(61.0)
        store.settle()


def assert_equal(one: OpenedStore, other: OpenedStore) -> None:
    assert ends(one) == ends(other)
    for queue_id in QUEUES:
        assert one.records("T", queue_id) == other.records("T", queue_id)


def assert_has_all(slave: OpenedStore, master: OpenedStore) -> None:
    for queue_id in QUEUES:
        theirs = {each.queue_offset: each.body for each in master.records("T", queue_id)}
        own = {each.queue_offset: each.body for each in slave.records("T", queue_id)}
        assert theirs.items() <= own.items()


def cut_off(
    disk: FaultyDisk, *, before: tuple[int, ...], cut: tuple[int, ...], is_flushed: bool = True
) -> Slave:
    """A disk with the log of a slave, and a request to truncate it after the first of these steps;
    and another slave, which never had the later steps."""
    master, slave, other = Master(), Slave(disk), Slave()
    sent(master, *before)
    copy(master, slave)
    copy(master, other)
    flush(slave)
    sent(master, *cut)
    copy(master, slave)
    if is_flushed:
        flush(slave)
    log_truncation.request(disk, log_truncation.TruncationRequest(other.store.log.end))
    return other
