"""Skins are tested on both event loops, over real loopback sockets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack

import pytest
import uvloop

from gantrymq.base.memory_account import MemoryAccount
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.net.net import Handler, Listener, Server, ServerLimits
from gantrymq.runtime.security.certificates import ServerContexts

StartServer = Callable[..., Awaitable[Server]]


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture
async def start_server() -> AsyncIterator[StartServer]:
    """Starts servers on free ports of the loopback, one for each listener name; stops them."""
    async with AsyncExitStack() as stack:

        async def start(
            handler: Handler,
            *names: str,
            limits: ServerLimits | None = None,
            tls: ServerContexts | None = None,
            clock: Clock = SYSTEM_CLOCK,
            memory: MemoryAccount | None = None,
        ) -> Server:
            server = Server(handler, limits=limits, tls=tls, clock=clock, memory=memory)
            await server.start([Listener(name, "127.0.0.1", 0) for name in names or ("internal",)])
            stack.push_async_callback(server.stop, 0.0)
            return server

        yield start
