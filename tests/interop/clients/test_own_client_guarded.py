"""Tests Gantry's client with brokers that check accounts and certificates, and are killed.

5.3's Java broker has accounts of another kind, whose requests are signed in the same way; their
rights are not set here.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.client import (
    BrokerError,
    Message,
    SendError,
)
from gantrymq.client.aio.machinery.configuration import ClientKeywords
from gantrymq.interop.authority import Authority, client_context
from gantrymq.interop.broker_kinds import BrokerKind, running
from gantrymq.interop.own.own_stage import Inbox, OwnStage, bodies, stored, until
from gantrymq.interop.servers import Broker, fields
from gantrymq.interop.wire import parse_fastjson
from gantrymq.remoting.failures import RequestError
from gantrymq.runtime.security.certificates import ClientTls, Identity
from gantrymq.wire.bodies.shared import TopicConfig

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

SIGNED_WITH = "12345678"
ACCOUNTS = f"""\
accounts:
- accessKey: administrator
  secretKey: {SIGNED_WITH}
  admin: true
- accessKey: sender-of-all
  secretKey: {SIGNED_WITH}
  defaultTopicPerm: PUB
- accessKey: receiver-of-all
  secretKey: {SIGNED_WITH}
  defaultTopicPerm: SUB
  defaultGroupPerm: SUB
