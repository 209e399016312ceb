"""Tests that an operator that is killed after any write ends at the same state."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from gantrymq.acl.plain import plain_acl
from gantrymq.fakes_kube.life import Life
from gantrymq.fakes_kube.objects import Objects
from gantrymq.fakes_kube.operating import (
    add_cluster,
    is_quiet,
    names_of_owned,
    operating,
    specs_of_owned,
)
from gantrymq.fakes_kube.server import KubeServer
from gantrymq.fakes_kube.waiting import until

# More than making this cluster takes; the test says how many there were.
WRITES_MAX = 60
SECRETS = 4
"""Writes from the first Secret of a secure cluster on, after which its objects are all there."""


async def made(objects: Objects, *, kill_after: int | None, **spec: Any) -> tuple[KubeServer, bool]:
    """Run the operator until the cluster is made, or it is killed; whether it was killed."""
    server = await KubeServer.start(objects)
    life = Life(server)
    life.begin()
    if server.get("BrokerCluster", "one", "orders") is None:
        add_cluster(server, nameServers=1, storage={"onClusterDeletion": "Delete"}, **spec)
    server.faults.kill_after_writes = kill_after
    async with operating(server):
        await until(lambda: server.faults.killed.is_set() or is_quiet(server))
    is_killed = server.faults.killed.is_set()
    await server.stop()
    return server, is_killed


async def test_the_operator_may_be_killed_after_each_write() -> None:
    reference, _ = await made(Objects(), kill_after=None)
    wanted, names = specs_of_owned(reference), names_of_owned(reference)
    for count in range(1, WRITES_MAX):
        objects = Objects()
        first, is_killed = await made(objects, kill_after=count)
        if not is_killed:
            break
        secret = first.get("Secret", "one", "orders-replication")
        second, _ = await made(objects, kill_after=None)

        assert names_of_owned(second) == names, f"killed after {first.calls.writes}"
        assert specs_of_owned(second) == wanted, f"killed after {first.calls.writes}"
        if secret is not None:
            assert second.get("Secret", "one", "orders-replication") == secret
    else:
        pytest.fail(f"the cluster takes more than {WRITES_MAX} writes")
    assert count > 10


async def test_accounts_fit_together_after_a_kill_at_any_write() -> None:
    secure = {"security": {"profile": "secure"}}
    tried = 0
    for count in range(1, WRITES_MAX):
        objects = Objects()
        first, is_killed = await made(objects, kill_after=count, **secure)
        if not is_killed or tried == SECRETS:
            break
        tried += bool(first.get("Secret", "one", "orders-accounts"))
        second, _ = await made(objects, kill_after=None, **secure)

        accounts, client = (content(second, f"orders-{each}") for each in ("accounts", "client"))
        rules = plain_acl.read(accounts["plain_acl.yml"])
        assert rules.accounts["application"].secret_key == client["secretKey"].decode()
        authority = second.get("ConfigMap", "one", "orders-ca")
        assert authority is not None
        assert authority["data"]["ca.crt"].encode() == content(second, "orders-tls")["ca.crt"]
    assert tried == SECRETS


def content(server: KubeServer, secret: str) -> dict[str, bytes]:
    found = server.get("Secret", "one", secret)
    assert found is not None
    return {key: base64.b64decode(text) for key, text in found["data"].items()}


async def test_a_deletion_continues_after_a_kill_at_any_write() -> None:
    for count in range(1, WRITES_MAX):
        objects = Objects()
        await made(objects, kill_after=None)
        is_killed = await deleted(objects, kill_after=count)
        if not is_killed:
            break
        assert not await deleted(objects, kill_after=None)
    assert count > 1


async def deleted(objects: Objects, *, kill_after: int | None) -> bool:
    """Delete the cluster and its volumes; whether the operator was killed meanwhile."""
    server = await KubeServer.start(objects)
    Life(server).begin()
    if server.get("BrokerCluster", "one", "orders") is not None:
        server.delete("BrokerCluster", "one", "orders")
    server.faults.kill_after_writes = kill_after
    async with operating(server) as operator:
        operator.resource_changed("one", "orders")
        await until(
            lambda: (
                server.faults.killed.is_set()
                or server.get("BrokerCluster", "one", "orders") is None
            )
        )
    is_killed = server.faults.killed.is_set()
    if not is_killed:
        assert names_of_owned(server)["PersistentVolumeClaim"] == []
        assert names_of_owned(server)["Pod"] == []
    await server.stop()
    return is_killed
