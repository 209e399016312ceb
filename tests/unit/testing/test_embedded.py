"""Tests the embedded broker with clients' links and flows, in virtual time."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

import pytest
import uvloop

from gantrymq.base.errors import LocalError
from gantrymq.client.aio.client import Client, ClientKey
from gantrymq.client.aio.machinery.environment import Identity, Link
from gantrymq.client.core.flow.flow_steps import Ask, Wait
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.fakes.brokers import heartbeats, sends
from gantrymq.remoting.failures import ConnectError, ConnectionLostError, RequestTimeoutError
from gantrymq.testing.embedded import BROKER, BROKER_FAST, NAME_SERVER, EmbeddedBroker
from gantrymq.testing.memory_links import MemoryLinks
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import HeartbeatData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import UpdateConsumerOffsetRequest
from gantrymq.wire.headers.pull import PullMessageRequest


@pytest.fixture
def broker() -> EmbeddedBroker:
    return EmbeddedBroker()


def links(broker: EmbeddedBroker, heard: list[Command] | None = None) -> MemoryLinks:
    """The links of a client that records the broker's requests."""

    def serve(address: str, command: Command, respond: object) -> None:
        del address, respond
        assert heard is not None
        heard.append(command)

    return broker.links(Identity(), serve)


async def send(link: Link, topic: str, body: bytes, **properties: str) -> Command:
    header = sends.message(topic, properties=properties)
    command = Command(RequestCode.SEND_MESSAGE_V2, ext=header.encode(), body=body)
    return await link.request(command, 3.0)


async def join_group(link: Link, client_id: str) -> None:
    """Join by the heartbeat of a consumer of group G."""
    beat = HeartbeatData(client_id=client_id, consumers=(heartbeats.consumer("G"),))
    command = Command(RequestCode.HEART_BEAT, body=javajson.dumps_fastjson(beat.to_json()))
    assert (await link.request(command, 3.0)).code == ResponseCode.SUCCESS


def pull(topic: str, *, seconds: float) -> Command:
    header = PullMessageRequest(
        consumer_group="G",
        topic=topic,
        queue_id=0,
        queue_offset=0,
        max_msg_nums=32,
        sys_flag=2 | 4,  # the pull may wait, and carries its filter
        commit_offset=0,
        suspend_timeout_millis=round(seconds * 1000),
        subscription="*",
        sub_version=0,
        expression_type="TAG",
    )
    return Command(RequestCode.PULL_MESSAGE, ext=header.encode())


async def test_a_message_creates_its_topic_and_has_a_route(broker: EmbeddedBroker) -> None:
    link = links(broker).connection(BROKER)
    answer = await send(link, "orders", b"a")
    assert answer.code == ResponseCode.SUCCESS, answer.remark
    (message,) = await broker.expect("orders", [b"a"])
    assert message.topic == "orders"
    client = Client(ClientKey(ClientSettings(name_servers=(NAME_SERVER,))), broker)
    client.enter()
    route = await client.run(client.instance.route("orders"))
    assert {queue.broker_name for queue in route.publish} == {"broker-a"}
    await client.leave()


async def test_a_delay_of_two_hours_passes_at_once(broker: EmbeddedBroker) -> None:
    link = links(broker).connection(BROKER)
    await send(link, "orders", b"by level", DELAY="18")
    await send(link, "orders", b"by timer", TIMER_DELAY_MS="7200000")
    await broker.advance(hours=2, seconds=-2)
    await broker.expect("orders", [])
    await broker.advance(seconds=4)
    await broker.expect("orders", [b"by level", b"by timer"])
    assert broker.now == 7202.0


async def test_pull_waits_for_a_message(broker: EmbeddedBroker) -> None:
    broker.create_topic("orders", queues=1)
    both = links(broker)
    pulling = asyncio.create_task(both.connection(BROKER).request(pull("orders", seconds=15), 30.0))
    await broker.advance(seconds=10)
    assert not pulling.done()
    await send(both.connection(BROKER), "orders", b"a")
    await broker.settle()
    assert pulling.done()
    assert (await pulling).code == ResponseCode.SUCCESS
    empty = await broker.run(both.connection(BROKER).request(pull("orders", seconds=15), 30.0))
    assert empty.code == ResponseCode.SUCCESS


async def test_due_events_happen_in_order(broker: EmbeddedBroker) -> None:
    order: list[tuple[str, float]] = []

    async def tick(name: str, period: float) -> None:
        while True:
            await broker.sleep(period)
            order.append((name, broker.now))

    tasks = [asyncio.create_task(tick("a", 2.0)), asyncio.create_task(tick("b", 3.0))]
    await broker.advance(seconds=6)
    assert order == [("a", 2.0), ("b", 3.0), ("a", 4.0), ("b", 6.0), ("a", 6.0)]
    for task in tasks:
        task.cancel()


async def test_flows_of_clients_go_by_its_clock(broker: EmbeddedBroker) -> None:
    client = Client(ClientKey(ClientSettings(name_servers=(NAME_SERVER,))), broker)
    client.enter()

    async def flow() -> int:
        await Wait(3600.0)
        return (await Ask(BROKER, Command(RequestCode.GET_BROKER_CLUSTER_INFO), 3.0)).code

    assert await broker.run(client.run(flow())) == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
    assert broker.now == 3600.0
    await client.leave()


async def test_request_of_the_broker_reaches_the_client(broker: EmbeddedBroker) -> None:
    heard: list[Command] = []
    first, second = links(broker, heard), links(broker)
    await join_group(first.connection(BROKER), "one")
    await join_group(second.connection(BROKER), "two")
    await broker.settle()
    codes = [command.code for command in heard]
    assert RequestCode.NOTIFY_CONSUMER_IDS_CHANGED in codes
    assert all(command.is_oneway for command in heard)