"""
ADMINISTRATOR = {"accessKey": "administrator", "secretKey": SIGNED_WITH}
PROVIDERS = "org.apache.rocketmq.auth.authentication.provider"
ACCOUNTS_OF_5 = {
    "authenticationEnabled": "true",
    "authenticationProvider": f"{PROVIDERS}.DefaultAuthenticationProvider",
    "authenticationMetadataProvider": f"{PROVIDERS}.LocalAuthenticationMetadataProvider",
    "initAuthenticationUser": json.dumps({"username": "administrator", "password": SIGNED_WITH}),
    "innerClientAuthenticationCredentials": json.dumps(ADMINISTRATOR),
}
# Java's brokers close a connection without TLS, but carry out the request that it brought.
IN_THE_CLEAR = "let me in, in the clear"


@dataclass(frozen=True, slots=True)
class Guarded:
    """A broker that only accepts TLS, with certificates of one authority and signed requests."""

    kind: BrokerKind
    broker: Broker
    tls: ClientTls

    def keywords(self, account: str, signed_with: str = SIGNED_WITH) -> ClientKeywords:
        """The keywords of a client with this account."""
        known = "administrator" if self.kind is BrokerKind.JAVA else account
        return ClientKeywords(access_key=known, secret_key=signed_with, tls=self.tls)

    def play(self, name: str, play: Callable[[OwnStage], Awaitable[None]]) -> None:
        """Run a scenario in its own event loop."""

        async def run() -> None:
            async with OwnStage(self.broker, name, _no_mqadmin) as stage:
                await play(stage)

        asyncio.run(run())

    async def topic(self, stage: OwnStage) -> str:
        """Create a topic as the administrator."""
        topic = stage.name("topic")
        admin = await stage.admin(**self.keywords("administrator"))
        (await admin.topics.create([self.broker.address], TopicConfig(topic, 2, 2))).all()
        await until(lambda: self.broker.is_routed(topic), "name servers know the topic")
        return topic


async def _no_mqadmin(*words: str) -> str:
    raise NotImplementedError(" ".join(words))


@pytest.fixture(scope="module", params=BrokerKind, ids=[kind.value for kind in BrokerKind])
def guarded(request: pytest.FixtureRequest, folder: Callable[[str], Path]) -> Iterator[Guarded]:
    kind: BrokerKind = request.param
    authority, place = Authority(folder("authority")), folder("guarded")
    accounts = place / "broker" / "conf" / "plain_acl.yml"  # the path where 4.9 expects the file
    accounts.parent.mkdir(parents=True)
    accounts.write_text(ACCOUNTS)
    (place / "namesrv").mkdir()
    own_accounts = {"aclEnable": "true"}
    if kind is BrokerKind.GANTRY:
        own_accounts["aclFile"] = str(accounts)
    settings = {
        **(ACCOUNTS_OF_5 if kind is BrokerKind.JAVA else own_accounts),
        "tls.server.mode": "enforcing",
        "tls.test.mode.enable": "false",
        **authority.identity("broker").settings("server"),
        "tls.server.need.client.auth": "require",
        "tls.server.authClient": "true",
        "tls.server.trustCertPath": str(authority.trust_path),
        "tls.enable": "false",
        "flushConsumerOffsetInterval": "200",
    }
    of_name_server = {
        "tls.server.mode": "permissive",
        "tls.test.mode.enable": "false",
        **authority.identity("names").settings("server"),
    }
    shown = authority.identity("client")
    tls = ClientTls(
        test_mode=False,
        identity=Identity(str(shown.cert_path), str(shown.key_path)),
        auth_server=True,
        trust_cert_path=str(authority.trust_path),
    )
    with running(kind, lambda name: place / name, settings, of_name_server) as broker:
        broker.tls = client_context(authority, shown)
        yield Guarded(kind, broker, tls)


def test_accounts_send_and_receive_as_they_may(guarded: Guarded) -> None:
    async def play(stage: OwnStage) -> None:
        topic, inbox = await guarded.topic(stage), Inbox()
        producer = await stage.producer(**guarded.keywords("sender-of-all"))
        await stage.consumer(topic, inbox, **guarded.keywords("receiver-of-all"))
        for n in range(8):
            await producer.send(Message(topic, str(n), keys=[f"schlüssel {n}"]))
        await producer.send_async(Message(topic, "soon"))
        await inbox.gets_exactly([*map(str, range(8)), "soon"])

    guarded.play("accounts", play)


def test_other_clients_are_refused(guarded: Guarded) -> None:
    async def play(stage: OwnStage) -> None:
        topic = await guarded.topic(stage)
        strangers: list[ClientKeywords] = [
            guarded.keywords("sender-of-all", signed_with="87654321"),
            guarded.keywords("unknown-client", signed_with="87654321"),
            ClientKeywords(tls=guarded.tls),
        ]
        if guarded.kind is not BrokerKind.JAVA:
            strangers.append(guarded.keywords("receiver-of-all"))
        for number, keywords in enumerate(strangers):
            producer = await stage.producer(**keywords)
            with pytest.raises((BrokerError, SendError)):
                await producer.send(Message(topic, f"let me in, {number}"))
        without_tls = guarded.keywords("sender-of-all")
        del without_tls["tls"]
        producer = await stage.producer(**without_tls, retries=0)
        with pytest.raises((SendError, RequestError)):
            await producer.send(Message(topic, IN_THE_CLEAR), timeout_s=2.0)
        admin = await stage.admin(**guarded.keywords("administrator"))
        found = set(bodies(await stored(admin, topic, 0)))
        assert found <= ({IN_THE_CLEAR} if guarded.kind is not BrokerKind.GANTRY else set())

    guarded.play("strangers", play)


def test_killed_broker_recovers_messages_and_progress(guarded: Guarded) -> None:
    async def play(stage: OwnStage) -> None:
        topic, group = await guarded.topic(stage), stage.name("group")
        producer = await stage.producer(**guarded.keywords("sender-of-all"))
        before, after, stayed = Inbox(), Inbox(), Inbox()
        consumer = await stage.consumer(
            topic, before, group=group, **guarded.keywords("receiver-of-all")
        )
        await stage.consumer(topic, stayed, **guarded.keywords("receiver-of-all"))
        for n in range(20):
            await producer.send(Message(topic, str(n)))
        await before.gets_exactly(map(str, range(20)))
        await consumer.close()
        await until(lambda: _is_on_disk(guarded.broker, group, topic), "the progress is on disk")
        await asyncio.to_thread(guarded.broker.kill)
        with pytest.raises((SendError, RequestError, BrokerError)):
            await producer.send(Message(topic, "too early"), timeout_s=1.0)
        await asyncio.to_thread(guarded.broker.start)
        for n in range(20, 40):
            await _send_at_last(producer.send, Message(topic, str(n)))
        await stage.consumer(topic, after, group=group, **guarded.keywords("receiver-of-all"))
        await after.until(20)
        assert set(after.bodies) == set(map(str, range(20, 40)))
        await until(
            lambda: set(stayed.bodies) >= set(map(str, range(40))), "the remaining member has all"
        )
        admin = await stage.admin(**guarded.keywords("administrator"))
        assert set(bodies(await stored(admin, topic, 40))) == set(map(str, range(40)))

    guarded.play("killed", play)


def _is_on_disk(broker: Broker, group: str, topic: str) -> bool:
    path = broker.folder / "store" / "config" / "consumerOffset.json"
    if not path.exists():
        return False
    table = fields(fields(parse_fastjson(path.read_bytes()))["offsetTable"])
    offsets = fields(table.get(f"{topic}@{group}") or {})
    return sum(int(str(offset)) for offset in offsets.values()) == 20


async def _send_at_last(send: Callable[[Message], Awaitable[object]], message: Message) -> None:
    """Send as applications do while a broker starts. A failed send may have been stored."""
    async with asyncio.timeout(30.0):
        while True:
            try:
                await send(message)
            except (SendError, BrokerError, RequestError):
                await asyncio.sleep(0.2)
            else:
                return
