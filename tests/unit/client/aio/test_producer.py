"""Tests producers on asyncio, against a real broker on loopback."""

from __future__ import annotations

import asyncio
import gc
from pathlib import Path

import pytest

from gantrymq.client import (
    Message,
    MessageQueue,
    NoReplyError,
    Producer,
    ReceivedMessage,
    Sending,
    Sendings,
    SendStatus,
    SomeUnsentError,
    StateError,
    TransactionProducer,
    TransactionState,
    by_key,
    reply,
)
from gantrymq.client.core.errors import SendError
from gantrymq.fakes.servers import Servers, servers
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.testing.embedded import EmbeddedBroker
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.headers.offset import GetMaxOffsetRequest
from gantrymq.wire.headers.pull import PullMessageRequest
from gantrymq.wire.message.record import decode


async def ask(running: Servers, code: RequestCode, header: Header) -> Command:
    dialer = Dialer()
    try:
        link = dialer.connection(running.broker_address)
        return await link.request(Command(code, ext=header.encode()), 5.0)
    finally:
        await dialer.close()


async def stored(running: Servers, topic: str) -> int:
    """How many messages consumers find."""
    ends = [
        await ask(running, RequestCode.GET_MAX_OFFSET, GetMaxOffsetRequest(topic=topic, queue_id=n))
        for n in range(4)
    ]
    return sum(int((end.ext or {}).get("offset", 0)) for end in ends)


async def read(running: Servers, queue: MessageQueue, offset: int) -> ReceivedMessage:
    """Once it is there."""
    header = PullMessageRequest(
        consumer_group="CG", topic=queue.topic, queue_id=queue.queue_id, queue_offset=offset,
        max_msg_nums=1, sys_flag=2 | 4, commit_offset=0, suspend_timeout_millis=4_000,
        subscription="*", sub_version=0, expression_type="TAG",
    )  # fmt: skip
    answer = await ask(running, RequestCode.PULL_MESSAGE, header)
    return ReceivedMessage(decode(answer.body), queue)