async def test_request_ends_by_its_timeout_or_with_its_link(broker: EmbeddedBroker) -> None:
    broker.create_topic("orders", queues=1)
    own = links(broker)
    with pytest.raises(RequestTimeoutError, match=r"did not answer in 2 s"):
        await broker.run(own.connection(BROKER).request(pull("orders", seconds=60), 2.0))
    waiting = asyncio.create_task(own.connection(BROKER).request(pull("orders", seconds=60), 90.0))
    await broker.settle()
    await own.close()
    with pytest.raises(ConnectionLostError):
        await waiting


async def test_unreachable_broker(broker: EmbeddedBroker) -> None:
    own = links(broker)
    with broker.unreachable(), pytest.raises(ConnectError):
        await send(own.connection(BROKER), "orders", b"lost")
    assert (await send(own.connection(BROKER), "orders", b"a")).code == 0
    with pytest.raises(ConnectError):
        await own.connection("10.9.9.9:1").notify(Command(1))
    refused = await own.connection(BROKER_FAST).request(pull("orders", seconds=0), 1.0)
    assert refused.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED


async def test_progress_of_a_group(broker: EmbeddedBroker) -> None:
    link = links(broker, []).connection(BROKER)
    await join_group(link, "one")
    for body in (b"a", b"b"):
        await send(link, "orders", body)
    with pytest.raises(AssertionError, match="0 of 2 messages"):
        await broker.expect_consumed("G", "orders")
    header = UpdateConsumerOffsetRequest(
        consumer_group="G", topic="orders", queue_id=0, commit_offset=2
    )
    told = await link.request(Command(RequestCode.UPDATE_CONSUMER_OFFSET, ext=header.encode()), 3.0)
    assert told.code == ResponseCode.SUCCESS, told.remark
    await broker.expect_consumed("G", "orders")
    assert broker.progress("G", "orders").lag == 0


async def test_failed_expectation_lists_the_messages_found(broker: EmbeddedBroker) -> None:
    link = links(broker).connection(BROKER)
    await send(link, "orders", b"late", DELAY="5")
    await send(link, "orders", b"later", TIMER_DELAY_MS="90000")
    await send(link, "bills", b"b")
    with pytest.raises(AssertionError) as failure:
        await broker.expect("orders", [b"late"], within_s=30)
    text = str(failure.value)
    assert "missing:  [b'late']" in text
    assert "1 delayed by a level, 1 of a timer" in text
    assert "bills (1)" in text
    assert "now: 30 s after the start within 30 s" in text
    await broker.expect("orders", [b"late"], within_s=60)


async def test_order_is_checked_if_requested(broker: EmbeddedBroker) -> None:
    link = links(broker).connection(BROKER)
    for body in (b"a", b"b", b"b"):
        await send(link, "orders", body)
    await broker.expect("orders", [b"b", b"a", b"b"])
    await broker.expect("orders", [b"a", b"b", b"b"], in_order=True)
    with pytest.raises(AssertionError, match="in this order"):
        await broker.expect("orders", [b"b", b"a", b"b"], in_order=True)
    with pytest.raises(AssertionError, match=r"too many: \[b'b'\]"):
        await broker.expect("orders", [b"a", b"b"])


async def test_run_reports_work_that_never_ends(broker: EmbeddedBroker) -> None:
    with pytest.raises(AssertionError, match="has not ended after 60 s"):
        await broker.run(asyncio.Event().wait(), seconds_max=60)


async def test_task_that_never_waits_is_reported(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantrymq.testing.idleness.ROUNDS_MAX", 100)

    async def spin() -> None:
        for _ in itertools.count():
            await asyncio.sleep(0)

    task = asyncio.create_task(spin())
    with pytest.raises(AssertionError, match="never come to rest"):
        await broker.settle()
    task.cancel()


async def test_test_that_waits_for_time_that_does_not_pass_is_warned(
    broker: EmbeddedBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gantrymq.testing.stall.STALL_SECONDS", 0.0)
    said = asyncio.Event()
    monkeypatch.setattr("gantrymq.testing.stall.log.warning", lambda *_: said.set())
    waiting = asyncio.create_task(broker.sleep(1.0))
    await said.wait()
    await broker.advance(seconds=1)
    await waiting


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_settling_waits_for_chains_of_wakeups(
    broker: EmbeddedBroker, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    """Gathers, shields and groups of them need rounds of the loop in which no task can go on."""
    done = []

    async def deep(depth: int) -> None:
        if depth:
            await asyncio.gather(asyncio.shield(deep(depth - 1)))

    async def work() -> None:
        await broker.sleep(1.0)
        await deep(20)
        done.append(broker.now)

    async def scenario() -> None:
        task = asyncio.create_task(work())
        await broker.advance(seconds=100)
        assert done == [1.0]
        await task

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(scenario())


def test_invalid_topic_is_refused(broker: EmbeddedBroker) -> None:
    with pytest.raises(LocalError, match="illegal"):
        broker.create_topic("no blanks allowed")
    assert broker.messages("nowhere") == []


def test_every_loop_may_use_it(broker: EmbeddedBroker) -> None:
    """A test may run without a plugin for asyncio."""

    async def scenario(body: bytes) -> None:
        own = links(broker)
        await send(own.connection(BROKER), "orders", body)
        await own.close()

    asyncio.run(scenario(b"a"))
    asyncio.run(scenario(b"b"))
    assert [message.body for message in broker.messages("orders")] == [b"a", b"b"]
