"""Provides a Kubernetes API server, its client, and the objects that were reported to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gantrymq.fakes_kube.executing import ReportedObjects
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.api_config import ApiConfig
from gantrymq.operator.kube.client import KubeClient


@pytest.fixture
async def server() -> AsyncIterator[KubeServer]:
    server = await KubeServer.start()
    yield server
    await server.stop()


@pytest.fixture
async def client(server: KubeServer) -> AsyncIterator[KubeClient]:
    client = KubeClient(ApiConfig(server.url))
    yield client
    await client.close()


@pytest.fixture
def reported(client: KubeClient) -> ReportedObjects:
    return ReportedObjects(client)
