"""Tests the HA port of an elected group on real sockets.

TLS, a secret that changes, and peers that are not members.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from gantrymq.broker.core.settings import HaTls
from gantrymq.broker.links.member_connection import MemberConnection
from gantrymq.broker.member.member_host import MemberHost
from gantrymq.broker.server import BrokerHost
from gantrymq.fakes.groups.lease_api import LeaseApi
from gantrymq.fakes.hosts import running, setup
from gantrymq.interop.ports import free_port
from gantrymq.runtime.http import kube_api
from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.runtime.security.client_contexts import ClientContexts

OLD, NEW = "the old secret of the group", "the new secret of the group"
LEASE = ("leases", "mq", "defaultcluster-broker-a")
WAIT_SECONDS = 30.0


@pytest.fixture(autouse=True)
def _long_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests to the API have long timeouts, because the API of a busy machine answers late."""
    monkeypatch.setattr(kube_api, "REQUEST_SECONDS", WAIT_SECONDS)


class Members:
    """Members 1 and 2, their files, and the API that they ask."""

    def __init__(self, folder: Path, url: str, api: LeaseApi) -> None:
        self.api = api
        self.ha_ports = {1: free_port(), 2: free_port()}
        self.hosts: dict[int, BrokerHost] = {}
        self._ends: dict[int, AsyncExitStack] = {}
        self._folder = folder
        self._url = url

    def share(self, number: int, *secrets: str) -> str:
        """These are in this member's file from now on."""
        path = self._folder / f"secret-{number}"
        new = self._folder / "new"
        new.write_text("\n".join(secrets) + "\n")
        new.rename(path)
        return str(path)

    async def start(self, number: int, keys: Mapping[str, str], secret: str = "") -> None:
        addresses = ",".join(f"{n}=127.0.0.1:{port}" for n, port in self.ha_ports.items())
        settings = {
            "brokerRole": "ASYNC_MASTER",
            "groupMembers": addresses,
            "groupSecretFile": secret or self.share(number, OLD),
            "haListenPort": str(self.ha_ports[number]),
            "leaseName": LEASE[2],
            "leaseNamespace": "mq",
            "leaseUrl": self._url,
            "listenPort": str(free_port(also=(-2,))),
            "memberNumber": str(number),
            **keys,
        }
        end = AsyncExitStack()
        chosen = setup(self._folder / str(number), **settings)
        self.hosts[number] = await end.enter_async_context(running(chosen))
        self._ends[number] = end

    async def stop(self, number: int) -> None:
        await self._ends.pop(number).aclose()

    async def stop_all(self) -> None:
        for number in list(self._ends):
            await self.stop(number)

    @property
    def in_sync(self) -> str:
        notes = self.api.objects.objects.get(LEASE, {}).get("metadata", {}).get("annotations", {})
        return str(notes.get("gantrymq.dev/in-sync", ""))

    def links(self, number: int) -> list[MemberConnection]:
        replication = self.hosts[number]._replication
        assert isinstance(replication, MemberHost)
        return list(replication._links._connections.values())

    async def are_in_sync(self) -> None:
        await until(lambda: self.in_sync == "1,2")


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_SECONDS):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def members(folder: Path) -> AsyncIterator[Members]:
    api = LeaseApi(1)
    (url,) = await api.start()
    both = Members(folder, url, api)
    try:
        yield both
    finally:
        await both.stop_all()
        await api.stop()


