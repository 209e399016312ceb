"""What a master that waits for a slave answers: to each kind of message, in time and too late."""

from __future__ import annotations

import struct

import pytest

from gantrymq.base.memory_account import Kind
from gantrymq.broker.core.messages import Replies, Request
from gantrymq.broker.core.settings import BrokerRole, BrokerSettings
from gantrymq.fakes.brokers import broker as fakes_broker
from gantrymq.fakes.brokers.broker import STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.sends import UNIQUE, add_topic, message
from gantrymq.fakes.brokers.transactions import COMMIT, Transactions
from gantrymq.ha.classic.log_senders import LogSenders
from gantrymq.ha.settings import HaSettings
from gantrymq.store.settings import FlushDiskType, StoreSettings
from gantrymq.wire import frames
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.headers.send import ConsumerSendMsgBackRequest, SendMessageV2Request
from gantrymq.wire.message import batch
from gantrymq.wire.message.batch import BatchPart

SEND, BATCH = RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE
PLAIN = {"UNIQ_KEY": UNIQUE}
HALF_MESSAGE = {**PLAIN, "TRAN_MSG": "true", "PGROUP": "P"}
NO_WAIT = {**PLAIN, "WAIT": "false"}


class SyncMaster:
    """A SYNC_MASTER, and the slave that a test plays."""

    def __init__(self, store_settings: StoreSettings = STORE_SETTINGS) -> None:
        settings = BrokerSettings(broker_role=BrokerRole.SYNC_MASTER)
        self.broker = OpenedBroker(settings, store_settings)
        self.followers = LogSenders(self.broker.state.store, HaSettings(waits=True))
        add_topic(self.broker)

    def connect(self) -> None:
        slave = self.followers.opened("10.0.0.9:5", self.broker.now)
        assert slave is not None
        self.slave = slave
        self._report(0)
        self.copied()

    def copied(self) -> None:
        """The slave has the whole log."""
        assert not self.followers.turn(self.broker.now)
        self.slave.take_output()
        self._report(self.slave.stream.sent)

    def _report(self, position: int) -> None:
        self.followers.heard(self.slave, struct.pack(">q", position), self.broker.now)
        self.broker.settle()

    def send(self, properties: dict[str, str] | None = None) -> Request:
        return self.broker.send(SEND, message(properties=properties), b"body")

    def answer(self, request: Request) -> Command:
        answer = self.broker.answer(request)
        assert answer is not None
        return answer


def kinds() -> list[tuple[RequestCode, SendMessageV2Request, bytes]]:
    parts = [BatchPart(b"a", properties=b""), BatchPart(b"b", properties=b"")]
    return [
        (SEND, message(), b"body"),
        (BATCH, message(batch=True), batch.encode(parts)),
        (SEND, message(properties=HALF_MESSAGE, sys_flag=4), b"half"),
        (SEND, message(properties={**PLAIN, "DELAY": "3"}), b"delayed"),
    ]


KINDS = pytest.mark.parametrize(("code", "header", "body"), kinds())


@KINDS
def test_send_without_a_connected_slave_is_answered_at_once(
    code: RequestCode, header: SendMessageV2Request, body: bytes
) -> None:
    answer = SyncMaster().broker.ask(code, header, body)
    assert answer.code == ResponseCode.SLAVE_NOT_AVAILABLE
    assert "none is connected" in (answer.remark or "")
    assert answer.ext is not None
    assert answer.ext["msgId"]


@KINDS
def test_an_answer_comes_when_the_slave_has_the_message(
    code: RequestCode, header: SendMessageV2Request, body: bytes
) -> None:
    master = SyncMaster()
    master.connect()
    request = master.broker.send(code, header, body)
    assert master.broker.is_held(request)
    master.copied()
    assert master.answer(request).code == ResponseCode.SUCCESS


@KINDS
def test_send_is_answered_when_the_slave_times_out(
    code: RequestCode, header: SendMessageV2Request, body: bytes
) -> None:
    master = SyncMaster()
    master.connect()
    request = master.broker.send(code, header, body)
    master.broker.pass_time(2.9)
    assert master.broker.is_held(request)
    master.broker.pass_time(0.2)
    answer = master.answer(request)
    assert answer.code == ResponseCode.FLUSH_SLAVE_TIMEOUT
    assert "slaveTimeout=3000 ms" in (answer.remark or "")
    assert answer.ext is not None
    assert answer.ext["msgId"]


