"""Provides the types, requests and waits that tests of a whole name server share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from gantrymq.fakes.brokers.namesrv import Broker
from gantrymq.namesrv.server import NameServerHost
from gantrymq.runtime.net.dialer import Connection
from gantrymq.wire import javajson
from gantrymq.wire.bodies.route import TopicRouteData
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command, Encoding

StartHost = Callable[..., Awaitable[NameServerHost]]
Dial = Callable[[NameServerHost, str], Connection]
SECONDS = 5.0


def ask_route(topic: str, encoding: Encoding = Encoding.JSON) -> Command:
    return Command(
        Code.GET_ROUTEINFO_BY_TOPIC, version=479, ext={"topic": topic}, encoding=encoding
    )


async def register(connection: Connection, broker: Broker) -> None:
    command = Command(
        Code.REGISTER_BROKER, version=479, ext=broker.header(), body=broker.body().encode()
    )
    assert (await connection.request(command, SECONDS)).code == 0


async def route(connection: Connection, topic: str) -> TopicRouteData | None:
    answer = await connection.request(ask_route(topic), SECONDS)
    return TopicRouteData.from_json(javajson.loads(answer.body)) if answer.code == 0 else None


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(SECONDS):
        while not condition():  # noqa: ASYNC110  # what is awaited has no event
            await asyncio.sleep(0)
