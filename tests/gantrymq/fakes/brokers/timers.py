"""Puts timer messages into a broker of the tests, recalls them, and restarts the broker."""

from __future__ import annotations

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.schedule import timers
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.send import RecallMessageRequest
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

HOUR_SECONDS = 3600
HOST = b"\x7f\x00\x00\x01\x00\x00\x2a\x9f"


class ClockedBroker(OpenedBroker):
    """A broker whose wall clock a test can set back."""

    behind_seconds = 0

    @property
    def wall_ms(self) -> int:
        return super().wall_ms - self.behind_seconds * 1000


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


def recall(broker: OpenedBroker, handle: str | None) -> str:
    assert handle is not None
    broker.state.topics.put(TopicConfig("T"), broker.wall_ms)
    answer = broker.ask(
        RequestCode.RECALL_MESSAGE, RecallMessageRequest(topic="T", recall_handle=handle)
    )
    assert answer.code == 0, answer.remark
    assert answer.ext is not None
    return answer.ext["msgId"]


def restarted(broker: OpenedBroker, *, has_file: bool = True) -> ClockedBroker:
    """Kill the broker, and start another one on its disk, with its files as last written."""
    disk = disk_of(broker)
    disk.end_process()
    again = ClockedBroker(disk=disk, files=broker.saved if has_file else {})
    again.saved |= broker.saved
    again.now = broker.now
    again.behind_seconds = broker.behind_seconds if isinstance(broker, ClockedBroker) else 0
    return again
