"""Tests the members of a group on real sockets, each with a lease API that can be made to fail."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import replace
from pathlib import Path

import pytest

from gantrymq.app.store_tool import run as store_tool
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.messages import Channel
from gantrymq.broker.member import member_host
from gantrymq.fakes.groups.host_groups import (
    LEASE,
    SLICE,
    WAIT_SECONDS,
    HostGroup,
    asked,
    group_of,
    new_message,
    new_topic,
    until,
    until_told,
)
from gantrymq.fakes.groups.lease_api import Fault
from gantrymq.ha.classic.frames import encode_report
from gantrymq.ha.disk import identity
from gantrymq.ha.disk.identity import Identity
from gantrymq.runtime.http import kube_api
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.wire import javajson
from gantrymq.wire.bodies.ha_status import HaStatus
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command

pytestmark = pytest.mark.usefixtures("patient_requests")


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
        core._schedule.periodic = [*core._schedule.periodic, self]

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


async def test_members_are_ready_while_they_are_in_sync(tmp_path: Path) -> None:
    async with group_of(tmp_path, 1, 2) as group:
        master, follower = group.holder, 3 - group.holder
        for number in (master, follower):
            await until_told(group, number, 200, "ready\n")
        await group.ends[follower].aclose()
        await until_told(group, master, 503, "too few members are in sync: 1")


async def test_member_of_a_group_without_a_master_shows_its_reason_to_wait(tmp_path: Path) -> None:
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


async def test_master_continues_without_the_api_while_the_other_member_promises(
    tmp_path: Path,
) -> None:
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
async def test_member_with_a_foreign_disk_carries_out_the_decision_about_it(
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
