"""Who gives a dead broker's lease away, and when."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from gantrymq.broker.guard import give_away
from gantrymq.broker.lease_client import LeaseClient
from gantrymq.fakes.lease_api import LeaseApi
from gantrymq.ha.lease import NOBODY, Found, Lease
from gantrymq.ha.lease_object import OBJECT_BYTES_MAX, ObjectName
from gantrymq.runtime.kube_api import ApiPlace, KubeApi

PLACE = ObjectName("mq", "main-broker-0")
LEASE = Lease("", 1, "10.0.0.1:10911", "10.0.0.1:10912", 7, frozenset({1, 2}))


@pytest.fixture
async def client() -> AsyncIterator[LeaseClient]:
    api = LeaseApi(ports=1)
    (url,) = await api.start()
    http = KubeApi(ApiPlace(url), OBJECT_BYTES_MAX)
    yield LeaseClient(http, PLACE, lambda: 1_700_000_000_000)
    await http.close()
    await api.stop()


async def held(client: LeaseClient) -> Lease:
    answer = await client.read()
    assert isinstance(answer, Found)
    return answer.lease


async def test_the_lease_of_the_dead_is_nobodys_and_its_set_stays(client: LeaseClient) -> None:
    await client.write(LEASE)
    assert await give_away(client, 1)
    lease = await held(client)
    assert (lease.holder, lease.epoch, lease.in_sync) == (NOBODY, 7, frozenset({1, 2}))


async def test_the_lease_of_another_member_is_left_alone(client: LeaseClient) -> None:
    await client.write(LEASE)
    assert await give_away(client, 2)
    assert (await held(client)).holder == 1


async def test_where_there_is_no_lease_there_is_nothing_to_give(client: LeaseClient) -> None:
    assert await give_away(client, 1)
