"""Tests that real brokers and clients find each other through two name servers.

Messages are numbered: what was sent and what was received are compared as sets, so that a lost
message is seen, and one delivered twice does not count against the name server.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TypeAlias

import pytest

from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.drivers import JavaClient
from gantrymq.interop.releases import NEWEST, OLDEST
from gantrymq.interop.servers import REGISTER_SECONDS, JavaBroker, NameServer, NameServerKind
from gantrymq.interop.sides import name_server

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

Pair: TypeAlias = tuple[NameServer, NameServer]

MESSAGES = 10_000
SENT_PER_SECOND = 2500  # slow enough to kill something in the middle
AT_ONCE_SECONDS = 20.0  # a closed connection is noticed at once; silence would take the expiry time


@pytest.fixture(scope="module")
def pair(namesrv_kind: NameServerKind, folder: Callable[[str], Path]) -> Iterator[Pair]:
    """Two name servers that do not know each other."""
    with (
        name_server(namesrv_kind, folder("namesrv-a")) as one,
        name_server(namesrv_kind, folder("namesrv-b")) as two,
    ):
        yield one, two


@pytest.fixture(scope="module")
def brokers(pair: Pair, folder: Callable[[str], Path]) -> Iterator[Callable[[str], JavaBroker]]:
    """A master of each requested release, registered with both."""
    with ExitStack() as running:

        @cache
        def start(version: str) -> JavaBroker:
            return running.enter_context(JavaBroker(version, folder(f"broker-{version}"), pair))

        yield start


def topic_of(broker: JavaBroker, client: JavaClient, purpose: str) -> str:
    """A topic on the broker that no other test uses."""
    topic = topic_name(broker, client, purpose)
    broker.create_topic(topic)
    return topic


def topic_name(broker: JavaBroker, client: JavaClient, purpose: str) -> str:
    """The name of such a topic."""
    return f"{purpose}-{client.version}-{broker.broker_name}".replace(".", "_")


def assert_all_received(client: JavaClient, topic: str, count: int) -> None:
    """Assert that every sent message has arrived unchanged."""
    received = client.received(topic, count)
    assert received.numbers == set(range(count))
    assert received.damaged == ()


@pytest.mark.parametrize("version", [NEWEST, OLDEST])
def test_every_message_arrives(
    client: JavaClient, brokers: Callable[[str], JavaBroker], pair: Pair, version: str
) -> None:
    broker = brokers(version)
    topic = topic_of(broker, client, "All")
    assert client.queues(topic, pair) == {f"{broker.broker_name}:{queue}" for queue in range(4)}
    client.subscribe(topic, pair)
    client.produce(topic, pair, MESSAGES)
    assert_all_received(client, topic, MESSAGES)


def test_killing_a_name_server_changes_nothing_for_clients(
    client: JavaClient, brokers: Callable[[str], JavaBroker], pair: Pair
) -> None:
    """This holds for running clients: a 5.3 consumer cannot start if it tries the dead one
    first."""
    broker = brokers(NEWEST)
    topic, later = topic_of(broker, client, "Killed"), topic_name(broker, client, "Later")
    client.subscribe(topic, pair)
    client.subscribe(later, pair)  # it is created when one name server remains
    assert client.queues(topic, pair)
    chosen = client.chosen_name_server(pair)
    victim, survivor = pair if pair[0].address == chosen else (pair[1], pair[0])
    client.start_producing(topic, pair, MESSAGES, per_second=SENT_PER_SECOND)
    client.wait_for_sent(MESSAGES // 4)
    victim.kill()
    try:
        client.finish_producing(MESSAGES)
        assert_all_received(client, topic, MESSAGES)
        broker.create_topic(later)
        client.produce(later, pair, 100)
        assert_all_received(client, later, 100)
        assert client.chosen_name_server(pair) == survivor.address
    finally:
        victim.start()
    wait_until(broker.is_registered, "the broker has registered again", REGISTER_SECONDS)


@pytest.mark.parametrize("version", [NEWEST, OLDEST])
def test_a_killed_broker_is_forgotten_at_once(
    pair: Pair, folder: Callable[[str], Path], version: str
) -> None:
    with mortal_broker(version, folder, pair) as broker:
        broker.create_topic("Mortal")
        broker.kill()
        wait_until_forgotten(broker, pair, AT_ONCE_SECONDS)
        assert not any(server.knows_topic("Mortal") for server in pair)


def mortal_broker(
    version: str, folder: Callable[[str], Path], servers: Pair, **settings: str
) -> JavaBroker:
    """A broker that its test kills."""
    own = {"brokerName": f"mortal-{version}", "brokerClusterName": "mortals", **settings}
    return JavaBroker(version, folder(f"mortal-{version}"), servers, own)


def wait_until_forgotten(broker: JavaBroker, servers: Pair, seconds: float) -> None:
    """Wait until no name server has its address."""
    wait_until(
        lambda: not any(broker.is_known_to(server) for server in servers),
        f"{broker.name} is forgotten",
        seconds,
    )


class TestSilence:
    """A broker that is stopped keeps its connections open and is silent."""

    SCAN_MS = 500
    SERVER_EXPIRY_MS = 13_000  # an ordinary broker registers every 10 s
    BROKER_EXPIRY_MS = 4_000
    SLACK_SECONDS = 10.0

    def test_broker_is_forgotten_after_the_time_it_stated(
        self, namesrv_kind: NameServerKind, folder: Callable[[str], Path]
    ) -> None:
        """Only a 5.x broker that lets slaves act for it states a time; Java's default is 120 s."""
        stated = {
            "enableSlaveActingMaster": "true",
            "brokerHeartbeatInterval": "1000",
            "brokerNotActiveTimeoutMillis": str(self.BROKER_EXPIRY_MS),
        }
        scan = {"scanNotActiveBrokerInterval": str(self.SCAN_MS)}
        with (
            name_server(namesrv_kind, folder("silence"), **scan) as one,
            mortal_broker(NEWEST, folder, (one, one), **stated) as broker,
        ):
            self.silence_and_return(one, broker, self.BROKER_EXPIRY_MS, sign_of_life_ms=1_000)

    def test_broker_is_forgotten_after_the_configured_time(
        self, namesrv_kind: NameServerKind, folder: Callable[[str], Path]
    ) -> None:
        if namesrv_kind is NameServerKind.JAVA:
            pytest.skip("Java's 120 s cannot be configured")
        expiry = {
            "scanNotActiveBrokerInterval": str(self.SCAN_MS),
            "brokerChannelExpiredTime": str(self.SERVER_EXPIRY_MS),
        }
        with (
            name_server(namesrv_kind, folder("silence"), **expiry) as one,
            mortal_broker(OLDEST, folder, (one, one)) as broker,
        ):
            self.silence_and_return(one, broker, self.SERVER_EXPIRY_MS, sign_of_life_ms=10_000)

    def silence_and_return(
        self, server: NameServer, broker: JavaBroker, expiry_ms: int, sign_of_life_ms: int
    ) -> None:
        """Its routes expire within the expected time, and return with the broker."""
        broker.create_topic("Silent")
        broker.pause()
        silent_since = time.monotonic()
        wait_until_forgotten(broker, (server, server), expiry_ms / 1000 + self.SLACK_SECONDS)
        # The last registration may be up to one period before the silence.
        assert time.monotonic() - silent_since > (expiry_ms - sign_of_life_ms) / 1000 - 0.5
        assert not server.knows_topic("Silent")
        broker.resume()
        wait_until(lambda: server.knows_topic("Silent"), "its routes are back", REGISTER_SECONDS)
