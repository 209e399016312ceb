"""Tests when the supervisor releases the lease of a dead broker."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from gantrymq.broker import configuration, supervisor
from gantrymq.broker.configuration import Setup
from gantrymq.broker.member.lease_client import LeaseClient
from gantrymq.broker.supervisor import release_lease
from gantrymq.fakes.groups.lease_api import Fault, LeaseApi
from gantrymq.ha.lease.lease import DURATION_SECONDS, NO_MEMBER, Found, Lease, LeaseAnswer, Written
from gantrymq.ha.lease.lease_object import OBJECT_BYTES_MAX, ObjectName
from gantrymq.runtime import process
from gantrymq.runtime.http import kube_api
from gantrymq.runtime.http.kube_api import ApiPlace, KubeApi
from gantrymq.runtime.storage.disk import FolderDisk
from gantrymq.store.layout import LOCK

ADDRESS = "10.0.0.1:10911"
PLACE = ObjectName("mq", "main-broker-0")
KUBERNETES_GRACE_SECONDS = 30
LEASE = Lease("", 1, ADDRESS, "10.0.0.1:10912", 7, frozenset({1, 2}))


# What a broker does is nothing here: it ends at once, with the last argument.
GUARDED = """
import sys
from pathlib import Path
from gantrymq.broker import configuration, supervisor
supervisor.DURATION_SECONDS = 60.0
flags = dict(each.split("=", 1) for each in sys.argv[2:-1])
setup = configuration.load(None, {}, flags, Path(sys.argv[1]))
sys.exit(supervisor.run(setup, lambda: int(sys.argv[-1])))
"""


@pytest.fixture
async def api() -> AsyncIterator[LeaseApi]:
    api = LeaseApi(ports=1)
    yield api
    await api.stop()


@pytest.fixture
async def url(api: LeaseApi) -> str:
    (url,) = await api.start()
    return url


@pytest.fixture
async def client(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LeaseClient]:
    """A client of an API that answers, with long timeouts for busy machines, here and in the
    supervisor."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", 60.0)
    monkeypatch.setattr(supervisor, "DURATION_SECONDS", 60.0)
    http = KubeApi(ApiPlace(url), OBJECT_BYTES_MAX)
    yield LeaseClient(http, PLACE, lambda: 1_700_000_000_000)
    await http.close()


@pytest.fixture
def flags(url: str, tmp_path: Path) -> dict[str, str]:
    """The command-line settings of member 1."""
    secret = tmp_path / "secret"
    secret.write_text("sixteen bytes and more")
    return {
        "brokerIP1": "10.0.0.1",
        "groupMembers": "1=10.0.0.1:10912,2=10.0.0.2:10912",
        "groupSecretFile": str(secret),
        "leaseName": PLACE.name,
        "leaseNamespace": PLACE.namespace,
        "leaseUrl": url,
        "memberNumber": "1",
    }


@pytest.fixture
def setup(flags: dict[str, str], tmp_path: Path) -> Setup:
    """The setup of member 1, whose store was opened before."""
    setup = configuration.load(None, {}, flags, tmp_path)
    setup.root.mkdir()
    return setup


