"""Members of clients: their start, their end, and where they may be used."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import warnings
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from gantrymq.client.aio.admin import Admin
from gantrymq.client.aio.membership import Startable
from gantrymq.client.aio.pop_consumer import PopConsumer
from gantrymq.client.aio.producer import Producer
from gantrymq.client.aio.pull_consumer import PullConsumer
from gantrymq.client.aio.push_consumer import PushConsumer
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.message import Message
from gantrymq.testing.embedded import EmbeddedBroker


async def started() -> Producer:
    broker = EmbeddedBroker()
    producer = Producer("G", world=broker, name_servers=broker.name_servers)
    await producer.start()
    await producer.send(Message("T", b"x"))
    return producer


def on_another_loop(work: Coroutine[Any, Any, object]) -> None:
    """Raises what the work raises."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    raise errors[0] if errors else AssertionError("nothing was raised")


async def soon(producer: Producer) -> None:
    producer.send_soon(Message("T", b"x"))


async def test_a_client_lives_on_one_event_loop() -> None:
    producer = await started()
    with pytest.raises(StateError, match="lives on another event loop"):
        on_another_loop(producer.send(Message("T", b"x")))
    with pytest.raises(StateError, match="lives on another event loop"):
        on_another_loop(soon(producer))
    await producer.close()


def exit_status_of_child(producer: Producer) -> int:
    """0: all that it tried was refused."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        with pytest.raises(StateError, match="before the process forked"):
            producer.send_soon(Message("T", b"x"))
        sending = producer.send(Message("T", b"x"))
        with pytest.raises(StateError, match="before the process forked"):
            sending.send(None)
        os._exit(0)
    finally:
        os._exit(1)


async def test_a_child_of_a_fork_is_told() -> None:
    producer = await started()
    assert exit_status_of_child(producer) == 0
    await producer.close()


def forget(members: list[Startable]) -> None:
    members.clear()
    gc.collect()


@pytest.mark.parametrize("kind", [Producer, PushConsumer, PullConsumer, PopConsumer, Admin])
async def test_who_forgets_to_close_is_told(kind: Callable[..., Startable]) -> None:
    broker = EmbeddedBroker()
    group = () if kind is Admin else ("G",)
    member = kind(*group, world=broker, name_servers=broker.name_servers)
    await member.start()
    members = [member]
    del member
    with pytest.warns(ResourceWarning, match="unclosed"):
        forget(members)


async def test_who_closes_is_not() -> None:
    producer = await started()
    await producer.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del producer
        gc.collect()
