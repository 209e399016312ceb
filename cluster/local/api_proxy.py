"""Forwards TCP connections to the API server, and delays or refuses them on request.

All clients of the API server connect through this proxy: users, controllers, kubelets and pods.
Bytes keep their order; each chunk is forwarded a configurable time after it arrived, per direction.
A control socket takes one line of JSON per connection, such as {"request_ms": 500, "accepting":
true}, and answers with the resulting state; `{}` only reads it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import struct
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

CHUNK_BYTES = 16 << 10
CHUNKS_MAX = 1024  # per connection and direction: at most 16 MiB wait, then the sender has to wait
LATENCY_MS_MAX = 600_000


@dataclass(frozen=True)
class Settings:
    """The treatment of the traffic; each command replaces it as a whole."""

    request_ms: int = 0  # delay from client to API server
    response_ms: int = 0  # delay from API server to client
    accepting: bool = True  # if false, connections are refused, as by a dead server


def updated(settings: Settings, command: str) -> Settings:
    """The settings after a command; ValueError says what is wrong with the command."""
    changes = json.loads(command)
    unknown = set(changes) - {field.name for field in fields(Settings)}
    if unknown:
        raise ValueError(f"there is no setting {', '.join(sorted(unknown))}")
    for name in ("request_ms", "response_ms"):
        value = changes.get(name, 0)
        if type(value) is not int or not 0 <= value <= LATENCY_MS_MAX:
            raise ValueError(f"{name} must be an integer from 0 to {LATENCY_MS_MAX}, not {value!r}")
    if type(changes.get("accepting", True)) is not bool:
        raise ValueError("accepting must be true or false")
    return replace(settings, **changes)


class ApiProxy:
    """Listens at one address and forwards to another; owns all connections through it."""

    def __init__(self, listen: tuple[str, int], upstream: tuple[str, int]) -> None:
        self._listen = listen
        self._upstream = upstream
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self.settings = Settings()

    async def apply(self, settings: Settings) -> None:
        """Replace the settings; they apply to new and to open connections."""
        self.settings = settings
        if settings.accepting and self._server is None:
            self._server = await asyncio.start_server(self._accept, *self._listen)
        elif not settings.accepting and self._server is not None:
            self._server.close()
            self._server = None
            for connection in self._connections:
                connection.cancel()
            await asyncio.gather(*self._connections, return_exceptions=True)

    async def control(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one connection to the control socket."""
        line = (await reader.readline()).decode()
        try:
            await self.apply(updated(self.settings, line))
            answer = json.dumps(asdict(self.settings))
        except (ValueError, TypeError, OSError) as error:
            answer = json.dumps({"error": str(error)})
        writer.write(answer.encode() + b"\n")
        writer.close()
        await writer.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            await self._forward(reader, writer)
        except (OSError, asyncio.CancelledError):
            abort(writer)
        finally:
            self._connections.discard(task)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server_reader, server_writer = await asyncio.open_connection(*self._upstream)
        try:
            async with asyncio.TaskGroup() as pumps:
                pumps.create_task(self._pump(reader, server_writer, is_request=True))
                pumps.create_task(self._pump(server_reader, writer, is_request=False))
        except* OSError:
            abort(writer)
        finally:
            server_writer.close()
            writer.close()

    async def _pump(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, is_request: bool
    ) -> None:
        """Forward the bytes of one direction, each delayed by the latency at the time of its
        arrival."""
        loop = asyncio.get_running_loop()
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(CHUNKS_MAX)

        async def receive() -> None:
            chunk = b"?"
            while chunk:  # the empty chunk at the end of the stream is forwarded as well
                chunk = await reader.read(CHUNK_BYTES)
                settings = self.settings
                delay_ms = settings.request_ms if is_request else settings.response_ms
                await chunks.put((loop.time() + delay_ms / 1000, chunk))

        async def send() -> None:
            while True:
                due, chunk = await chunks.get()
                await asyncio.sleep(max(0.0, due - loop.time()))
                if not chunk:
                    writer.write_eof()
                    return
                writer.write(chunk)
                await writer.drain()

        async with asyncio.TaskGroup() as both:
            both.create_task(receive())
            both.create_task(send())


def abort(writer: asyncio.StreamWriter) -> None:
    """Close a connection with a reset, as the kernel of a dead server does."""
    connection = writer.get_extra_info("socket")
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def serve(listen: tuple[str, int], upstream: tuple[str, int], control: Path) -> None:
    proxy = ApiProxy(listen, upstream)
    await proxy.apply(Settings())
    server = await asyncio.start_unix_server(proxy.control, control)
    await server.serve_forever()


def send_command(control: Path, command: dict[str, object], timeout_s: float = 10.0) -> str:
    """Send one command to a running proxy; returns its answer."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(timeout_s)
        connection.connect(str(control))
        connection.sendall(json.dumps(command).encode() + b"\n")
        with connection.makefile() as answer:
            return answer.readline()


def address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", type=address, required=True)
    parser.add_argument("--upstream", type=address, required=True)
    parser.add_argument("--control", type=Path, required=True)
    options = parser.parse_args()
    asyncio.run(serve(options.listen, options.upstream, options.control))


if __name__ == "__main__":
    main()
