"""Sets up a whole broker without its process."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.server import BrokerHost


def setup(folder: Path, **flags: str) -> Setup:
    """A broker's setup on free ports of loopback."""
    keys = {
        "listenPort": "0",
        "metricsPort": "0",
        "bindAddress": "127.0.0.1",
        "brokerIP1": "127.0.0.1",
        "brokerName": "broker-a",
        "mappedFileSizeCommitLog": str(1 << 20),
        **flags,
    }
    return load(None, {}, keys, folder)


@asynccontextmanager
async def running(chosen: Setup) -> AsyncIterator[BrokerHost]:
    host = BrokerHost(chosen)
    await host.start()
    try:
        yield host
    finally:
        await host.stop()
