"""Tests that one cluster whose requests hang does not delay fifty others."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable

import pytest

from gantrymq.fakes_kube.life import Life
from gantrymq.fakes_kube.operating import add_cluster, is_quiet, operating, status
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until

NAMESPACES = [f"n{number}" for number in range(50)]
STUCK = NAMESPACES[7]
OTHERS = [namespace for namespace in NAMESPACES if namespace != STUCK]


def add_all(server: KubeServer, namespaces: Iterable[str]) -> None:
    for namespace in namespaces:
        add_cluster(server, namespace, nameServers=1)


async def test_hanging_requests_delay_only_their_own_cluster(
    server: KubeServer, life: Life
) -> None:
    add_all(server, NAMESPACES)
    server.faults.black_holes.add(STUCK)

    # Requests hang for as long as the test runs: nothing gets better by waiting.
    async with operating(server, request_seconds=3600):
        await until(lambda: all(is_quiet(server, each) for each in OTHERS), 100)

        assert status(server, STUCK) == {}
        # One request for the cluster, one for its topics: no more than that is ever held up.
        assert 1 <= server.calls.swallowed <= 2
    del life


async def test_a_cluster_continues_after_its_requests_hung(server: KubeServer, life: Life) -> None:
    add_all(server, NAMESPACES[:9])
    server.faults.black_holes.add(STUCK)
    async with operating(server, request_seconds=0.5):
        await until(lambda: all(is_quiet(server, each) for each in NAMESPACES[:7]), 100)

        server.faults.black_holes.clear()

        await until(lambda: is_quiet(server, STUCK))
    del life


@pytest.fixture
async def mute_broker() -> AsyncIterator[str]:
    """The address of a broker that takes connections and never says a word."""

    async def swallow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listening = await asyncio.start_server(swallow, "127.0.0.1", 0)
    host, port = listening.sockets[0].getsockname()
    yield f"{host}:{port}"
    listening.close()


async def test_a_broker_that_hangs_delays_no_other_cluster(
    server: KubeServer, life: Life, mute_broker: str
) -> None:
    life.broker_addresses[STUCK] = mute_broker
    add_all(server, NAMESPACES)

    async with operating(server):
        await until(lambda: all(is_quiet(server, each) for each in OTHERS), 100)
        await until(lambda: is_quiet(server, STUCK))
