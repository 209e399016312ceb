"""Tests how a process acquires, renews, loses and releases the leader Lease."""

from __future__ import annotations

import asyncio

import pytest

from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.leading import leader_election
from gantrymq.operator.kube.leading.leader import LeaderElector


def elector(client: KubeClient, identity: str) -> LeaderElector:
    return LeaderElector(client, "system", "gantry-operator", identity, retry_seconds=0.05)


def holder(server: KubeServer) -> str:
    lease = server.get("Lease", "system", "gantry-operator")
    assert lease is not None
    return str(lease["spec"]["holderIdentity"])


async def test_the_first_candidate_leads_and_the_second_stands_by(
    server: KubeServer, client: KubeClient
) -> None:
    first, second = elector(client, "first"), elector(client, "second")
    await asyncio.wait_for(first.acquire(), 10)

    waiting = asyncio.create_task(second.acquire())
    await until(lambda: second.holder == "first")

    assert holder(server) == "first"
    assert not second.is_leader
    await first.release()
    await asyncio.wait_for(waiting, 10)
    assert holder(server) == "second"


async def test_a_released_lease_names_no_holder(server: KubeServer, client: KubeClient) -> None:
    leader = elector(client, "first")
    await leader.acquire()

    await leader.release()
    await leader.release()

    assert holder(server) == ""
    assert not leader.is_leader


async def test_a_leader_notices_that_another_one_took_the_lease(
    server: KubeServer, client: KubeClient
) -> None:
    leader = elector(client, "first")
    await leader.acquire()
    lease = server.get("Lease", "system", "gantry-operator")
    assert lease is not None
    server.put(
        "Lease",
        {"metadata": lease["metadata"] | {"labels": {"x": "1"}}, "spec": {"holderIdentity": "b"}},
    )

    assert await asyncio.wait_for(leader.hold(), 20) == "b leads"


async def test_a_deleted_lease_is_created_again(server: KubeServer, client: KubeClient) -> None:
    leader = elector(client, "first")
    await leader.acquire()
    server.delete("Lease", "system", "gantry-operator")

    holding = asyncio.create_task(leader.hold())
    await until(lambda: server.get("Lease", "system", "gantry-operator"))

    assert holder(server) == "first"
    holding.cancel()


async def test_an_unreadable_lease_is_reported(server: KubeServer, client: KubeClient) -> None:
    leader = elector(client, "first")
    server.faults.is_refusing = True
    waiting = asyncio.create_task(leader.acquire())
    await until(lambda: "the server is out" in leader.last_error)

    server.faults.is_refusing = False

    await asyncio.wait_for(waiting, 20)
    assert leader.is_leader
    assert leader.last_error == ""


async def test_a_namespace_that_does_not_exist_is_reported(
    server: KubeServer, client: KubeClient
) -> None:
    leader = elector(client, "first")
    server.faults.refusals["POST leases/gantry-operator"] = (404, 'namespaces "system" not found')
    waiting = asyncio.create_task(leader.acquire())

    await until(lambda: 'namespaces "system" not found' in leader.last_error)

    server.faults.refusals.clear()
    await asyncio.wait_for(waiting, 20)
    assert leader.last_error == ""


async def test_a_leader_whose_requests_hang_has_lost_at_the_deadline(
    server: KubeServer, client: KubeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_election, "DEADLINE_SECONDS", 0.5)
    leader = elector(client, "first")
    await leader.acquire()
    server.faults.black_holes.add("system")

    why = await asyncio.wait_for(leader.hold(), 3)  # less than a request takes to be given up

    assert why.startswith("no renewal")
