"""Tests the start and close of members of clients, and where they can be used."""

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
from gantrymq.client.aio.machinery.environment import REAL
from gantrymq.client.aio.membership import Startable
from gantrymq.client.aio.pop_consumer import PopConsumer
from gantrymq.client.aio.producer import Producer
from gantrymq.client.aio.pull_consumer import PullConsumer
from gantrymq.client.aio.push_consumer import PushConsumer
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.message.message import Message
from gantrymq.testing.embedded import EmbeddedBroker
from gantrymq.wire.command import Command


async def started() -> Producer:
    broker = EmbeddedBroker()
    producer = Producer("G", environment=broker, name_servers=broker.name_servers)
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


class Seen:
    """A request hook."""

    def __init__(self) -> None:
        self.fields: list[dict[str, str]] = []

    def before_request(self, address: str, command: Command) -> None:
        del address
        self.fields.append(dict(command.ext or {}))

    def after_response(self, address: str, command: Command, response: Command) -> None:
        """Does nothing."""


async def test_every_request_has_the_namespace_fields_of_5x() -> None:
    broker, seen = EmbeddedBroker(), Seen()
    producer = Producer(
        "G",
        environment=broker,
        name_servers=broker.name_servers,
        namespace_v2="tenant",
        request_hooks=[seen],
    )
    async with producer:
        await producer.send(Message("T", b"x"))
    await broker.expect("T", [b"x"])
    assert len(seen.fields) == 3
    assert all((each["nsd"], each["ns"]) == ("true", "tenant") for each in seen.fields)


async def test_a_page_lists_the_name_servers() -> None:
    broker = EmbeddedBroker()
    broker.pages["http://names/list"] = broker.name_servers
    async with Producer("G", environment=broker, name_server_url="http://names/list") as producer:
        await producer.send(Message("T", b"x"))
    await broker.expect("T", [b"x"])


async def soon(producer: Producer) -> None:
    producer.send_async(Message("T", b"x"))


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
            producer.send_async(Message("T", b"x"))
        sending = producer.send(Message("T", b"x"))
        with pytest.raises(StateError, match="before the process forked"):
            sending.send(None)
        os._exit(0)
    finally:
        os._exit(1)


async def test_use_in_a_forked_child_is_refused() -> None:
    producer = await started()
    assert exit_status_of_child(producer) == 0
    await producer.close()


def forget(members: list[Startable]) -> None:
    members.clear()
    gc.collect()


@pytest.mark.parametrize("kind", [Producer, PushConsumer, PullConsumer, PopConsumer, Admin])
async def test_a_client_that_is_not_closed_warns(kind: Callable[..., Startable]) -> None:
    broker = EmbeddedBroker()
    group = () if kind is Admin else ("G",)
    member = kind(*group, environment=broker, name_servers=broker.name_servers)
    await member.start()
    members = [member]
    del member
    with pytest.warns(ResourceWarning, match="unclosed"):
        forget(members)


async def test_a_closed_client_does_not_warn() -> None:
    producer = await started()
    await producer.close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del producer
        gc.collect()


async def test_pages_are_fetched_by_http() -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.0 200 OK\r\n\r\nn1:9876;n2:9876\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        page = await REAL.fetch(f"http://127.0.0.1:{port}/rocketmq/nsaddr", 3.0)
        assert page == "n1:9876;n2:9876\n"
        server.close()
        await server.wait_closed()
    with pytest.raises(OSError, match="refused"):
        await REAL.fetch(f"http://127.0.0.1:{port}/", 3.0)
