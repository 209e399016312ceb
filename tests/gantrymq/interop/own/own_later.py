"""Defines scenarios of delayed, recalled and transactional messages of Gantry's producer."""

import asyncio
import time
from typing import Final

import pytest

from gantrymq.client import (
    BrokerError,
    Message,
    MessageError,
    ReceivedMessage,
    TransactionProducer,
    TransactionState,
)
from gantrymq.interop.own.own_row import OwnRows
from gantrymq.interop.own.own_stage import Inbox, OwnStage, stored, until

ROWS: Final = OwnRows()


@ROWS.add("timer messages: by a moment or a delay; one is recalled before it is due", "timers")
async def timers(stage: OwnStage) -> None:
    topic, inbox, producer = await stage.topic(), Inbox(), await stage.producer()
    await stage.consumer(topic, inbox)
    began_ms = time.time() * 1000
    recalled = await producer.send(Message(topic, "recalled", delay_s=6.0))
    assert recalled.recall_handle
    assert await producer.recall(recalled) == recalled.message_id
    await producer.send(Message(topic, "delayed", delay_s=3.0))
    await producer.send(Message(topic, "timed", deliver_at_ms=round(began_ms) + 8000))
    await inbox.gets_exactly(["delayed", "timed"])  # the last one was due after the recalled one
    due_ms = {"delayed": began_ms + 3000, "timed": began_ms + 8000}
    for message in inbox.messages:
        assert message.stored_ms >= due_ms[message.body.decode()] - 1000  # their precision


@ROWS.add("a recall of a message that cannot be recalled fails", "timers")
async def not_recalled(stage: OwnStage) -> None:
    topic, inbox, producer = await stage.topic(), Inbox(), await stage.producer()
    result = await producer.send(Message(topic, "now"))
    assert result.recall_handle == ""
    with pytest.raises(MessageError, match="recall_handle"):
        await producer.recall(result)
    late = await producer.send(Message(topic, "soon", delay_s=1.0))
    await stage.consumer(topic, inbox)
    await inbox.gets_exactly(["now", "soon"])
    with pytest.raises(BrokerError):
        await producer.recall(late)


@ROWS.add("transactions: what raises is unknown, and the check decides, plain or async")
async def unknown_transactions(stage: OwnStage) -> None:
    topic, admin, inbox = await stage.topic(), await stage.admin(), Inbox()
    checked: list[str] = []

    async def check(message: ReceivedMessage) -> TransactionState:
        await asyncio.sleep(0)
        text = message.body.decode()
        checked.append(text)
        if checked.count(text) == 1:
            raise OSError("the data base is away")
        return TransactionState.COMMIT if text == "kept" else TransactionState.ROLLBACK

    def fail(message: Message, argument: object) -> TransactionState:
        raise ValueError(f"{message.body!r} {argument}")

    async def undo(message: Message, argument: object) -> TransactionState:
        await asyncio.sleep(0)
        return TransactionState.ROLLBACK

    await stage.consumer(topic, inbox)
    producer = await stage.enter(
        TransactionProducer(stage.name("group"), check=check, **stage.keywords())
    )
    for text in ("kept", "dropped"):
        result = await producer.send_in_transaction(Message(topic, text), fail, "at all")
        assert result.state is TransactionState.UNKNOWN
        assert isinstance(result.error, ValueError)
    await producer.send_in_transaction(Message(topic, "undone"), undo)
    assert inbox.messages == []
    await inbox.gets_exactly(["kept"])
    await until(lambda: checked.count("dropped") >= 2, "the other one is decided")
    assert "undone" not in checked
    assert [each.body for each in await stored(admin, topic, 1)] == [b"kept"]
