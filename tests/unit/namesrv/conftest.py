"""Provides fixtures that start name servers on loopback sockets and connect to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from gantrymq.fakes.brokers.namesrv_host import Dial, StartHost
from gantrymq.namesrv.configuration import Setup
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.namesrv.server import NameServerHost
from gantrymq.runtime.clock import SYSTEM_CLOCK, Clock
from gantrymq.runtime.net.dialer import Connection, Dialer


@pytest.fixture
async def start_host(tmp_path: Path) -> AsyncIterator[StartHost]:
    """Starts name servers on free ports, files below the test's folder."""
    async with AsyncExitStack() as stack:

        async def start(
            *,
            listeners: str = "internal:127.0.0.1:0",
            metrics_port: int = 0,
            idle_seconds: int = 120,
            clock: Clock = SYSTEM_CLOCK,
        ) -> NameServerHost:
            settings = NameServerSettings(
                bind_address="127.0.0.1",
                listeners=listeners,
                metrics_port=metrics_port,
                server_channel_max_idle_time_seconds=idle_seconds,
                kv_config_path=str(tmp_path / "kvConfig.json"),
                config_store_path=str(tmp_path / "namesrv.properties"),
            )
            host = NameServerHost(Setup(settings), clock)
            stack.push_async_callback(host.stop)
            await host.start()
            return host

        yield start


@pytest.fixture
async def dial() -> AsyncIterator[Dial]:
    """A connection of its own to a listener of a host."""
    async with AsyncExitStack() as stack:

        def connect(host: NameServerHost, listener: str = "internal") -> Connection:
            dialer = Dialer()
            stack.push_async_callback(dialer.close)
            address, port = host.addresses[listener]
            return dialer.connection(f"{address}:{port}")

        yield connect
