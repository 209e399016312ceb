"""Tests attackers, slaves and Java's slaves at the HA port of a master, on real sockets."""

from __future__ import annotations

import asyncio
import ssl
import struct
from pathlib import Path

import pytest

from gantrymq.broker.server import BrokerHost
from gantrymq.fakes.groups.guarded_pair import (
    Pair,
    connect,
    ha_address,
    send,
    until,
    until_copied,
    until_logged,
)
from gantrymq.fakes.hosts import running
from gantrymq.ha.classic.log_sender import LogSender
from gantrymq.ha.classic.log_senders import FOLLOWERS_MAX
from gantrymq.runtime.security.certificates import ClientTls, self_signed
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.wire.codes import ResponseCode

OLD, NEW = "the old secret of the group", "the new secret of the group"
ATTACK = struct.pack(">q", 0)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


async def told_by(reader: asyncio.StreamReader) -> bytes:
    """All that the broker says until it closes the connection."""
    async with asyncio.timeout(30):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


GUARDED = {
    "by accounts": {"aclEnable": "true"},
    "by TLS": {"tls.server.mode": "enforcing", "haTls": "accepted"},
    "by a secret": {},
}


@pytest.mark.parametrize("name", GUARDED)
async def test_plain_report_gets_nothing_of_a_guarded_log(
    pair: Pair, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    keys = GUARDED[name]
    pair.share(OLD)
    async with running(pair.master(**keys)) as master:
        assert await send(master, tls="tls.server.mode" in keys) == ResponseCode.SUCCESS
        reader, writer = await connect(master)
        writer.write(ATTACK)
        assert await told_by(reader) == b""
        writer.close()
        assert not master.state.replication.followers(0.0)
    assert "haAllowUnauthenticatedSlaves=true at this master" in caplog.text


async def test_plain_report_gets_an_unguarded_log(pair: Pair) -> None:
    """What Java's slaves rely on; and the attack above is one."""
    async with running(pair.master()) as master:
        assert await send(master) == ResponseCode.SUCCESS
        reader, writer = await connect(master)
        writer.write(ATTACK)
        async with asyncio.timeout(30):
            assert b"a secret message" in await reader.readuntil(b"a secret message")
        writer.close()


@pytest.mark.parametrize("name", ["by accounts", "by TLS"])
@pytest.mark.parametrize("role", ["ASYNC_MASTER", "SYNC_MASTER"])
async def test_the_port_is_closed_where_no_slave_could_prove_itself(
    pair: Pair, name: str, role: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    keys = {**GUARDED[name], "brokerRole": role}
    async with running(pair.master(**keys)) as master:
        assert master.ha_address is None
    assert "HA port is closed" in caplog.text
    assert "there is no groupSecretFile" in caplog.text


async def test_the_port_is_closed_where_a_setting_says_so(pair: Pair) -> None:
    async with running(pair.master(haListen="false")) as master:
        assert master.ha_address is None
        assert await send(master) == ResponseCode.SUCCESS


async def test_the_port_has_an_address_of_its_own(pair: Pair) -> None:
    async with running(pair.master(haBindAddress="127.0.0.2")) as master:
        assert master.ha_address is not None
        assert master.ha_address[0] == "127.0.0.2"


async def test_a_slave_that_only_acknowledges_is_no_slave(pair: Pair) -> None:
    pair.share(OLD)
    keys = {"aclEnable": "true", "brokerRole": "SYNC_MASTER"}
    async with running(pair.master(**keys)) as master:
        assert await send(master) == ResponseCode.SLAVE_NOT_AVAILABLE
        reader, writer = await connect(master)
        for position in range(0, 4096, 64):
            writer.write(struct.pack(">q", position))
        assert await send(master) == ResponseCode.SLAVE_NOT_AVAILABLE
        assert await told_by(reader) == b""
        assert await send(master) == ResponseCode.SLAVE_NOT_AVAILABLE
        writer.close()


@pytest.mark.parametrize("keys", [{}, {"aclEnable": "true"}])
async def test_silent_connections_do_not_keep_a_slave_out(pair: Pair, keys: dict[str, str]) -> None:
    if keys:
        pair.share(OLD)
    async with running(pair.master(**keys)) as master:
        assert await send(master) == ResponseCode.SUCCESS
        silent = [await connect(master) for _ in range(3 * FOLLOWERS_MAX)]
        async with running(pair.slave(master)) as slave:
            await until_copied(master, slave)
        for _, writer in silent:
            writer.close()


async def test_a_peer_that_does_not_prove_itself_in_time_is_closed(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.share(OLD)
    async with running(pair.master()) as master:
        reader, writer = await connect(master)
        writer.write(b"\xffGan")
        assert await told_by(reader) == b""
        writer.close()
    assert "no proof within 3 s; the peer does not prove that it knows" in caplog.text


async def test_a_slave_with_the_secret_follows_and_is_waited_for(pair: Pair) -> None:
    pair.share(OLD)
    keys = {"aclEnable": "true", "brokerRole": "SYNC_MASTER"}
    async with running(pair.master(**keys)) as master, running(pair.slave(master)) as slave:
        await until(lambda: bool(master.state.replication.followers(0.0)))
        assert await send(master) == ResponseCode.SUCCESS
        await until_copied(master, slave)


async def test_slaves_with_another_secret_or_none_are_told_what_to_do(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.share(OLD)
    async with running(pair.master()) as master:
        pair.share(NEW, sides=("slave",))
        async with running(pair.slave(master)):
            await until_logged(caplog, "the master does not know the group's secret")
        pair.secrets["slave"].unlink()
        async with running(pair.slave(master)):
            await until_logged(caplog, "accepts only slaves with the same")
        assert not master.state.replication.followers(0.0)


async def test_a_slave_with_a_secret_follows_no_master_that_does_not_know_it(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.share(OLD, sides=("slave",))
    async with running(pair.master()) as master, running(pair.slave(master)):
        await until_logged(caplog, "this master has none: set groupSecretFile here")
        assert not master.state.replication.followers(0.0)


async def test_unproven_slaves_are_taken_where_it_is_allowed_and_that_is_told(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.share(OLD, sides=("master",))
    keys = {"aclEnable": "true", "haAllowUnauthenticatedSlaves": "true"}
    async with running(pair.master(**keys)) as master:
        assert "any peer that reaches haListenPort may read all messages" in caplog.text
        assert await send(master) == ResponseCode.SUCCESS
        async with running(pair.slave(master)) as slave:
            await until_copied(master, slave)
        pair.share(OLD, sides=("slave",))
        assert await send(master) == ResponseCode.SUCCESS
        async with running(pair.slave(master)) as slave:
            await until_copied(master, slave)


async def test_a_secret_is_changed_step_by_step_without_a_restart(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    """In each step the slave connects anew after either side has taken it."""
    pair.share(OLD)
    async with running(pair.master()) as master, running(pair.slave(master)) as slave:
        for secrets in ((OLD, NEW), (NEW, OLD), (NEW,)):
            for side in ("slave", "master"):
                pair.share(*secrets, sides=(side,))
                slave.state.replication.follow("")
                slave.state.replication.follow(ha_address(master))
                assert await send(master) == ResponseCode.SUCCESS
                await until_copied(master, slave)
        pair.share(OLD, sides=("slave",))
        slave.state.replication.follow("")
        slave.state.replication.follow(ha_address(master))
        await until_logged(caplog, "the master does not know the group's secret")
        assert not master.state.replication.followers(0.0)


# ---------------------------------------------------------------------- TLS


def sealed(master: BrokerHost) -> list[bool]:
    """Whether the links of its slaves use TLS."""
    slaves = master._replication._slaves  # type: ignore[union-attr]
    assert slaves is not None
    return [each.is_sealed for each in slaves.all() if isinstance(each.follower, LogSender)]


@pytest.mark.parametrize(
    ("masters", "slaves", "tls"),
    [
        ("accepted", "accepted", False),
        ("accepted", "used", True),
        ("used", "accepted", False),
        ("used", "used", True),
        ("used", "required", True),
        ("required", "used", True),
        ("required", "required", True),
    ],
)
async def test_links_use_tls_as_the_slave_dials(
    pair: Pair, masters: str, slaves: str, *, tls: bool
) -> None:
    """Neighbours in accepted -> used -> required always come together."""
    pair.share(OLD)
    keys = pair.certificates
    async with (
        running(pair.master(haTls=masters, **keys)) as master,
        running(pair.slave(master, haTls=slaves, **keys)) as slave,
    ):
        assert await send(master) == ResponseCode.SUCCESS
        await until_copied(master, slave)
        assert sealed(master) == [tls]


async def test_new_certificates_count_from_the_next_link_on(pair: Pair) -> None:
    pair.share(OLD)
    keys = pair.certificates
    async with (
        running(pair.master(haTls="required", **keys)) as master,
        running(pair.slave(master, haTls="required", **keys)) as slave,
    ):
        await until_copied(master, slave)
        assert master.ha_address is not None
        pair.certify()
        new = (pair.folder / "cert.pem").read_text()
        assert await asyncio.to_thread(ssl.get_server_certificate, master.ha_address) == new
        slave.state.replication.follow("")
        slave.state.replication.follow(ha_address(master))
        assert await send(master) == ResponseCode.SUCCESS
        await until_copied(master, slave)


async def test_a_plain_slave_is_refused_where_tls_is_required(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.share(OLD)
    async with running(pair.master(**{"tls.server.mode": "enforcing"})) as master:
        async with running(pair.slave(master, haTls="accepted")):
            await until_logged(caplog, "the peer connects without TLS, and haTls=required here")
        assert not master.state.replication.followers(0.0)


async def test_tls_alone_proves_nothing(pair: Pair) -> None:
    pair.share(OLD)
    context = ClientContexts(ClientTls()).context()
    async with running(pair.master(haTls="required", **pair.certificates)) as master:
        assert master.ha_address is not None
        reader, writer = await asyncio.open_connection(*master.ha_address, ssl=context)
        writer.write(ATTACK)
        assert await told_by(reader) == b""
        writer.close()
        assert not master.state.replication.followers(0.0)


async def test_a_master_whose_certificate_is_not_trusted_is_not_followed(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    pair.share(OLD)
    keys = pair.certificates
    other = pair.folder / "other.pem"
    other.write_bytes(self_signed("another")[0])
    async with running(pair.master(haTls="required", **keys)) as master:
        keys["tls.client.trustCertPath"] = str(other)
        async with running(pair.slave(master, haTls="required", **keys)):
            await until_logged(caplog, "self-signed certificate")
        assert not master.state.replication.followers(0.0)


async def test_a_party_that_passes_proofs_on_between_two_tls_connections_is_refused(
    pair: Pair, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing checks the attacker's certificate: what is proved is the connection."""
    pair.share(OLD)
    pretended = pair.master(haTls="required", **pair.certificates)
    async with running(pretended) as master:
        assert master.ha_address is not None
        address = master.ha_address

        async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            context = ClientContexts(ClientTls()).context()
            back, forth = await asyncio.open_connection(*address, ssl=context)

            async def pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
                while data := await source.read(4096):
                    sink.write(data)
                sink.close()

            await asyncio.gather(pump(reader, forth), pump(back, writer), return_exceptions=True)

        contexts = master._server.tls
        between = await asyncio.start_server(pass_on, "127.0.0.1", 0, ssl=contexts.context())
        port = between.sockets[0].getsockname()[1]
        keys = {"haTls": "required", "haMasterAddress": f"127.0.0.1:{port}"}
        role = {"brokerRole": "SLAVE", "brokerId": "1"}
        async with running(pair.setup("slave", **role, **keys)):
            await until_logged(caplog, "the master does not know the group's secret")
        between.close()
        assert not master.state.replication.followers(0.0)
