"""Puts timer messages into a broker of the tests."""

from __future__ import annotations

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.schedule import timers
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"


def accept(broker: OpenedBroker, seconds: float, body: bytes = b"x", **named: str) -> str | None:
    """Put a timer message; returns its recall handle."""
    at_ms = broker.wall_ms + int(seconds * 1000)
    named = {"UNIQ_KEY": body.decode(), "TIMER_DELIVER_MS": str(at_ms), **named}
    record = Record(
        b"T", body, properties=properties.encode(named), born_host=HOST, store_host=HOST
    )
    broker.state.now, broker.state.wall_ms = broker.now, broker.wall_ms
    rewritten = timers.rewrite(broker.state, record)
    assert isinstance(rewritten, Record)
    put(broker, rewritten)
    return timers.recall_handle(broker.state, rewritten)


def put(broker: OpenedBroker, record: Record) -> None:
    state = broker.state
    state.task_runner.start(tasks.put(record, waits=False), lambda _: None, lambda _: None)


def disk_of(broker: OpenedBroker) -> MemoryDisk:
    disk = broker.opened.disk
    assert isinstance(disk, MemoryDisk)
    return disk


def jump(broker: OpenedBroker, seconds: float) -> None:
    """Advance the clock without a wake-up at every deadline on the way."""
    broker.now += seconds
    broker.settle()
