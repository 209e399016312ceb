"""Runs the members of a group on real sockets, each with a lease API that can be made to fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

from aiohttp import ClientSession

from gantrymq.broker.server import BrokerHost
from gantrymq.broker.setup.group_setup import Pod
from gantrymq.fakes.groups.lease_api import LeaseApi
from gantrymq.fakes.hosts import running, setup
from gantrymq.interop import ports
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import SendMessageRequest
from gantrymq.wire.headers.topic import CreateTopicRequest

LEASE = ("leases", "mq", "defaultcluster-broker-a")
SLICE = ("endpointslices", "mq", "broker-a-master")
WAIT_SECONDS = 30.0


class HostGroup:
    """So many members in one event loop, and the API that they ask."""

    def __init__(self, folder: Path, *numbers: int) -> None:
        self.api = LeaseApi(len(numbers))
        self.ends: dict[int, AsyncExitStack] = {}
        self.hosts: dict[int, BrokerHost] = {}
        self._folder = folder
        self._ha_ports = {number: ports.free_port() for number in numbers}
        self._health_ports = {number: ports.free_port() for number in numbers}
        self._secret = folder / "secret"
        self._secret.write_text("sixteen bytes and more")
        self._urls: list[str] = []

    async def begin(self) -> None:
        self._urls = await self.api.start()

    def running(self, number: int, **flags: str) -> AbstractAsyncContextManager[BrokerHost]:
        addresses = ",".join(f"{n}=127.0.0.1:{port}" for n, port in self._ha_ports.items())
        settings = {
            "brokerRole": "SYNC_MASTER",
            "groupMembers": addresses,
            "groupSecretFile": str(self._secret),
            "haListenPort": str(self._ha_ports[number]),
            "leaseName": LEASE[2],
            "leaseNamespace": "mq",
            "leaseUrl": self._urls[number - 1],
            "listenPort": str(ports.free_port(also=(-2,))),
            "memberNumber": str(number),
            "metricsPort": str(self._health_ports[number]),
            "publishService": "broker-a",
            **flags,
        }
        chosen = setup(self._folder / str(number), **settings)
        assert chosen.group is not None
        pod = Pod(f"node-{number}", f"broker-a-{number}")
        return running(replace(chosen, group=replace(chosen.group, pod=pod)))

    async def readiness(self, number: int) -> tuple[int, str]:
        """Status and text of the readiness probe, as a kubelet gets them."""
        url = f"http://127.0.0.1:{self._health_ports[number]}/health/ready"
        async with ClientSession() as session, session.get(url) as answer:
            return answer.status, await answer.text()

    async def metrics(self, number: int) -> str:
        url = f"http://127.0.0.1:{self._health_ports[number]}/metrics"
        async with ClientSession() as session, session.get(url) as answer:
            return await answer.text()

    @property
    def holder(self) -> int:
        lease = self.api.objects.objects.get(LEASE, {})
        return int(lease.get("spec", {}).get("holderIdentity") or "0")

    @property
    def in_sync(self) -> str:
        notes = self.api.objects.objects.get(LEASE, {}).get("metadata", {}).get("annotations", {})
        return str(notes.get("gantrymq.dev/in-sync", ""))

    def ha_address(self, number: int) -> tuple[str, int]:
        return "127.0.0.1", self._ha_ports[number]


async def until_told(group: HostGroup, number: int, status: int, text: str) -> None:
    """The group finds out by and by."""
    found, told = await group.readiness(number)
    async with asyncio.timeout(WAIT_SECONDS):
        while found != status or text not in told:
            await asyncio.sleep(0.01)
            found, told = await group.readiness(number)


async def until(condition: Callable[[], bool]) -> None:
    """No notice comes: the lease is another program's."""
    async with asyncio.timeout(WAIT_SECONDS):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@asynccontextmanager
async def group_of(folder: Path, *numbers: int) -> AsyncIterator[HostGroup]:
    group = HostGroup(folder, *numbers)
    await group.begin()
    async with AsyncExitStack() as all_of_them:
        for number in numbers:
            end = await all_of_them.enter_async_context(AsyncExitStack())
            group.ends[number] = end
            group.hosts[number] = await end.enter_async_context(group.running(number))
        await until(lambda: group.in_sync == ",".join(map(str, numbers)))
        yield group
    await group.api.stop()


async def asked(host: BrokerHost, command: Command) -> Command:
    dialer = Dialer()
    address, port = host.addresses["internal"]
    try:
        return await dialer.connection(f"{address}:{port}").request(command, 10.0)
    finally:
        await dialer.close()


def new_topic() -> Command:
    header = CreateTopicRequest(
        topic="T",
        default_topic="TBW102",
        read_queue_nums=4,
        write_queue_nums=4,
        perm=6,
        topic_filter_type="SINGLE_TAG",
        order=False,
    )
    return Command(RequestCode.UPDATE_AND_CREATE_TOPIC, ext=header.encode())


def new_message() -> Command:
    header = SendMessageRequest(
        producer_group="P",
        topic="T",
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=0,
        born_timestamp=0,
        flag=0,
    )
    return Command(RequestCode.SEND_MESSAGE, ext=header.encode(), body=b"relayed")
