"""Tests that clients survive mistakes of applications and servers, in virtual time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from gantrymq.client import (
    ConsumeFrom,
    Later,
    Message,
    Outcome,
    Producer,
    PushConsumer,
    RouteError,
    StateError,
    Suspend,
    TransactionProducer,
    TransactionState,
)
from gantrymq.client.aio.machinery.environment import Identity, Links, Serve
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.testing.embedded import EmbeddedBroker
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

Mode = Callable[[Command], Awaitable[Command | None]]


class Disturbed:
    """The world of an embedded broker, where requests may be answered otherwise, or later."""

    def __init__(self, broker: EmbeddedBroker) -> None:
        self._broker = broker
        self.mode: Mode | None = None
        self.asked: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._broker, name)

    def links(self, identity: Identity, serve: Serve) -> Links:
        return _Links(self, self._broker.links(identity, serve))


class _Links:
    def __init__(self, world: Disturbed, links: Links) -> None:
        self._world = world
        self._links = links

    def connection(self, address: str) -> _Connection:
        return _Connection(self._world, self._links, address)

    async def close(self) -> None:
        await self._links.close()


class _Connection:
    def __init__(self, world: Disturbed, links: Links, address: str) -> None:
        self._world = world
        self._link = links.connection(address)

    async def request(self, command: Command, timeout_s: float) -> Command:
        self._world.asked.append(command.code)
        mode = self._world.mode
        answer = None if mode is None else await mode(command)
        return answer or await self._link.request(command, timeout_s)

    async def notify(self, command: Command) -> None:
        await self._link.notify(command)


@pytest.fixture
def broker() -> EmbeddedBroker:
    made = EmbeddedBroker()
    made.create_topic("T", queues=1)
    return made


@pytest.fixture
def world(broker: EmbeddedBroker) -> Disturbed:
    return Disturbed(broker)


class Listener:
    """Remembers bodies; does something wrong with the first."""

    def __init__(self, mistake: Callable[[], Awaitable[Outcome]] | None = None) -> None:
        self.bodies: list[bytes] = []
        self._mistake = mistake

    async def __call__(self, messages: Sequence[ReceivedMessage]) -> Outcome:
        self.bodies.extend(message.body for message in messages)
        if self._mistake is not None and len(self.bodies) == 1:
            return await self._mistake()
        return None


async def cancelled() -> Outcome:
    task = asyncio.create_task(asyncio.sleep(100))
    task.cancel()
    await task
    return None


async def later_x() -> Outcome:
    return Later("x")  # type: ignore[arg-type]


async def suspend_5() -> Outcome:
    return Suspend("5")  # type: ignore[arg-type]


class Unprintable:
    """As an object of a database whose session is closed."""

    def __repr__(self) -> str:
        raise RuntimeError("not bound to a session")


async def unprintable_error() -> Outcome:
    raise ValueError(Unprintable())


async def unprintable_outcome() -> Outcome:
    return Unprintable()  # type: ignore[return-value]


def pushing(world: Any, **options: Any) -> PushConsumer:
    return PushConsumer(
        "G",
        environment=world,
        name_servers=world.name_servers,
        consume_from=ConsumeFrom.FIRST_OFFSET,
        **options,
    )


@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize(
    "mistake", [cancelled, later_x, suspend_5, unprintable_error, unprintable_outcome]
)
async def test_unusual_listener_behaviour_is_survived(
    broker: EmbeddedBroker, mistake: Callable[[], Awaitable[Outcome]], *, orderly: bool
) -> None:
    listener = Listener(mistake)
    consumer = pushing(broker, orderly=orderly, consume_threads=1)
    consumer.subscribe("T", "*", listener)
    async with Producer("P", environment=broker, name_servers=broker.name_servers) as producer:
        for number in range(3):
            await producer.send(Message("T", str(number)))
    async with consumer:
        await broker.advance(60)
        assert sorted(listener.bodies) == [b"0", b"0", b"1", b"2"]
        if orderly:
            assert listener.bodies == [b"0", b"0", b"1", b"2"]


async def test_a_strategy_that_fails_once_is_asked_again(broker: EmbeddedBroker) -> None:
    calls = []

    def mine(own: str, queues: Sequence[MessageQueue], ids: Sequence[str]) -> list[MessageQueue]:
        calls.append(own)
        if len(calls) == 3:
            raise ValueError("once")
        return list(queues)

    consumer = pushing(broker, allocate=mine)
    consumer.subscribe("T", "*", Listener())
    async with consumer:
        await broker.advance(120)
    assert len(calls) > 6


async def test_routes_are_fetched_again_after_an_invalid_response(
    broker: EmbeddedBroker, world: Disturbed
) -> None:
    async def nonsense(command: Command) -> Command | None:
        is_route = command.code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        return Command(0, body=b"{nonsense") if is_route else None

    consumer = pushing(world)
    consumer.subscribe("T", "*", Listener())
    async with consumer:
        world.mode = nonsense
        await broker.advance(40)
        world.mode = None
        world.asked.clear()
        await broker.advance(100)
        assert world.asked.count(RequestCode.GET_ROUTEINFO_BY_TOPIC) >= 3


async def test_a_topic_is_pulled_once_brokers_know_the_subscription(
    broker: EmbeddedBroker, world: Disturbed
) -> None:
    async def slow(command: Command) -> None:
        if command.code == RequestCode.HEART_BEAT:
            await broker.sleep(2.5)

    broker.create_topic("U", queues=1)
    listener = Listener()
    consumer = pushing(world)
    consumer.subscribe("T", "*", Listener())
    async with Producer("P", environment=broker, name_servers=broker.name_servers) as producer:
        await producer.send(Message("U", b"x"))
    async with consumer:
        await broker.advance(31)
        world.mode = slow
        consumer.subscribe("U", "*", listener)
        consumer.resume()  # asks for a rebalance, as a member that joins does
        await broker.advance(20)
        assert listener.bodies == [b"x"]


@pytest.mark.parametrize("orderly", [False, True])
async def test_a_listener_that_closes_its_own_consumer_is_refused(
    broker: EmbeddedBroker, *, orderly: bool
) -> None:
    told: list[str] = []
    closing: list[asyncio.Task[None]] = []

    async def close(messages: Sequence[ReceivedMessage]) -> Outcome:
        if not told:
            try:
                await consumer.close()
            except StateError as error:
                told.append(str(error))
            closing.append(asyncio.create_task(consumer.close()))
        return None

    async with Producer("P", environment=broker, name_servers=broker.name_servers) as producer:
        await producer.send(Message("T", b"x"))
    consumer = pushing(broker, orderly=orderly, consume_threads=1)
    consumer.subscribe("T", "*", close)
    await consumer.start()
    await broker.advance(1)
    assert "create_task" in told[0]
    assert closing[0].done()
    assert closing[0].exception() is None
    assert broker.progress("G", "T").lag == 0


@pytest.mark.parametrize("kind", ["producer", "consumer"])
async def test_a_client_closed_while_starting_is_closed(
    broker: EmbeddedBroker, world: Disturbed, kind: str
) -> None:
    async def slow(command: Command) -> None:
        if command.code == RequestCode.HEART_BEAT:
            await broker.sleep(2.5)

    member: Producer | PushConsumer
    if kind == "producer":
        member = Producer("P", environment=world, name_servers=world.name_servers)
    else:
        member = pushing(world)
        member.subscribe("T", "*", Listener())
    world.mode = slow
    start = asyncio.create_task(member.start())
    await broker.advance(1)
    close = asyncio.create_task(member.close())
    await broker.advance(20)
    assert start.done()
    assert close.done()
    world.asked.clear()
    await broker.advance(100)
    assert world.asked == []
    with pytest.raises(StateError, match="SHUTDOWN_ALREADY"):
        await _used(member)
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("orderly", [False, True])
async def test_a_close_that_is_cancelled_leaves_no_member_in_a_client_that_is_shared(
    broker: EmbeddedBroker, *, orderly: bool
) -> None:
    async def hang(messages: Sequence[ReceivedMessage]) -> Outcome:
        await broker.sleep(3_600)
        return None

    async with Producer("P", environment=broker, name_servers=broker.name_servers) as producer:
        await producer.send(Message("T", b"x"))
    consumer = pushing(broker, orderly=orderly)
    consumer.subscribe("T", "*", hang)
    await consumer.start()
    client = consumer._membership._client
    assert client is not None
    client.enter()  # for another owner
    await broker.advance(5)
    close = asyncio.create_task(consumer.close())
    await broker.advance(1)
    close.cancel()
    await broker.advance(20)
    assert close.cancelled()
    assert client.instance.consumers == {}
    other, listener = pushing(broker, orderly=orderly), Listener()
    other.subscribe("T", "*", listener)
    async with other:
        await broker.advance(5)
        assert listener.bodies == [b"x"]
    await client.leave()


async def _used(member: Producer | PushConsumer) -> None:
    if isinstance(member, Producer):
        await member.send(Message("T", b"x"))
    else:
        member.resume()


async def test_messages_to_a_queue_keep_their_order(
    broker: EmbeddedBroker,
) -> None:
    name_servers = broker.name_servers
    async with Producer(
        "P", environment=broker, name_servers=name_servers, linger_s=0.01
    ) as producer:
        (queue,) = await producer.queues("T")
        bodies = [b"1", b"2" * 5000, b"3", b"4", b"5"]
        for body in bodies:
            message = Message("T", body, wait_until_stored=body != b"4")
            producer.send_async(message, queue=queue)
        await broker.advance(1)
    assert [message.body for message in broker.messages("T")] == bodies


async def test_a_callback_that_raises_does_not_delay_others(broker: EmbeddedBroker) -> None:
    told: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))

    def raises(sending: object) -> None:
        raise ValueError("the user's")

    name_servers = broker.name_servers
    async with Producer("P", environment=broker, name_servers=name_servers) as producer:
        first, second = (producer.send_async(Message("T", body)) for body in (b"a", b"b"))
        first.add_done_callback(raises)
        waiting = asyncio.ensure_future(_result(second))
        await broker.advance(1)
        assert waiting.done()
    assert [str(context["exception"]) for context in told] == ["the user's"]


async def _result(sending: Awaitable[object]) -> object:
    return await sending


async def test_a_local_transaction_runs_only_if_its_end_can_be_sent(
    broker: EmbeddedBroker, world: Disturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[Message] = []

    def local(message: Message, argument: object) -> TransactionState:
        ran.append(message)
        return TransactionState.COMMIT

    producer = TransactionProducer(
        "P",
        check=lambda message: TransactionState.ROLLBACK,
        environment=world,
        name_servers=world.name_servers,
    )
    async with producer:
        instance = producer._host.member.instance
        master = instance.master
        asked: list[str] = []

        def gone_after_the_send(broker_name: str) -> str | None:
            asked.append(broker_name)
            return master(broker_name) if len(asked) == 1 else None

        monkeypatch.setattr(instance, "master", gone_after_the_send)
        with pytest.raises(RouteError):
            await producer.send_in_transaction(Message("T", b"x"), local)
    assert ran == []