async def told_by(reader: asyncio.StreamReader) -> bytes:
    """All that the broker says until it closes the connection."""
    async with asyncio.timeout(WAIT_SECONDS):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (HaTls.ACCEPTED, HaTls.USED),
        (HaTls.USED, HaTls.USED),
        (HaTls.USED, HaTls.REQUIRED),
        (HaTls.REQUIRED, HaTls.REQUIRED),
    ],
)
async def test_members_meet_by_tls(tmp_path: Path, one: HaTls, other: HaTls) -> None:
    """Neighbours in accepted -> used -> required, with certificates that are not checked."""
    async with members(tmp_path) as both:
        await asyncio.gather(both.start(1, {"haTls": one}), both.start(2, {"haTls": other}))
        await both.are_in_sync()
        modes = {1: one, 2: other}
        for number, mode in modes.items():
            for link in both.links(number):
                dials_by_tls = mode if link.was_dialed else modes[3 - number]
                assert link.is_sealed == (dials_by_tls is not HaTls.ACCEPTED)


async def test_a_plain_member_is_refused_where_tls_is_required(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with members(tmp_path) as both:
        await asyncio.gather(
            both.start(1, {"haTls": "required"}), both.start(2, {"haTls": "accepted"})
        )
        await until(lambda: "the peer connects without TLS, and haTls=required here" in caplog.text)


@pytest.mark.parametrize("mode", HaTls)
async def test_plain_report_gets_nothing_from_members(tmp_path: Path, mode: HaTls) -> None:
    async with members(tmp_path) as both:
        await both.start(1, {"haTls": mode})
        context = ClientContexts(ClientTls()).context() if mode is HaTls.REQUIRED else None
        reader, writer = await asyncio.open_connection("127.0.0.1", both.ha_ports[1], ssl=context)
        writer.write(struct.pack(">q", 0) * 4)
        told = await told_by(reader)
        assert len(told) == (32 if context else 0), "a proof of its own, and nothing else"
        writer.close()


async def test_silent_connections_do_not_keep_members_apart(tmp_path: Path) -> None:
    async with members(tmp_path) as both:
        await both.start(1, {})
        silent = [await asyncio.open_connection("127.0.0.1", both.ha_ports[1]) for _ in range(100)]
        await both.start(2, {})
        await both.are_in_sync()
        for _, writer in silent:
            writer.close()


async def test_a_peer_that_does_not_begin_as_a_member_in_time_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with members(tmp_path) as both:
        await both.start(1, {})
        reader, writer = await asyncio.open_connection("127.0.0.1", both.ha_ports[1])
        writer.write(b"\xffGan")
        assert await told_by(reader) == b""
        writer.close()
        assert "the peer did not send a member's opening within 3 s" in caplog.text


async def test_a_party_between_two_tls_connections_is_refused(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """An attacker has a TLS connection with each of two members, and passes all bytes on."""
    async with members(tmp_path) as both:
        await both.start(1, {"haTls": "required"})
        target = both.ha_ports[1]

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            context = ClientContexts(ClientTls()).context()
            back, forth = await asyncio.open_connection("127.0.0.1", target, ssl=context)

            async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                while data := await source.read(4096):
                    sink.write(data)
                sink.close()

            await asyncio.gather(pump(reader, forth), pump(back, writer), return_exceptions=True)

        contexts = both.hosts[1]._server.tls
        between = await asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=contexts.context())
        port = between.sockets[0].getsockname()[1]
        led = {"groupMembers": f"1=127.0.0.1:{port},2=127.0.0.1:{both.ha_ports[2]}"}
        await both.start(2, {"haTls": "required", **led})
        await until(lambda: "the other end of the TLS connection does not know" in caplog.text)
        between.close()


async def test_a_secret_is_changed_step_by_step_without_a_restart(tmp_path: Path) -> None:
    """In each step one member comes back to one that has not, or has just, taken it."""
    async with members(tmp_path) as both:
        await asyncio.gather(both.start(1, {}), both.start(2, {}))
        await both.are_in_sync()
        for secrets in ((OLD, NEW), (NEW, OLD), (NEW,)):
            for changes in (1, 2):
                path = both.share(changes, *secrets)
                await both.stop(2)
                await until(lambda: both.in_sync == "1")
                await both.start(2, {}, str(Path(path).parent / "secret-2"))
                await both.are_in_sync()
