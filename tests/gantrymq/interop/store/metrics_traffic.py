"""Puts the same traffic on a broker of either kind, so that their metrics can be compared.

Every step waits for its effect; when `put_traffic` returns, each counter has its final value.
"""

import asyncio
from typing import Final

from gantrymq.client import (
    Later,
    Message,
    Outcome,
    ReceivedMessage,
    TransactionProducer,
    TransactionState,
)
from gantrymq.client.core.pull.lite_queue import Buffering
from gantrymq.interop.own.own_stage import Inbox, OwnStage, stored, until

PLAIN: Final = "PlainTopic"
LATER: Final = "LaterTopic"
TRANSACTIONS: Final = "TransactionTopic"
FAILING: Final = "FailingTopic"
POPPED: Final = "PoppedTopic"

OFFLINE_GROUP: Final = "OfflineGroup"
FAILING_GROUP: Final = "FailingGroup"
POP_GROUP: Final = "PopGroup"
DEAD_LETTERS: Final = f"%DLQ%{FAILING_GROUP}"

SMALL, LARGE = b"s" * 100, b"l" * 5_000


async def put_traffic(stage: OwnStage) -> None:
    """Send and consume messages of every kind: plain, ordered, batched, delayed, timed,
    transactional, retried, dead and popped ones."""
    for topic in (PLAIN, LATER, TRANSACTIONS, FAILING, POPPED):
        await asyncio.to_thread(stage.broker.create_topic, topic, 1)
    await send_plain(stage)
    await leave_a_group_behind(stage)
    await send_for_later(stage)
    await end_transactions(stage)
    await fail(stage)
    await pop_one_of_two(stage)


async def send_plain(stage: OwnStage) -> None:
    """Send seven normal requests, one of them with three messages, and two ordered messages."""
    producer = await stage.producer()
    for body in (SMALL, SMALL, SMALL, SMALL, LARGE):
        await producer.send(Message(PLAIN, body))
    await producer.send_oneway(Message(PLAIN, SMALL))
    await producer.send_batch([Message(PLAIN, SMALL) for _ in range(3)])
    for _ in range(2):
        await producer.send(Message(PLAIN, SMALL, sharding_key="account"))
    await stored(await stage.admin(), PLAIN, 11)


async def leave_a_group_behind(stage: OwnStage) -> None:
    """Leave a group without members that was given eleven messages and has consumed four.

    Pulls do not run ahead, so that the last ones come after the group's first offset: brokers of
    Gantry do not note earlier pulls.
    """
    one_pull = Buffering(queue_messages_max=1)
    reader = await stage.reader(OFFLINE_GROUP, auto_commit=False, pull_batch=4, buffering=one_pull)
    (queue,) = await reader.fetch_message_queues(PLAIN)
    await reader.assign([queue])
    given = 0

    async def has_read() -> bool:
        nonlocal given
        messages = await reader.poll(timeout_s=0.3)
        if given == 0 < len(messages):
            await reader.commit({queue: 4})
        given += len(messages)
        return given == 11

    await until(has_read, "the group was given all messages")
    await reader.close(commit=False)


async def send_for_later(stage: OwnStage) -> None:
    """Send a message at a delay level and a timer message, and wait until both are delivered."""
    producer = await stage.producer()
    await producer.send(Message(LATER, SMALL, delay_level=1))
    await producer.send(Message(LATER, SMALL, delay_s=2.0))
    await stored(await stage.admin(), LATER, 2)


async def end_transactions(stage: OwnStage) -> None:
    """Commit one transaction, roll one back, and leave one open."""
    answers = {
        b"commit": TransactionState.COMMIT,
        b"rollback": TransactionState.ROLLBACK,
        b"open": TransactionState.UNKNOWN,
    }

    def check(message: ReceivedMessage) -> TransactionState:
        return answers[message.body]

    def execute(message: Message, argument: object) -> TransactionState:
        return answers[bytes(message.body)]

    producer = await stage.enter(
        TransactionProducer("TransactionGroup", check=check, **stage.keywords())
    )
    for body in answers:
        await producer.send_in_transaction(Message(TRANSACTIONS, body), execute)
    await stored(await stage.admin(), TRANSACTIONS, 1)


async def fail(stage: OwnStage) -> None:
    """Let one message succeed at its second delivery, and another become a dead letter after it."""

    def answer(message: ReceivedMessage) -> Outcome:
        is_done = message.body == b"again" and message.reconsume_times == 1
        return None if is_done else Later(level=1)

    inbox = Inbox(answer)
    await stage.consumer(FAILING, inbox, group=FAILING_GROUP, max_reconsume_times=1)
    producer = await stage.producer()
    for body in (b"again", b"dead"):
        await producer.send(Message(FAILING, body))
    await inbox.until(4)
    admin = await stage.admin()

    async def is_there() -> bool:
        return DEAD_LETTERS in await admin.topics.names()

    await until(is_there, "there are dead letters")
    await stored(admin, DEAD_LETTERS, 1)


async def pop_one_of_two(stage: OwnStage) -> None:
    """Pop two messages, acknowledge one, and leave the other one in flight."""
    producer = await stage.producer()
    for body in (SMALL, SMALL):
        await producer.send(Message(POPPED, body))
    consumer = await stage.popper(POPPED, group=POP_GROUP, invisible_s=600.0)
    first = await consumer.receive(20.0)
    second = await consumer.receive(20.0)
    assert first is not None
    assert second is not None
    await first.ack()
