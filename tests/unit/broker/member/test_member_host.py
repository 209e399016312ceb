"""Members of a group on real sockets, each with a lease API that can be made to fail."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import ClientSession

from gantrymq.app.store_tool import run as store_tool
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.member import member_host, slice_keeper
from gantrymq.broker.server import BrokerHost
from gantrymq.broker.setup.group_setup import Pod
from gantrymq.fakes.groups.lease_api import Fault, LeaseApi
from gantrymq.fakes.hosts import running, setup
from gantrymq.ha.classic.frames import encode_report
from gantrymq.ha.disk import identity
from gantrymq.ha.disk.identity import Identity
from gantrymq.interop import ports
from gantrymq.runtime.http import kube_api
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.wire import javajson
from gantrymq.wire.bodies.ha_status import HaStatus
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import SendMessageRequest
from gantrymq.wire.headers.topic import CreateTopicRequest

LEASE = ("leases", "mq", "defaultcluster-broker-a")
SLICE = ("endpointslices", "mq", "broker-a-master")
WAIT_SECONDS = 30.0


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The API of a busy machine answers late, and does answer."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", WAIT_SECONDS)


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
        """What a kubelet is told."""
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


async def test_one_leads_and_the_other_follows(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        master, other = group.hosts[group.holder], group.hosts[3 - group.holder]
        assert master.state.identity.broker_id == 0
        assert other.state.identity.broker_id == 3 - group.holder
        answer = await asked(master, new_topic())
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        assert other.state.topics.find("T") is not None, "it was answered once both had it"
        refused = await asked(other, new_topic())
        assert refused.code == ResponseCode.SYSTEM_ERROR
        [status] = master.state.replication.followers(asyncio.get_running_loop().time())
        assert status.is_in_sync
        following = other.state.replication.following()
        assert following is not None
        assert following.master == f"127.0.0.1:{group.ha_address(group.holder)[1]}"
        assert following.last_read_ms > 0


class AskedMachine:
    """Counts how often the core asks it."""

    def __init__(self, core: Broker) -> None:
        self.count = 0
        core._periodic = [*core._periodic, self]

    def deadline(self) -> float:
        self.count += 1
        return float("inf")

    def expire(self, now: float) -> None:
        raise AssertionError(f"nothing is due, and less so at {now}")

    def closed(self, channel: Channel) -> None:
        """Not a member of the group."""


async def test_copies_and_reports_ask_no_machine(tmp_path: Path) -> None:
    sends, dialer = 300, Dialer()
    async with group_of(tmp_path, 1, 2) as group:
        master = group.hosts[group.holder]
        assert (await asked(master, new_topic())).code == ResponseCode.SUCCESS
        other = AskedMachine(group.hosts[3 - group.holder].core)
        machine = AskedMachine(master.core)
        address, port = master.addresses["internal"]
        connection = dialer.connection(f"{address}:{port}")
        for _ in range(sends):
            answer = await connection.request(new_message(), 10.0)
            assert answer.code == ResponseCode.SUCCESS, answer.remark
        await dialer.close()
        # At times they are asked all the same, and twice for each request by the master.
        assert other.count < sends
        assert machine.count < 3 * sends


async def test_ha_status_shows_master_and_slaves(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        master, other = group.hosts[group.holder], group.hosts[3 - group.holder]
        question = Command(RequestCode.GET_BROKER_HA_STATUS)
        shown = HaStatus.from_json(javajson.loads((await asked(master, question)).body))
        assert shown.is_master
        assert [slave.is_in_sync for slave in shown.slaves] == [True]
        shown = HaStatus.from_json(javajson.loads((await asked(other, question)).body))
        assert not shown.is_master
        assert shown.follower.master == "{}:{}".format(*group.ha_address(group.holder))


async def test_the_service_leads_to_the_master(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        await until(lambda: SLICE in group.api.objects.objects)
        content = group.api.objects.objects[SLICE]
        port = group.hosts[group.holder].addresses["internal"][1]
        assert content["endpoints"][0]["addresses"] == ["127.0.0.1"]
        assert content["ports"][0] == {"name": "broker", "port": port, "protocol": "TCP"}


async def test_a_slice_that_was_deleted_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_keeper, "LOOK_SECONDS", 0.05)
    async with group_of(tmp_path, 1, 2) as group:
        slices = group.api.objects.objects
        for _ in range(2):
            await until(lambda: SLICE in slices)
            [endpoint] = slices[SLICE]["endpoints"]
            assert endpoint["nodeName"] == f"node-{group.holder}"
            assert endpoint["targetRef"]["name"] == f"broker-a-{group.holder}"
            group.api.objects.delete(SLICE)
        await until(lambda: SLICE in slices)


async def test_a_service_with_the_wrong_ports_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_keeper, "LOOK_SECONDS", 0.01)
    group = HostGroup(tmp_path, 1)
    await group.begin()
    service = {"name": "mq", "port": 10911}
    group.api.objects.post(
        ("services", "mq", ""),
        {"kind": "Service", "metadata": {"name": "broker-a"}, "spec": {"ports": [service]}},
    )
    tries = group.api.ports[0].asked
    async with group.running(1, minInSyncReplicas="1"):
        await until(lambda: tries.count(f"GET {SLICE[2]}") >= 3)
    await group.api.stop()
    assert caplog.text.count("has ports named 'mq', which have no endpoint") == 1


async def test_members_are_ready_while_they_are_in_sync(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        master, follower = group.holder, 3 - group.holder
        for number in (master, follower):
            await until_told(group, number, 200, "ready\n")
        await group.ends[follower].aclose()
        await until_told(group, master, 503, "too few members are in sync: 1")


async def test_a_member_of_a_group_without_a_master_says_what_it_waits_for(tmp_path: Path) -> None:
    group = HostGroup(tmp_path, 1, 2)
    await group.begin()
    async with group.running(1):
        await until_told(group, 1, 503, "all members must report first, missing members 2")
        await until_told(
            group, 1, 503, "the member has not read the group's Lease, or there is none"
        )
    await group.api.stop()


async def test_a_group_of_one_is_ready_and_its_lease_has_the_address_of_the_pod(
    tmp_path: Path,
) -> None:
    group = HostGroup(tmp_path, 1)
    await group.begin()
    port = group.ha_address(1)[1]
    flags = {"groupMembers": f"1=localhost:{port}", "minInSyncReplicas": "1"}
    async with group.running(1, brokerIP2="127.0.0.1", **flags):
        await until_told(group, 1, 200, "ready\n")
        notes = group.api.objects.objects[LEASE]["metadata"]["annotations"]
        assert notes["gantrymq.dev/ha-address"] == f"127.0.0.1:{port}"
    await group.api.stop()


async def test_a_new_master_takes_the_service_over_from_a_slice_of_a_higher_epoch(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An EndpointSlice is left of another group of this name, whose epochs went further."""
    monkeypatch.setattr(slice_keeper, "AGAIN_SECONDS", 0.05)
    later = {"metadata": {"annotations": {"gantrymq.dev/epoch": "99"}}}
    async with group_of(tmp_path, 1, 2) as group:
        old = group.holder
        await until(lambda: SLICE in group.api.objects.objects)
        group.api.objects.patch(SLICE, later)
        with caplog.at_level(logging.INFO):
            await group.ends[old].aclose()
            await until(lambda: "published master address in the Service" in caplog.text)
        node = group.api.objects.objects[SLICE]["endpoints"][0]["nodeName"]
        assert node == f"node-{group.holder}" == f"node-{3 - old}"
    assert caplog.text.count("publishing master address failed") == 1