async def test_every_kind_of_send_arrives(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        async with Producer("G", name_servers=running.name_server) as producer:
            result = await producer.send(Message("T", b"one", tag="A", keys=["k"]))
            assert result.status is SendStatus.SEND_OK
            await producer.send(Message("T", b"two"), queue=result.queue)
            await producer.send(Message("T", b"three"), select=by_key, key="k")
            batch = await producer.send_batch([Message("T", b"four"), Message("T", b"five")])
            assert batch.message_id.count(",") == 1
            soon = [producer.send_async(Message("T", b"%d" % n)) for n in range(50)]
            results = [await sending for sending in soon]
            assert len({each.message_id for each in results}) == 50
            await producer.send_oneway(Message("T", b"last"))
            assert len(await producer.queues("T")) == 4
        assert await stored(running, "T") == 56


async def test_closing_loses_nothing() -> None:
    world = EmbeddedBroker()
    producer = Producer("G", environment=world, name_servers=world.name_servers, linger_s=30.0)
    async with producer:
        soon = [producer.send_async(Message("T", b"x" * 100)) for _ in range(5_000)]
        seen: list[Sending] = []
        soon[-1].add_done_callback(seen.append)
    assert seen == [soon[-1]]
    assert all(sending.done() and sending.result().message_id for sending in soon)
    assert len(world.messages("T")) == 5_000


async def test_a_failure_is_raised_at_the_await(tmp_path: Path) -> None:
    del tmp_path
    producer = Producer("G", name_servers="127.0.0.1:1", linger_s=0.0)
    async with producer:
        sending = producer.send_async(Message("T", b"x"))
        with pytest.raises(asyncio.InvalidStateError):
            sending.result()
        with pytest.raises(SendError, match="connect to name servers failed"):
            await sending


async def test_lists_are_stored_whole_and_results_are_in_order() -> None:
    world = EmbeddedBroker()
    seen: list[Sendings] = []
    async with Producer("G", environment=world, name_servers=world.name_servers) as producer:
        sendings = producer.send_async_many("T", [b"a", "\u00fc", *[b"x"] * 1_500], tag="A")
        sendings.add_done_callback(seen.append)
        assert not sendings.done()
        with pytest.raises(asyncio.InvalidStateError):
            sendings.result()
        waiter = asyncio.ensure_future(sendings)
        await producer.flush()
        results = await waiter
        assert list(await sendings) == list(results)
        assert seen == [sendings]
        assert len(sendings) == len({result.message_id for result in results}) == 1_502
        with pytest.raises(TypeError):
            producer.send_async_many("T", [b"a", 5])  # type: ignore[list-item]
    found = world.messages("T")
    assert len(found) == 1_502
    assert {message.tag for message in found} == {"A"}


async def test_a_cancelled_wait_for_a_list_does_not_cancel_its_sends() -> None:
    world = EmbeddedBroker()
    async with Producer("G", environment=world, name_servers=world.name_servers) as producer:
        sendings = producer.send_async_many("T", [b"a", b"b"])
        waiter = asyncio.ensure_future(sendings)
        await asyncio.sleep(0)
        waiter.cancel()
        await producer.flush()
        assert waiter.cancelled()
        assert len(await sendings) == 2


async def test_waiting_for_a_list_leaves_nothing_behind_when_it_is_cancelled() -> None:
    def futures() -> int:
        gc.collect()
        return sum(isinstance(each, asyncio.Future) for each in gc.get_objects())

    world = EmbeddedBroker()
    async with Producer("G", environment=world, name_servers=world.name_servers) as producer:
        sendings = producer.send_async_many("T", [b"a", b"b"])
        before = futures()
        for _ in range(50):
            waiter = asyncio.ensure_future(sendings)
            await asyncio.sleep(0)
            waiter.cancel()
            await asyncio.wait([waiter])
        assert futures() < before + 10


async def test_a_text_is_no_list_of_bodies() -> None:
    world = EmbeddedBroker()
    async with Producer("G", environment=world, name_servers=world.name_servers) as producer:
        with pytest.raises(TypeError, match="not str: send_async takes one"):
            producer.send_async_many("T", "hello")
        with pytest.raises(TypeError, match="not bytes"):
            producer.send_async_many("T", b"hello")  # type: ignore[arg-type]
    assert world.messages("T") == []


async def test_the_error_of_a_list_has_the_positions_that_failed() -> None:
    async with Producer("G", name_servers="127.0.0.1:1", linger_s=0.0) as producer:
        sendings = producer.send_async_many("T", [b"a", b"b"])
        with pytest.raises(SomeUnsentError, match="2 of 2 messages") as caught:
            await sendings
        assert caught.value.failed == (0, 1)


async def test_transactions_end(tmp_path: Path) -> None:
    flags = {"transactionCheckInterval": "200", "transactionTimeOut": "200"}
    checked: asyncio.Queue[ReceivedMessage] = asyncio.Queue()

    async def check(message: ReceivedMessage) -> TransactionState:
        if message.body != b"UNKNOWN":  # asked by a slow machine, while its end is on its way
            return TransactionState.UNKNOWN
        await checked.put(message)
        return TransactionState.COMMIT

    def local(message: Message, argument: object) -> object:
        del message
        return argument

    async with servers(tmp_path, **flags) as running:
        producer = TransactionProducer("TG", check=check, name_servers=running.name_server)
        async with producer:
            for state in TransactionState:
                told = await producer.send_in_transaction(Message("T", state.name), local, state)
                assert told.state is state
            async with asyncio.timeout(30):
                message = await checked.get()
            assert (message.topic, message.body) == ("T", b"UNKNOWN")
            queue = MessageQueue("T", "broker-a", int(message.record.queue_id))
            assert (await read(running, queue, 0)).body in {b"COMMIT", b"UNKNOWN"}
        assert await stored(running, "T") == 2


async def test_requests_are_replied_to(tmp_path: Path) -> None:
    async with servers(tmp_path) as running:
        names = running.name_server
        async with Producer("A", name_servers=names) as asking:
            first = await asking.send(Message("T", b"first"))
            asked = asyncio.create_task(
                asking.request(Message("T", b"ping"), timeout_s=30.0, queue=first.queue)
            )
            async with Producer("B", name_servers=names) as replying:
                message = await read(running, first.queue, 1)
                await replying.send(reply(message, b"pong"))
                assert (await asked).body == b"pong"


async def test_a_request_without_a_reply_raises_no_reply_error() -> None:
    world = EmbeddedBroker()
    async with Producer("A", environment=world, name_servers=world.name_servers) as asking:
        with pytest.raises(NoReplyError):
            await world.run(asking.request(Message("T", b"ping"), timeout_s=0.2))


async def test_request_hooks_see_requests_and_responses(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    class Hook:
        def before_request(self, address: str, command: Command) -> None:
            if command.ext is not None:
                command.ext["mark"] = address

        def after_response(self, address: str, command: Command, response: Command) -> None:
            assert (command.ext or {}).get("mark", address) == address
            seen.append((command.code, response.code))

    async with (
        servers(tmp_path) as running,
        Producer("G", name_servers=running.name_server, request_hooks=[Hook()]) as producer,
    ):
        await producer.send(Message("T", b"x"))
    assert (RequestCode.SEND_MESSAGE_V2, 0) in seen


async def test_errors_name_the_lifecycle_state(tmp_path: Path) -> None:
    del tmp_path
    producer = Producer("G", name_servers="127.0.0.1:1", instance_name="one")
    with pytest.raises(StateError, match="CREATE_JUST"):
        await producer.send(Message("T", b"x"))
    async with producer:
        with pytest.raises(StateError, match="maybe started once, RUNNING"):
            await producer.start()
        with pytest.raises(StateError, match=r"group\[G\] has been created before"):
            await Producer("G", name_servers="127.0.0.1:1", instance_name="one").start()
    await producer.close()
    with pytest.raises(StateError, match="SHUTDOWN_ALREADY"):
        producer.send_async(Message("T", b"x"))
    with pytest.raises(StateError, match="SHUTDOWN_ALREADY"):
        await producer.start()


async def test_a_sending_works_with_asyncios_functions() -> None:
    world = EmbeddedBroker()
    async with Producer("G", environment=world, name_servers=world.name_servers) as producer:
        first, second = (producer.send_async(Message("T", body)) for body in (b"a", b"b"))
        results = await world.run(asyncio.gather(first, second, first))
        assert [each.message_id for each in results] == [
            first.result().message_id, second.result().message_id, first.result().message_id,
        ]  # fmt: skip
        third = producer.send_async(Message("T", b"c"))
        waiting = asyncio.create_task(asyncio.wait_for(asyncio.shield(third), 9.0))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.InvalidStateError):
            third.exception()
    assert third.exception() is None
    assert len(world.messages("T")) == 3


async def test_failed_messages_that_are_not_awaited_are_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As when a program's event loop ends."""
    world = EmbeddedBroker()
    producer = Producer("G", environment=world, name_servers=world.name_servers, linger_s=60.0)
    async with producer:
        for _ in range(3):
            producer.send_async(Message("T", b"x"))
        assert producer.waiting_bytes > 0
        await asyncio.sleep(0)
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        await asyncio.sleep(0)
    assert "messages not sent topic=T count=3 error=the producer was closed" in caplog.text


async def test_old_names_work_and_warn() -> None:
    broker = EmbeddedBroker()
    names = broker.name_servers
    with pytest.warns(
        DeprecationWarning, match="`world` has been renamed to `environment`"
    ) as warned:
        producer = Producer("G", world=broker, name_servers=names)
    async with producer:
        with pytest.warns(DeprecationWarning, match="renamed to `send_async`"):
            one = producer.send_soon(Message("T", b"one"))
        with pytest.warns(DeprecationWarning, match="renamed to `send_async_many`") as later:
            many = producer.send_soon_many("T", [b"two"], tag="A")
        await broker.run(producer.flush())
        assert [one.result().message_id, *(each.message_id for each in many.result())]
    assert {each.filename for each in (*warned, *later)} == {__file__}