def test_send_that_does_not_wait_is_answered_at_once() -> None:
    master = SyncMaster()
    assert master.answer(master.send(NO_WAIT)).code == ResponseCode.SUCCESS
    master.connect()
    assert master.answer(master.send(NO_WAIT)).code == ResponseCode.SUCCESS


def test_sends_of_the_kernel_wait_as_others_do() -> None:
    master = SyncMaster()
    broker = master.broker
    broker.ask(SEND, message(), b"first")
    master.connect()
    frame = frames.encode(Command(SEND, ext=message().encode(), body=b"quick", opaque=7))
    _, count = broker.broker.feed(broker.channel, frame, 0, broker.now, broker.wall_ms)
    broker.settle()
    assert (count, broker.replies) == (1, [])
    broker.pass_time(3.1)
    (replies,) = broker.replies
    assert isinstance(replies, Replies)
    (reply,) = FrameReader().decode(replies.frames)
    assert reply.code == ResponseCode.FLUSH_SLAVE_TIMEOUT
    assert "slaveTimeout=3000 ms" in (reply.remark or "")


def test_timeout_of_the_slave_is_reported_before_that_of_the_disk() -> None:
    master = SyncMaster(
        StoreSettings(
            mapped_file_size_commit_log=1 << 20,
            flush_disk_type=FlushDiskType.SYNC_FLUSH,
            sync_flush_timeout=1_000,
        )
    )
    master.connect()
    master.broker.disk_is_stuck = True
    request = master.send()
    master.broker.pass_time(3.5)
    assert master.answer(request).code == ResponseCode.FLUSH_SLAVE_TIMEOUT


def test_messages_that_wait_for_a_slave_are_bounded_in_total(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fakes_broker, "MEMORY_BYTES", 1 << 20)  # then shares are at their lowest
    master = SyncMaster()
    master.connect()
    memory = master.broker.state.memory
    allowed = min(memory.connection_limit, memory.limit_of(Kind.BODIES))
    body = bytes(allowed // 32)
    waiting = [master.broker.send(SEND, message(), body) for _ in range(32)]
    assert all(map(master.broker.is_held, waiting))
    refused = master.broker.ask(SEND, message(), body)
    assert refused.code == ResponseCode.SYSTEM_BUSY
    assert (refused.remark or "").startswith(
        "[OVERLOAD]system busy, start flow control for a while"
    )
    assert f"bytes of memory, {allowed} are allowed by maxPeerMemory" in (refused.remark or "")
    store = master.broker.state.store
    store.waiters.replicated(store.log.end)
    master.broker.settle()
    assert {master.answer(each).code for each in waiting} == {ResponseCode.SUCCESS}
    assert master.broker.is_held(master.send())


def test_refused_and_broken_requests_leave_no_bytes_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fakes_broker, "MEMORY_BYTES", 1 << 20)
    master = SyncMaster()
    body = bytes(4 << 20)
    for header in (message(topic="%RETRY%"), message(properties={"PROPERTY": "x" * 40_000})):
        for _ in range(6):
            answer = master.broker.ask(SEND, header, body)
            assert answer.code not in (ResponseCode.SUCCESS, ResponseCode.SYSTEM_BUSY)
    assert master.broker.ask(SEND, message(), b"x").code == ResponseCode.SLAVE_NOT_AVAILABLE


def test_slow_slave_does_not_block_other_clients() -> None:
    """What waits for it is not slow here: producers would flee a master that is well."""
    master = SyncMaster()
    master.connect()
    requests = []
    for _ in range(10):
        requests += [master.send(), master.send()]
        master.broker.pass_time(0.5)
        master.copied()
        requests.append(master.send())
    codes = {master.answer(each).code for each in requests[:-1]}
    assert codes == {ResponseCode.SUCCESS}


def test_sent_back_message_does_not_wait_for_slaves() -> None:
    master = SyncMaster()
    master.connect()
    position = master.broker.state.store.log.end
    master.send(NO_WAIT)
    header = ConsumerSendMsgBackRequest(offset=position, group="G", delay_level=0)
    answer = master.broker.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)
    assert answer.code == ResponseCode.SUCCESS


def test_a_decision_about_a_transaction_counts_without_a_slave() -> None:
    master = SyncMaster()
    transactions = Transactions(master.broker)
    waiters = master.broker.state.store.waiters
    waiters.for_members = False  # as long as the half message takes
    half = transactions.prepare(b"pay")
    waiters.for_members = True
    assert transactions.code(half, COMMIT) == ResponseCode.SUCCESS
