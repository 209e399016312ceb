"""Fuzzes sends: the kernel and the handlers store the same bytes and answer the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.sends import UNIQUE, add_topic, message
from gantrymq.wire import frames
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, FLAG_RESPONSE, Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.header import Header
from gantrymq.wire.headers.send import SendMessageRequest
from gantrymq.wire.message import batch
from gantrymq.wire.version import OWN_VERSION

Fuzz = Callable[[list[bytes], Callable[[bytes], None]], None]

PEER = "10.1.2.3:54321"
FUZZED_FRAME_BYTES_MAX = 1 << 16
LOG_BYTES_MAX = 8 << 20
SENDS = (
    RequestCode.SEND_MESSAGE,
    RequestCode.SEND_MESSAGE_V2,
    RequestCode.SEND_BATCH_MESSAGE,
)
PROPERTIES = "UNIQ_KEY\x01%s\x02TAGS\x01a\x02KEYS\x01k1 k2\x02WAIT\x01%s\x02a\x01b\x02"


class Pair:
    """Two brokers that get the same requests, one of them without a kernel."""

    def __init__(self) -> None:
        self.quick, self.general = _opened(), _opened()
        self.general.state.kernel = None
        self.taken = 0

    def check(self, data: bytes) -> None:
        begin = self.quick.opened.store.log.end
        assert self._by_kernel(data) == _by_handlers(self.general, data)
        ends = [each.opened.store.log.end for each in (self.quick, self.general)]
        assert ends[0] == ends[1]
        assert _log(self.quick, begin) == _log(self.general, begin)
        if begin > LOG_BYTES_MAX:
            self.quick, self.general = _opened(), _opened()
            self.general.state.kernel = None

    def _by_kernel(self, data: bytes) -> list[Command]:
        broker = self.quick
        at, count = broker.broker.feed(broker.channel, data, 0, broker.now, broker.wall_ms)
        self.taken += count
        broker.settle()
        rest = _by_handlers(broker, data[at:])
        replies = b"".join(reply.frames for reply in broker.replies)
        broker.replies.clear()
        return FrameReader().decode(replies) + rest


def _opened() -> OpenedBroker:
    """A broker whose queues have messages, because the handlers store the first one."""
    broker = OpenedBroker(BrokerSettings(auto_create_topic_enable=True))
    broker.channel.peer = PEER
    for topic in "TU":
        add_topic(broker, topic, queues=2)
        for queue_id in range(2):
            broker.ask(RequestCode.SEND_MESSAGE_V2, message(topic, queue_id=queue_id), b"first")
    return broker


def _by_handlers(broker: OpenedBroker, data: bytes) -> list[Command]:
    """The responses in the order of the requests, as clients read them."""
    answers = []
    for command in FrameReader(frame_bytes_max=FUZZED_FRAME_BYTES_MAX).decode(data):
        if command.is_response or command.code not in SENDS:
            continue
        request = broker.send(
            RequestCode(command.code),
            ext=command.ext,
            body=command.body,
            is_oneway=command.is_oneway,
            version=command.version,
            language=command.language,
        )
        answer = broker.answer(request)
        if answer is not None:
            answer.opaque, answer.encoding = command.opaque, command.encoding
            answer.flag, answer.version = FLAG_RESPONSE, OWN_VERSION
            answers += FrameReader().decode(frames.encode(answer))
    return answers


def _log(broker: OpenedBroker, begin: int) -> bytes:
    """The bytes that were stored from this position on."""
    log = broker.opened.store.log
    stored = b""
    while begin + len(stored) < log.end:
        size = min(log.end - begin - len(stored), FUZZED_FRAME_BYTES_MAX)
        stored += log.segments.read(begin + len(stored), size)
    return stored


def _sends() -> list[bytes]:
    """Sends as producers make them, in each form."""
    made = []
    for topic, queue_id in (("T", 0), ("U", 1), ("new", 0)):
        for wait, body in (("true", b"hello"), ("false", b"x" * 300)):
            v2 = replace(message(topic, queue_id=queue_id), properties=PROPERTIES % (UNIQUE, wait))
            v1 = SendMessageRequest(**{name: getattr(v2, name) for name in v2.__slots__})
            parts = batch.encode(
                [batch.BatchPart(body, 3, b"KEYS\x01k\x02"), batch.BatchPart(b"b")]
            )
            batched = replace(v2, batch=True)
            made += [
                _frame(RequestCode.SEND_MESSAGE, v1, body),
                _frame(RequestCode.SEND_MESSAGE_V2, v2, body),
                _frame(RequestCode.SEND_MESSAGE_V2, v2, body, encoding=1),
                _frame(RequestCode.SEND_MESSAGE_V2, v2, body, flag=FLAG_ONEWAY),
                _frame(RequestCode.SEND_BATCH_MESSAGE, batched, parts),
                _frame(RequestCode.SEND_BATCH_MESSAGE, batched, parts, encoding=1),
            ]
    return made


def _frame(code: int, header: Header, body: bytes, *, flag: int = 0, encoding: int = 0) -> bytes:
    ext = header.encode()
    command = Command(
        code, ext=ext, body=body, opaque=9, flag=flag, version=OWN_VERSION, encoding=encoding
    )
    return frames.encode(command)


def test_kernel_and_handlers_agree(fuzz: Fuzz) -> None:
    pair = Pair()
    fuzz(_sends(), pair.check)
    assert pair.taken, "the kernel took nothing: there is nothing to compare"
