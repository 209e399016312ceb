"""Runs a legitimate producer and consumer, probes and trivial requests during an attack.

    python -m gantrymq.attack.legitimate '<Work as JSON>'

    standard input    begin          reset all counts
                      end            standard output gets one line, a Seen as JSON
                      end of file    exit

It is a process of its own, so that an attacker in the test's process does not slow it down. The
producer sends one message after the other, and goes on if one is refused as busy, as RocketMQ's
clients do. The consumer reads all messages by long pulls. A probe is a new HTTP connection every
100 ms and must be answered within a second, the timeout of kubelets.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import asdict, dataclass, field
from typing import Final, final

from gantrymq.acl.signature.signature import Credentials, signed
from gantrymq.attack import requests
from gantrymq.wire import frames
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.version import OWN_VERSION

TOPIC: Final = "legitimate"
GROUP: Final = "legitimate-consumers"
SEND_SECONDS: Final = 3.0  # the timeout of RocketMQ's producers
ANSWER_SECONDS: Final = 30.0
PROBE_SECONDS: Final = 1.0
PROBE_EACH_SECONDS: Final = 0.1
PAUSE_SECONDS: Final = 0.01
PULL_MS: Final = 1_000
SHOWN_MAX: Final = 3
# Answers by which a broker asks a producer to retry.
BUSY: Final = frozenset({ResponseCode.SYSTEM_BUSY, ResponseCode.FLOW_CONTROL})

_MARK: Final = re.compile(rb"legitimate message (\d+);")


@final
@dataclass(frozen=True, slots=True)
class Work:
    """The addresses that the clients connect to, and their accounts."""

    broker: tuple[str, int]
    names: tuple[str, int]
    probes: tuple[tuple[str, int], ...]
    uses_tls: bool = False
    access_key: str = ""
    secret_key: str = ""


@dataclass(slots=True)
class Seen:
    """The counts of the legitimate clients and the probes between `begin` and `end`."""

    seconds: float = 0.0
    sent: int = 0
    busy: int = 0
    send_errors: int = 0
    slowest_send_ms: int = 0
    consumed: int = 0
    pull_errors: int = 0
    lost: int = 0
    probes: int = 0
    probes_failed: int = 0
    probes_failed_in_a_row: int = 0
    slowest_probe_ms: int = 0
    slowest_answer_ms: int = 0
    """The slowest of the trivial requests, which are sent one after the other: the longest time for
    which the event loop served nothing else."""
    slowest_route_ms: int = 0
    answer_errors: int = 0
    errors: list[str] = field(default_factory=list)
    """The first few of them."""

    def error(self, text: str) -> None:
        """Keep the text of one of the first errors."""
        if len(self.errors) < SHOWN_MAX:
            self.errors.append(text)


class Link:
    """One connection that has one request in flight, and is opened again when it breaks."""

    def __init__(self, work: Work, address: tuple[str, int]) -> None:
        self._address = address
        self._context = _context() if work.uses_tls else None
        self._credentials = (
            Credentials(work.access_key, work.secret_key) if work.access_key else None
        )
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._reader = FrameReader()
        self._opaque = 0

    async def ask(
        self, code: int, ext: dict[str, str], body: bytes = b"", seconds: float = ANSWER_SECONDS
    ) -> Command:
        """Send a request; returns the response. Raises OSError, after which the next request
        reconnects."""
        try:
            return await asyncio.wait_for(self._ask(code, ext, body), seconds)
        except OSError:
            self._drop()
            raise

    async def _ask(self, code: int, ext: dict[str, str], body: bytes) -> Command:
        if self._streams is None:
            host, port = self._address
            self._streams = await asyncio.open_connection(host, port, ssl=self._context)
        reader, writer = self._streams
        command = Command(code, ext=ext, body=body, version=OWN_VERSION)
        if self._credentials is not None:
            command = signed(command, self._credentials)
        self._opaque += 1
        command.opaque = self._opaque
        writer.write(frames.encode(command))
        while True:
            data = await reader.read(1 << 18)
            if not data:
                raise ConnectionError("closed by the server")
            for answer in self._reader.decode(data):
                if answer.is_response and answer.opaque == self._opaque:
                    return answer

    def _drop(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
        self._streams = None
        self._reader = FrameReader()


class Clients:
    """All clients; the process has one instance."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._seen = Seen()
        self._began = time.monotonic()
        self._next = 0
        self._acknowledged: set[int] = set()
        self._consumed: set[int] = set()
        self._offset = 0
        self._failed_in_a_row: dict[tuple[str, int], int] = {}
        self._probes: set[asyncio.Task[None]] = set()

    async def run(self, commands: asyncio.StreamReader) -> None:
        """Run the clients until standard input ends."""
        loops: list[Callable[[], Coroutine[None, None, None]]] = [
            self._produce, self._consume, self._ask_trivially, self._ask_routes, self._probe_all,
        ]  # fmt: skip
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each()) for each in loops]
            while line := await commands.readline():
                if line.strip() == b"begin":
                    self._seen = Seen()
                    self._began = time.monotonic()
                else:
                    await self._say()
            for task in tasks:
                task.cancel()

    async def _say(self) -> None:
        """Print the counts once all acknowledged messages are consumed."""
        expected = set(self._acknowledged)
        deadline = time.monotonic() + SEND_SECONDS
        while not expected <= self._consumed and time.monotonic() < deadline:  # noqa: ASYNC110 - two sets, no event
            await asyncio.sleep(PAUSE_SECONDS)
        seen = self._seen
        seen.lost = len(expected - self._consumed)
        self._acknowledged -= expected
        self._consumed -= expected
        seen.seconds = round(time.monotonic() - self._began, 2)
        sys.stdout.write(json.dumps(asdict(seen)) + "\n")
        sys.stdout.flush()

    async def _produce(self) -> None:
        link = Link(self._work, self._work.broker)
        while True:
            self._next += 1
            body = b"legitimate message %d;" % self._next
            began = time.monotonic()
            try:
                answer = await link.ask(
                    RequestCode.SEND_MESSAGE_V2, requests.send(TOPIC), body, SEND_SECONDS
                )
                self._sent(self._next, answer)
            except OSError as error:
                self._seen.send_errors += 1
                self._seen.error(f"send: {type(error).__name__} {error}")
            took = _ms_since(began)
            self._seen.slowest_send_ms = max(self._seen.slowest_send_ms, took)
            await asyncio.sleep(PAUSE_SECONDS)

    def _sent(self, number: int, answer: Command) -> None:
        if answer.code == ResponseCode.SUCCESS:
            self._seen.sent += 1
            self._acknowledged.add(number)
        elif answer.code in BUSY:
            self._seen.busy += 1
        else:
            self._seen.send_errors += 1
            self._seen.error(f"send: code {answer.code} {(answer.remark or '')[:200]}")

    async def _consume(self) -> None:
        link = Link(self._work, self._work.broker)
        while True:
            ext = requests.pull(TOPIC, GROUP, self._offset, suspend_ms=PULL_MS)
            try:
                answer = await link.ask(RequestCode.PULL_MESSAGE, ext)
                self._pulled(answer)
                if answer.code == ResponseCode.SUCCESS:
                    continue
            except OSError as error:
                self._seen.pull_errors += 1
                self._seen.error(f"pull: {type(error).__name__} {error}")
            await asyncio.sleep(PAUSE_SECONDS)

    def _pulled(self, answer: Command) -> None:
        if answer.code == ResponseCode.SUCCESS:
            numbers = {int(each) for each in _MARK.findall(answer.body)}
            self._seen.consumed += len(numbers)
            self._consumed |= numbers
            self._offset = int((answer.ext or {})["nextBeginOffset"])
        elif answer.code not in {
            ResponseCode.PULL_NOT_FOUND,
            ResponseCode.PULL_RETRY_IMMEDIATELY,
            *BUSY,
        }:
            self._seen.pull_errors += 1
            self._seen.error(f"pull: code {answer.code} {(answer.remark or '')[:200]}")

    async def _ask_trivially(self) -> None:
        link = Link(self._work, self._work.broker)
        ext = {"topic": TOPIC, "queueId": "0"}

        async def ask() -> None:
            took = await self._timed(link.ask(RequestCode.GET_MAX_OFFSET, ext))
            self._seen.slowest_answer_ms = max(self._seen.slowest_answer_ms, took)

        await _for_ever(ask)

    async def _ask_routes(self) -> None:
        link = Link(self._work, self._work.names)

        async def ask() -> None:
            took = await self._timed(link.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": TOPIC}))
            self._seen.slowest_route_ms = max(self._seen.slowest_route_ms, took)

        await _for_ever(ask)

    async def _timed(self, question: Awaitable[Command]) -> int:
        began = time.monotonic()
        try:
            answer = await question
            if answer.code != ResponseCode.SUCCESS:
                self._seen.answer_errors += 1
                self._seen.error(f"answer: code {answer.code} {(answer.remark or '')[:200]}")
        except OSError as error:
            self._seen.answer_errors += 1
            self._seen.error(f"answer: {type(error).__name__} {error}")
        return _ms_since(began)

    async def _probe_all(self) -> None:
        while True:
            for address in self._work.probes:
                task = asyncio.create_task(self._probe(address))
                self._probes.add(task)
                task.add_done_callback(self._probes.discard)
            await asyncio.sleep(PROBE_EACH_SECONDS)

    async def _probe(self, address: tuple[str, int]) -> None:
        began = time.monotonic()
        seen = self._seen
        seen.probes += 1
        try:
            await asyncio.wait_for(_is_alive(address), PROBE_SECONDS)
        except OSError as error:
            seen.probes_failed += 1
            seen.error(f"probe: {type(error).__name__} {error}")
            in_a_row = self._failed_in_a_row.get(address, 0) + 1
            seen.probes_failed_in_a_row = max(seen.probes_failed_in_a_row, in_a_row)
        else:
            in_a_row = 0
        self._failed_in_a_row[address] = in_a_row
        seen.slowest_probe_ms = max(seen.slowest_probe_ms, _ms_since(began))


async def _for_ever(ask: Callable[[], Awaitable[None]]) -> None:
    while True:
        await ask()
        await asyncio.sleep(PAUSE_SECONDS)


async def _is_alive(address: tuple[str, int]) -> None:
    reader, writer = await asyncio.open_connection(*address)
    try:
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: probe\r\nConnection: close\r\n\r\n")
        line = await reader.readline()
        if b" 200 " not in line:
            raise ConnectionError(f"answered by {line!r}")
    finally:
        writer.transport.abort()


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _ms_since(began: float) -> int:
    return int((time.monotonic() - began) * 1_000)


async def main(text: str) -> None:
    """Run the clients that the text describes."""
    fields = json.loads(text)
    fields["probes"] = tuple(map(tuple, fields["probes"]))
    fields["broker"], fields["names"] = tuple(fields["broker"]), tuple(fields["names"])
    commands = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
    await Clients(Work(**fields)).run(commands)


if __name__ == "__main__":
    with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
        asyncio.run(main(sys.argv[1]))
