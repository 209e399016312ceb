"""A full disk is told once, and once that it has room again."""

from __future__ import annotations

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.monitoring.write_health_log import CALM_SECONDS
from gantrymq.fakes.brokers.broker import DISK_BYTES, OpenedBroker
from gantrymq.fakes.stores.store import message
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.testing.unsynced import lose_all


def resize(broker: OpenedBroker, total_bytes: int) -> None:
    disk = broker.opened.disk
    assert isinstance(disk, MemoryDisk)
    disk.storage.total_bytes = total_bytes


def told(broker: OpenedBroker) -> list[str]:
    return [line.text for line in broker.lines if line.text.startswith("writes ")]


def put(broker: OpenedBroker) -> None:
    broker.state.task_runner.start(tasks.put(message(1)), lambda _: None, lambda _: None)
    broker.settle()


def test_full_disk_is_logged_once_when_it_begins_and_once_when_it_ends() -> None:
    broker = OpenedBroker()
    broker.pass_time(5)
    assert not told(broker)
    resize(broker, 0)
    for _ in range(50):
        put(broker)
        broker.pass_time(1)
    (line,) = told(broker)
    assert line.startswith("writes stopped reason=")
    assert "disk is full" in line
    resize(broker, DISK_BYTES)
    broker.pass_time(CALM_SECONDS + 3)
    put(broker)
    broker.pass_time(CALM_SECONDS + 3)
    assert told(broker)[1:] == ["writes resumed after=50s"]


def test_disk_that_moves_around_its_limit_is_logged_once() -> None:
    broker = OpenedBroker()
    for _ in range(10):
        resize(broker, 0)
        broker.pass_time(2)
        resize(broker, DISK_BYTES)
        broker.pass_time(CALM_SECONDS - 2)
    assert len(told(broker)) == 1


def test_log_that_cannot_be_written_is_logged() -> None:
    disk = FaultyDisk(lose_all, storage=MemoryDisk(total_bytes=DISK_BYTES).storage)
    broker = OpenedBroker(disk=disk)
    put(broker)
    disk.fail("write", path="commitlog/00000000000000000000", times=2)
    for _ in range(2):
        put(broker)
        broker.pass_time(1.5)
    (line,) = told(broker)
    assert "The log cannot be written" in line
    put(broker)
    broker.pass_time(CALM_SECONDS + 2)
    assert len(told(broker)) == 2
