"""Provides a running server of probes and metrics."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gantrymq.runtime.http.health import HealthServer, Readiness
from gantrymq.runtime.http.metrics import Metrics


@pytest.fixture
async def served() -> AsyncIterator[tuple[HealthServer, str, int]]:
    server = HealthServer(Metrics(), Readiness())
    host, port = await server.start("127.0.0.1", 0)
    yield server, host, port
    await server.stop()
