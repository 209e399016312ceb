"""Sends pops of simulated consumers of group G, and reads the responses as real clients do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gantrymq.broker.core.messages import File, Request
from gantrymq.fakes.brokers.broker import IDENTITY, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.pulls import PulledBroker
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.pop import (
    AckMessageRequest,
    ChangeInvisibleTimeRequest,
    PopMessageRequest,
)
from gantrymq.wire.message import properties, record

RETRY = "%RETRY%G_T"


@dataclass(frozen=True)
class Popped:
    """A popped message as the consumer gets it."""

    body: str
    topic: str
    queue_id: int
    offset: int
    handle: str
    times: int
    named: Mapping[str, str]

    @property
    def real_topic(self) -> str:
        return RETRY if self.handle.split(" ")[4] == "1" else self.topic


class PoppedBroker(PulledBroker):
    """A broker with a topic T of four queues, and pops of its consumers."""

    def __init__(
        self,
        *,
        disk: FaultyDisk | MemoryDisk | None = None,
        files: Mapping[File, bytes] | None = None,
        broker: OpenedBroker | None = None,
    ) -> None:
        super().__init__(broker or OpenedBroker(disk=disk, files=files))

    def pop(self, *, channel: FakeChannel | None = None, **fields: object) -> Request:
        return self.broker.send(RequestCode.POP_MESSAGE, pop(**fields), channel=channel)

    def popped(self, **fields: object) -> Sequence[Popped]:
        """The messages of a pop that does not wait."""
        answer = self.answer(self.pop(channel=None, **{"poll_time": 0, **fields}))
        assert answer.code in (ResponseCode.SUCCESS, ResponseCode.POLLING_TIMEOUT), answer.remark
        return messages(answer)

    def ack(self, message: Popped, handle: str | None = None) -> Command:
        header = AckMessageRequest(
            consumer_group="G",
            topic=message.real_topic,
            queue_id=message.queue_id,
            extra_info=handle or message.handle,
            offset=message.offset,
        )
        return self.broker.ask(RequestCode.ACK_MESSAGE, header)

    def keep_out(self, message: Popped, invisible_ms: int) -> Command:
        header = ChangeInvisibleTimeRequest(
            consumer_group="G",
            topic=message.real_topic,
            queue_id=message.queue_id,
            extra_info=message.handle,
            offset=message.offset,
            invisible_time=invisible_ms,
        )
        return self.broker.ask(RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)

    def stored(self, topic: str = "T", queue_id: int = 0) -> int | None:
        """The group's committed offset."""
        return self.state.offsets.find("G", topic, queue_id)


def pop(**fields: object) -> PopMessageRequest:
    """A pop of T's first queue by group G, from the first message on."""
    values: dict[str, object] = {
        "consumerGroup": "G",
        "topic": "T",
        "queueId": 0,
        "maxMsgNums": 32,
        "invisibleTime": 60_000,
        "pollTime": 15_000,
        "bornTime": 0,
        "initMode": 0,
    }
    for name, value in fields.items():
        first, *others = name.split("_")
        values[first + "".join(map(str.title, others))] = value
    return PopMessageRequest.decode({name: str(value) for name, value in values.items()})


def messages(answer: Command) -> list[Popped]:
    """The messages of a response; handles are made of the lists, as clients make them."""
    ext = {name: str(value) for name, value in (answer.ext or {}).items()}
    starts = {}
    for entry in filter(None, ext.get("startOffsetInfo", "").split(";")):
        kind, queue_id, start = entry.split(" ")
        starts[kind, int(queue_id)] = start
    counts = {
        entry.split(" ")[1]: int(entry.split(" ")[2])
        for entry in filter(None, ext.get("orderCountInfo", "").split(";"))
    }
    found = []
    for each in record.decode_all(answer.body):
        named = properties.parse(each.properties)
        kind = "1" if each.topic.startswith(b"%RETRY%") else "0"
        made = (
            f"{starts.get((kind, each.queue_id))} {ext['popTime']} {ext['invisibleTime']}"
            f" {ext['reviveQid']} {kind} {IDENTITY.name} {each.queue_id} {each.queue_offset}"
        )
        key = f"qo{each.queue_id}%{each.queue_offset}"
        found.append(
            Popped(
                each.body.decode(),
                each.topic.decode(),
                each.queue_id,
                each.queue_offset,
                named.get("POP_CK", made),
                counts.get(key, each.reconsume_times),
                named,
            )
        )
    return found


def bodies(found: Sequence[Popped]) -> list[str]:
    return [message.body for message in found]
