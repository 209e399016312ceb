"""Tests that a status is written only if it differs."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.errors import ConflictError
from gantrymq.operator.kube.status_writer import StatusWriter

Json = dict[str, Any]
STATUS: Json = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}


@pytest.fixture
def writer(client: KubeClient) -> StatusWriter:
    return StatusWriter(client)


def resource(server: KubeServer) -> Json:
    found = server.get("BrokerCluster", "one", "orders")
    if found is None:
        body = {"metadata": {"namespace": "one", "name": "orders"}, "spec": {"groups": 1}}
        return server.put("BrokerCluster", body)
    return found


async def test_a_status_is_written_once(server: KubeServer, writer: StatusWriter) -> None:
    assert await writer.write(resource(server), STATUS)
    assert resource(server)["status"] == STATUS
    assert resource(server)["spec"] == {"groups": 1}

    assert not await writer.write(resource(server), STATUS)
    assert server.calls.writes == ["PATCH brokerclusters/status/one/orders"]


async def test_fields_that_leave_the_status_are_removed(
    server: KubeServer, writer: StatusWriter
) -> None:
    await writer.write(resource(server), STATUS | {"maxLag": "0"})

    await writer.write(resource(server), STATUS)

    assert resource(server)["status"] == STATUS


async def test_conditions_of_other_writers_stay_and_cause_no_writes(
    server: KubeServer, writer: StatusWriter
) -> None:
    await writer.write(resource(server), STATUS)
    foreign = {"type": "Audited", "status": "True"}
    both = STATUS | {"conditions": [*STATUS["conditions"], foreign]}
    server.set_status("BrokerCluster", "one", "orders", both)

    await writer.write(resource(server), STATUS)
    server.calls.clear()
    await writer.write(resource(server), STATUS)

    assert foreign in resource(server)["status"]["conditions"]
    assert server.calls.requests == {}


async def test_a_status_that_was_changed_by_hand_is_written_again(
    server: KubeServer, writer: StatusWriter
) -> None:
    await writer.write(resource(server), STATUS)
    server.set_status("BrokerCluster", "one", "orders", STATUS | {"phase": "Broken"})

    assert await writer.write(resource(server), STATUS)
    assert resource(server)["status"] == STATUS


async def test_a_recreated_resource_does_not_get_the_old_status(
    server: KubeServer, writer: StatusWriter
) -> None:
    old = resource(server)
    server.delete("BrokerCluster", "one", "orders")
    resource(server)

    with pytest.raises(ConflictError):
        await writer.write(old, STATUS)

    assert "status" not in resource(server)


async def test_a_deleted_resource_is_no_error(server: KubeServer, writer: StatusWriter) -> None:
    old = resource(server)
    server.delete("BrokerCluster", "one", "orders")

    await writer.write(old, STATUS)

    assert server.calls.writes == []


def lagging(lag: str, phase: str = "Running") -> Json:
    members = [{"pod": "orders-broker-0-1", "lag": lag}]
    return {"phase": phase, "maxLag": lag, "groups": [{"name": "broker-0", "members": members}]}


async def test_a_change_of_lag_alone_waits(server: KubeServer, writer: StatusWriter) -> None:
    assert await writer.write(resource(server), lagging("0"))

    assert not await writer.write(resource(server), lagging("<1Mi"))
    assert resource(server)["status"] == lagging("0")

    assert await writer.write(resource(server), lagging("2Mi", "Degraded"))
    assert resource(server)["status"] == lagging("2Mi", "Degraded")


async def test_a_change_of_lag_is_written_in_time(server: KubeServer, client: KubeClient) -> None:
    writer = StatusWriter(client, lag_seconds=0.0)
    assert await writer.write(resource(server), lagging("0"))

    assert await writer.write(resource(server), lagging("2Mi"))
