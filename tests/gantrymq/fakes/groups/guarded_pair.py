"""Provides a master and its slave on real sockets, with secrets and certificates for links."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from gantrymq.acl.signature.signature import Credentials
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.server import BrokerHost
from gantrymq.runtime.net.dialer import Dialer
from gantrymq.runtime.security.certificates import ClientTls, self_signed
from gantrymq.runtime.security.client_contexts import ClientContexts
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.send import SendMessageRequest

ADMIN = Credentials("administrator", "of all of this")

ACCOUNTS = f"""
accounts:
  - accessKey: {ADMIN.access_key}
    secretKey: {ADMIN.secret_key}
    admin: true
"""


class Pair:
    """The files of a master and its slave, which differ in what a test says."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.secrets = {"master": folder / "master.secret", "slave": folder / "slave.secret"}
        (folder / "accounts.yml").write_text(ACCOUNTS)
        self.certify()

    def certify(self) -> None:
        """A new certificate and its key are in their files from now on."""
        for name, content in zip(("cert.pem", "key.pem"), self_signed("broker"), strict=True):
            (self.folder / name).write_bytes(content)

    def share(self, *secrets: str, sides: tuple[str, ...] = ("master", "slave")) -> None:
        """These are in the secret files from now on."""
        for side in sides:
            new = self.folder / "new"
            new.write_text("\n".join(secrets) + "\n")
            new.rename(self.secrets[side])

    def setup(self, side: str, **keys: str) -> Setup:
        secret = {"groupSecretFile": str(self.secrets[side])} if self.secrets[side].exists() else {}
        lines = {
            "listenPort": "0",
            "metricsPort": "0",
            "bindAddress": "127.0.0.1",
            "brokerIP1": "127.0.0.1",
            "brokerName": "pair",
            "autoCreateTopicEnable": "true",
            "mappedFileSizeCommitLog": str(1 << 20),
            "aclFile": str(self.folder / "accounts.yml"),
            **secret,
            **keys,
        }
        file = self.folder / f"{side}.conf"
        file.write_text("".join(f"{key}={value}\n" for key, value in lines.items()))
        return load(file, {}, {}, self.folder / side)

    def master(self, **keys: str) -> Setup:
        return self.setup("master", **keys)

    def slave(self, master: BrokerHost, **keys: str) -> Setup:
        role = {"brokerRole": "SLAVE", "brokerId": "1", "haMasterAddress": ha_address(master)}
        return self.setup("slave", **role, **keys)

    @property
    def certificates(self) -> dict[str, str]:
        """Settings for a server and a client certificate that both ends trust."""
        cert, key = str(self.folder / "cert.pem"), str(self.folder / "key.pem")
        return {
            "tls.server.certPath": cert,
            "tls.server.keyPath": key,
            "tls.client.trustCertPath": cert,
        }


def ha_address(host: BrokerHost) -> str:
    assert host.ha_address is not None
    return "{}:{}".format(*host.ha_address)


async def connect(host: BrokerHost) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    assert host.ha_address is not None
    return await asyncio.open_connection(*host.ha_address)


async def send(host: BrokerHost, *, tls: bool = False) -> int:
    """One message, signed; the code of the answer."""
    context = ClientContexts(ClientTls()) if tls else None
    dialer = Dialer(tls=context, credentials=ADMIN)
    header = SendMessageRequest(
        producer_group="P",
        topic="T",
        default_topic="TBW102",
        default_topic_queue_nums=1,
        queue_id=0,
        sys_flag=0,
        born_timestamp=0,
        flag=0,
        properties="",
    )
    command = Command(RequestCode.SEND_MESSAGE, ext=header.encode(), body=b"a secret message")
    answer = await dialer.connection("{}:{}".format(*host.addresses["internal"])).request(
        command, 20.0
    )
    await dialer.close()
    return answer.code


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while True:
            if condition():
                return
            await asyncio.sleep(0.01)


async def until_copied(master: BrokerHost, slave: BrokerHost) -> None:
    """The slave has all of the log, and the master knows that."""

    def is_copied() -> bool:
        acknowledged = [each.acknowledged for each in master.state.replication.followers(0.0)]
        return acknowledged == [master.state.store.log.end] == [slave.state.store.log.end]

    await until(is_copied)


async def until_logged(caplog: pytest.LogCaptureFixture, text: str) -> None:
    await until(lambda: text in caplog.text)
