"""Provides both ends of real loopback connections, for tests of servers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from gantrymq.remoting.events import Reason
from gantrymq.runtime.net.channel import Channel
from gantrymq.runtime.net.net import Server
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader, encode

ECHO, KEEP = 1, 2


class Recorder:
    """Answers ECHO with the request's body, keeps KEEP unanswered, and records all events."""

    def __init__(self, answer_bytes: int | None = None) -> None:
        self.batches: list[list[Command]] = []
        self.kept: asyncio.Queue[tuple[Channel, Command]] = asyncio.Queue()
        self.opened_channels: asyncio.Queue[Channel] = asyncio.Queue()
        self.closings: asyncio.Queue[Reason] = asyncio.Queue()
        self._answer = None if answer_bytes is None else bytes(answer_bytes)

    def opened(self, channel: Channel, now: float) -> None:
        self.opened_channels.put_nowait(channel)

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        self.batches.append(commands)
        for command in commands:
            if command.code == KEEP:
                self.kept.put_nowait((channel, command))
                continue
            body = command.body if self._answer is None else self._answer
            channel.respond(command, Command(0, body=body, remark=channel.listener))

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self.closings.put_nowait(reason)


class Echo:
    """Answers every request with its body, and counts the requests."""

    def __init__(self) -> None:
        self.served = 0
        self.closings: asyncio.Queue[Reason] = asyncio.Queue()

    def opened(self, channel: Channel, now: float) -> None: ...

    def requests(self, channel: Channel, commands: list[Command], now: float) -> None:
        self.served += len(commands)
        for command in commands:
            channel.respond(command, Command(0, body=command.body))

    def closed(self, channel: Channel, reason: Reason, now: float) -> None:
        self.closings.put_nowait(reason)


class Client:
    """A raw connection that sends bytes and receives commands."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self._frames = FrameReader()
        self._commands: list[Command] = []

    @classmethod
    async def to(cls, server: Server, listener: str = "internal") -> Client:
        return cls(*await asyncio.open_connection(*server.addresses[listener]))

    def send(self, *commands: Command) -> None:
        self.writer.write(b"".join(map(encode, commands)))

    async def answer(self) -> Command:
        while not self._commands:
            data = await self.reader.read(1 << 20)
            assert data, "the server closed the connection"
            self._commands += self._frames.decode(data)
        return self._commands.pop(0)

    async def is_closed_by_server(self) -> bool:
        try:
            return await self.reader.read() == b""
        except ConnectionResetError:
            return True

    async def close(self) -> None:
        self.writer.close()
        try:
            await self.writer.wait_closed()
        except OSError:
            return  # the server closed first


def raise_a_bug(channel: Channel, commands: list[Command], now: float) -> None:
    raise ZeroDivisionError


def many(count: int, code: int = ECHO, body: bytes = b"") -> list[Command]:
    return [Command(code, opaque=opaque, body=body) for opaque in range(count)]


async def until(condition: Callable[[], bool]) -> None:
    """Let the event loop run until the condition holds; pytest's timeout is the limit."""
    while not condition():  # noqa: ASYNC110  # what is awaited has no event, on purpose
        await asyncio.sleep(0)


async def some_turns() -> None:
    """Let the event loop run long enough for it to do what the test forbids."""
    for _ in range(100):
        await asyncio.sleep(0)


def the_lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
