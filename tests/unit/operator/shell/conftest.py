"""Provides a Kubernetes API server, and a cluster that runs what the operator asks for."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gantrymq.fakes_kube.life import Life
from gantrymq.fakes_kube.server import KubeServer


@pytest.fixture
async def server() -> AsyncIterator[KubeServer]:
    server = await KubeServer.start()
    yield server
    await server.stop()


@pytest.fixture
def life(server: KubeServer) -> Life:
    """A cluster that runs what the operator asks for."""
    life = Life(server)
    life.begin()
    return life