class Doubting:
    """The client of a Lease that was edited by hand."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        self.written: list[Lease] = []

    async def read(self) -> LeaseAnswer:
        return Found(self.lease)

    async def write(self, lease: Lease) -> LeaseAnswer:
        self.written.append(lease)
        return Written("9")


async def held(client: LeaseClient) -> Lease:
    answer = await client.read()
    assert isinstance(answer, Found)
    return answer.lease


async def test_lease_of_a_dead_broker_is_released_and_keeps_its_isr(client: LeaseClient) -> None:
    await client.write(LEASE)
    assert await release_lease(client, 1, ADDRESS)
    lease = await held(client)
    assert (lease.holder, lease.epoch, lease.in_sync) == (NO_MEMBER, 7, frozenset({1, 2}))


async def test_the_lease_of_another_member_is_left_alone(client: LeaseClient) -> None:
    await client.write(LEASE)
    assert await release_lease(client, 2, ADDRESS)
    assert (await held(client)).holder == 1


async def test_the_lease_of_a_process_with_another_disk_is_left_alone(client: LeaseClient) -> None:
    await client.write(replace(LEASE, group="ab" * 16, disks={1: "01" * 16, 2: "02" * 16}))
    assert await release_lease(client, 1, ADDRESS, "03" * 16)
    assert (await held(client)).holder == 1
    assert await release_lease(client, 1, ADDRESS, "01" * 16)
    assert (await held(client)).holder == NO_MEMBER


async def test_untrusted_lease_is_not_sealed_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    doubted = replace(LEASE, untrusted_reason="it was edited by hand")
    client = Doubting(doubted)
    assert await release_lease(client, 1, ADDRESS)
    assert client.written == []
    assert (
        "the lease is not trusted, so it is left to expire: it was edited"
        in capsys.readouterr().err
    )


async def test_missing_lease_is_not_released(client: LeaseClient) -> None:
    assert await release_lease(client, 1, ADDRESS)


async def test_the_lease_of_a_later_life_elsewhere_is_left_alone(client: LeaseClient) -> None:
    await client.write(replace(LEASE, address="10.0.0.9:10911"))
    assert await release_lease(client, 1, ADDRESS)
    assert (await held(client)).holder == 1


@pytest.mark.parametrize("code", [0, 70])
async def test_supervisor_releases_the_lease_for_any_exit_code_of_the_broker(
    client: LeaseClient, flags: dict[str, str], setup: Setup, tmp_path: Path, code: int
) -> None:
    await client.write(LEASE)
    words = [f"{key}={value}" for key, value in flags.items()]
    broker = await asyncio.create_subprocess_exec(
        sys.executable, "-c", GUARDED, str(tmp_path), *words, str(code)
    )
    assert await broker.wait() == code
    assert (await held(client)).holder == NO_MEMBER


async def test_while_another_broker_has_the_store_the_lease_is_its(
    client: LeaseClient, setup: Setup
) -> None:
    await client.write(LEASE)
    disk = FolderDisk(setup.root)
    disk.lock(LOCK)
    await asyncio.to_thread(supervisor.release, setup)
    assert (await held(client)).holder == 1
    disk.close()
    await asyncio.to_thread(supervisor.release, setup)
    assert (await held(client)).holder == NO_MEMBER


async def test_no_broker_opens_the_store_while_its_lease_is_given_away(
    api: LeaseApi, client: LeaseClient, setup: Setup
) -> None:
    await client.write(LEASE)
    (port,) = api.ports
    port.asked.clear()
    port.fault = Fault.FAIL
    releasing = asyncio.create_task(asyncio.to_thread(supervisor.release, setup))
    while not port.asked:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    disk = FolderDisk(setup.root)
    assert disk.is_locked(LOCK)
    port.fault = Fault.NONE
    await releasing
    assert not disk.is_locked(LOCK)
    assert (await held(client)).holder == NO_MEMBER
    disk.close()


def test_without_an_api_no_lease_is_released(setup: Setup, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    assert setup.group is not None
    supervisor.release(replace(setup, group=replace(setup.group, lease_url="")))
    assert not FolderDisk(setup.root).is_locked(LOCK)


async def test_it_is_tried_for_as_long_as_the_lease_lasts(
    api: LeaseApi, setup: Setup, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "DURATION_SECONDS", 0.3)
    (port,) = api.ports
    port.fault = Fault.HANG
    await asyncio.to_thread(supervisor.release, setup)
    assert "it is left to expire" in capsys.readouterr().err


def test_stopping_and_giving_the_lease_away_fit_into_the_shortest_grace_period() -> None:
    seconds = process.STOP_SECONDS + 2 * process.TASK_SECONDS + DURATION_SECONDS
    assert seconds < KUBERNETES_GRACE_SECONDS