async def test_a_master_that_dies_is_replaced_by_an_api_that_takes_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", 0.7)
    async with group_of(tmp_path, 1, 2) as group:
        for port in group.api.ports:
            port.fault, port.seconds = Fault.EARLY, 1.0
        old = group.holder
        dead = group.hosts[old]._member
        assert dead is not None
        dead._end()  # without a word, as a machine that is gone
        await until(lambda: group.holder == 3 - old)


async def test_metrics_tell_the_master_from_the_follower(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        await until(lambda: SLICE in group.api.objects.objects)
        master = await group.metrics(group.holder)
        follower = await group.metrics(3 - group.holder)
    assert value(master, "gantry_broker_in_sync_members") == 2
    assert value(master, "gantry_broker_lease_unreadable") == 0
    assert value(master, "gantry_broker_slice_unpublished") == 0
    assert value(follower, "gantry_broker_disk_foreign") == 0
    assert value(follower, "gantry_broker_led_epoch") == 0
    assert "gantry_broker_slice_unpublished" not in follower


def value(page: str, name: str) -> float:
    """The value of a metric that has one series."""
    (line,) = (line for line in page.splitlines() if line.startswith(name + "{"))
    return float(line.rpartition(" ")[2])


async def test_a_wish_that_is_left_out_is_logged_once_and_reported_in_the_lease(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    group = HostGroup(tmp_path, 1)
    await group.begin()
    typo = {"metadata": {"annotations": {"gantrymq.dev/preferred": "broker-2"}}}

    def notes() -> dict[str, str]:
        found: dict[str, str] = group.api.objects.objects[LEASE]["metadata"]["annotations"]
        return found

    async with group.running(1, minInSyncReplicas="1"):
        await until(lambda: group.in_sync == "1")
        group.api.objects.patch(LEASE, typo)
        await until(lambda: "preferred is 'broker-2'" in notes().get("gantrymq.dev/problems", ""))
        renewals = int(notes()["gantrymq.dev/renewals"])
        await until(lambda: int(notes()["gantrymq.dev/renewals"]) > renewals + 1)
    await group.api.stop()
    assert caplog.text.count("ignoring annotations of the Lease") == 1


async def test_the_lease_says_what_the_master_has_to_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slice_keeper, "LOOK_SECONDS", 0.05)
    monkeypatch.setattr(slice_keeper, "SURVEY_SECONDS", 0.05)
    foreign = {
        "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {"name": "by-hand", "labels": {"kubernetes.io/service-name": "broker-a"}},
    }  # fmt: skip
    async with group_of(tmp_path, 1, 2) as group:

        def problems() -> str:
            notes = group.api.objects.objects[LEASE]["metadata"]["annotations"]
            return str(notes.get("gantrymq.dev/problems", ""))

        group.api.objects.post(("endpointslices", "mq", ""), foreign)
        await until(lambda: "kubectl delete endpointslice by-hand" in problems())
        group.api.objects.delete(("endpointslices", "mq", "by-hand"))
        await until(lambda: not problems())


async def test_a_slave_of_fixed_roles_is_turned_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        with caplog.at_level(logging.WARNING):
            reader, writer = await asyncio.open_connection(*group.ha_address(group.holder))
            writer.write(encode_report(0))
            assert await reader.read() == b""
            writer.close()
    assert "slaves with brokerRole=SLAVE follow a broker with a fixed role" in caplog.text


async def test_a_master_that_stops_hands_over(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        old = group.holder
        await group.ends[old].aclose()
        await until(lambda: group.holder == 3 - old)
        assert group.in_sync == str(3 - old)


async def test_former_master_forwards_sends_after_the_hand_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        old = group.holder
        await asked(group.hosts[old], new_topic())
        monkeypatch.setattr(member_host, "FORWARD_SECONDS", WAIT_SECONDS)
        stopping = asyncio.create_task(group.hosts[old].stop())
        await until(lambda: group.holder == 3 - old)
        await asyncio.sleep(0.2)  # a Service leads here, until it was told otherwise
        answer = await asked(group.hosts[old], new_message())
        assert answer.code == ResponseCode.SLAVE_NOT_AVAILABLE, "stored, by the only one of the set"
        stopping.cancel()  # it has relayed for long enough; the group stops it once more
        await asyncio.wait([stopping])
        monkeypatch.setattr(member_host, "FORWARD_SECONDS", 0.0)


async def test_a_master_goes_on_without_the_api_while_the_other_promises(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        master = group.hosts[group.holder]
        for port in group.api.ports:
            port.fault = Fault.REFUSE
        await asyncio.sleep(4.5)
        assert master.state.identity.is_master
        answer = await asked(master, new_topic())
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        for port in group.api.ports:
            port.fault = Fault.NONE


async def test_outside_of_a_cluster_the_api_is_asked_for(tmp_path: Path) -> None:
    group = HostGroup(tmp_path, 1)
    await group.begin()
    with pytest.raises(ConfigurationError, match="leaseUrl is empty, and"):
        async with group.running(1, leaseUrl="", brokerRole="ASYNC_MASTER"):
            pass
    await group.api.stop()


@pytest.mark.parametrize("command", ["archive", "adopt"])
async def test_a_member_with_a_foreign_disk_does_what_was_decided_about_it(
    tmp_path: Path, command: str
) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        number = 3 - group.holder
        await group.ends[number].aclose()
        root = tmp_path / str(number) / "store"
        theirs = make_foreign(root)
        notes = group.api.objects.objects[LEASE]["metadata"]["annotations"]
        wanted = ["--group", notes["gantrymq.dev/group-id"]] if command == "adopt" else []
        async with group.running(number) as host:
            await until_told(group, number, 503, "gantry store archive")
            assert store_tool([command, str(root), *wanted]) == 0
            assert host.restart is not None
            async with asyncio.timeout(WAIT_SECONDS):
                assert "the decision about this disk" in await host.restart
        async with group.running(number):
            await until(lambda: group.in_sync == "1,2")
        archives = list(root.glob("archive-*/gantry/identity"))
        disk = FolderDisk(root)
        ours = identity.read(disk)
        disk.close()
        assert ours is not None
        assert ours.group == notes["gantrymq.dev/group-id"]
        assert (len(archives), ours.disk == theirs.disk) == ((0, True) if wanted else (1, False))


def make_foreign(root: Path) -> Identity:
    """The disk of a member that is stopped belongs to another group from now on."""
    disk = FolderDisk(root)
    known = identity.read(disk)
    assert known is not None
    theirs = replace(known, group="f" * 32)
    identity.write(disk, theirs)
    disk.close()
    return theirs


async def test_a_member_at_work_drops_a_decision_about_its_disk(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        root = tmp_path / str(group.holder) / "store"
        assert store_tool(["archive", str(root)]) == 0
        await until(lambda: "dropped a decision about this disk" in caplog.text)
        assert list(root.glob("archive-*")) == []
        assert not (root / "gantry/decision").exists()
