"""TLS at the name server's port: real clients, mqadmin and a broker, let in or refused as by Java.

Four doors, by what RocketMQ's `tls.` keys say:

    permissive  no key at all: both are welcome, the certificate is made in memory
    enforcing   TLS alone, with a certificate that an authority signed
    mutual      the same, and clients must show one of that authority's too
    disabled    plain alone
"""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from urllib.request import urlopen

import pytest

from gantrymq.interop import ports
from gantrymq.interop.authority import Authority, Identity, client_context
from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.drivers import JavaClient, MqAdmin
from gantrymq.interop.releases import REFERENCE
from gantrymq.interop.servers import (
    JavaBroker,
    NameServer,
    NameServerKind,
    gantry_name_server,
    java_name_server,
    write_properties,
)
from gantrymq.interop.sides import name_server
from gantrymq.interop.wire import Request, connect

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

MESSAGES = 1000
TOPIC = "Sealed"
SEEN_SECONDS = 20.0  # far less than a broker's silence would take to be noticed
UNREACHED = "Can not find Message Queue"  # what Java says when no name server answers


class Door(Enum):
    """How a name server is set up."""

    PERMISSIVE = "permissive"
    ENFORCING = "enforcing"
    MUTUAL = "mutual"
    DISABLED = "disabled"


class Way(Enum):
    """How somebody comes."""

    PLAIN = "plain"
    NAMELESS = "TLS without a certificate"
    KNOWN = "TLS with a certificate of the authority"
    FOREIGN = "TLS with a certificate of another authority"


ADMITTED = {
    Door.PERMISSIVE: set(Way),
    Door.ENFORCING: set(Way) - {Way.PLAIN},
    Door.MUTUAL: {Way.KNOWN},
    Door.DISABLED: {Way.PLAIN},
}
# Java's test mode asks for a certificate. Nobody need show one; one shown must be of a public
# authority. Ours does not ask.
ADMITTED_BY_JAVA = {**ADMITTED, Door.PERMISSIVE: {Way.PLAIN, Way.NAMELESS}}
OPEN_TO_TLS = [Door.PERMISSIVE, Door.ENFORCING, Door.MUTUAL]
ANYBODY = {"tls.enable": "true", "tls.test.mode.enable": "true"}  # what Java clients do untold


@dataclass(frozen=True, slots=True)
class Papers:
    """Who is who."""

    authority: Authority
    stranger: Authority
    server: Identity
    identities: Mapping[Way, Identity | None]

    def door(self, door: Door) -> dict[str, str]:
        """The settings of a name server."""
        if door is Door.PERMISSIVE:
            return {}
        if door is Door.DISABLED:
            return {"tls.server.mode": "disabled"}
        settings = {
            "tls.server.mode": "enforcing",
            "tls.test.mode.enable": "false",
            **self.server.settings("server"),
        }
        if door is Door.MUTUAL:
            settings |= {
                "tls.server.need.client.auth": "require",
                "tls.server.authClient": "true",  # Java asks in vain without
                "tls.server.trustCertPath": str(self.authority.trust_path),
            }
        return settings

    def java_client(self, way: Way, trusted: Authority | None = None) -> dict[str, str]:
        """The settings of a Java client that checks the server as well; all, for old ones stay."""
        identity = self.identities[way]
        shown = identity.settings("client") if identity else {}
        return {
            "tls.test.mode.enable": "false",
            "tls.client.authServer": "true",
            "tls.client.trustCertPath": str((trusted or self.authority).trust_path),
            "tls.client.certPath": "",
            "tls.client.keyPath": "",
            **shown,
        }

    def context(self, way: Way) -> ssl.SSLContext | None:
        """How a connection of the tests' own comes that way."""
        return None if way is Way.PLAIN else client_context(identity=self.identities[way])

    def server_at(self, door: Door, server: NameServer) -> NameServer:
        """The server, asked in a way it admits."""
        ways = {Door.DISABLED: Way.PLAIN, Door.MUTUAL: Way.KNOWN}
        server.tls = self.context(ways.get(door, Way.NAMELESS))
        return server


@pytest.fixture(scope="module")
def papers(folder: Callable[[str], Path]) -> Papers:
    authority, stranger = Authority(folder("authority")), Authority(folder("stranger"))
    identities = {
        Way.PLAIN: None,
        Way.NAMELESS: None,
        Way.KNOWN: authority.identity("client"),
        Way.FOREIGN: stranger.identity("client"),
    }
    return Papers(authority, stranger, authority.identity("server"), identities)


@contextmanager
def _behind_each_door(
    papers: Papers, make: Callable[[Door], NameServer]
) -> Iterator[Mapping[Door, NameServer]]:
    """A name server a door; they start at the same time."""
    servers = {door: papers.server_at(door, make(door)) for door in Door}
    with ExitStack() as running, ThreadPoolExecutor() as threads:
        for server in servers.values():
            running.callback(server.kill)
        list(threads.map(NameServer.start, servers.values()))
        yield servers


@pytest.fixture(scope="module")
def references(
    papers: Papers, folder: Callable[[str], Path]
) -> Iterator[Mapping[Door, NameServer]]:
    """Java's."""

    def make(door: Door) -> NameServer:
        place = folder(f"reference-{door.value}")
        return java_name_server(REFERENCE, place, papers.door(door))

    with _behind_each_door(papers, make) as servers:
        yield servers


@pytest.fixture(scope="module")
def servers(
    papers: Papers, namesrv_kind: NameServerKind, folder: Callable[[str], Path]
) -> Iterator[Mapping[Door, NameServer]]:
    """The judged ones."""

    def make(door: Door) -> NameServer:
        return name_server(namesrv_kind, folder(f"door-{door.value}"), **papers.door(door))

    with _behind_each_door(papers, make) as servers:
        yield servers


@pytest.fixture(scope="module")
def broker(
    papers: Papers, servers: Mapping[Door, NameServer], folder: Callable[[str], Path]
) -> Iterator[JavaBroker]:
    """Registered over TLS with all that admit it, and with a topic."""
    settings = {
        **papers.java_client(Way.KNOWN),
        **papers.server.settings("server"),
        "tls.enable": "true",
        "tls.client.authServer": "false",  # the permissive one signed for itself
    }
    known_to = [servers[door] for door in OPEN_TO_TLS]
    with JavaBroker(REFERENCE, folder("tls-broker"), known_to, settings) as broker:
        broker.create_topic(TOPIC)
        yield broker


@pytest.fixture(scope="module")
def tls_clients(folder: Callable[[str], Path]) -> Iterator[Callable[[str], JavaClient]]:
    """Client JVMs with -Dtls.enable=true."""
    with ExitStack() as running:

        @cache
        def start(version: str) -> JavaClient:
            place = folder(f"tls-client-{version}")
            return running.enter_context(JavaClient(version, place, ANYBODY))

        yield start


@pytest.fixture
def tls_client(client: JavaClient, tls_clients: Callable[[str], JavaClient]) -> JavaClient:
    """The one of the same release as the plain client."""
    return tls_clients(client.version)


@pytest.fixture(scope="module")
def tls_admin(folder: Callable[[str], Path]) -> Iterator[MqAdmin]:
    """mqadmin with -Dtls.enable=true."""
    with MqAdmin(REFERENCE, folder("tls-mqadmin"), ANYBODY) as admin:
        yield admin


def admits(server: NameServer, context: ssl.SSLContext | None) -> bool:
    """Whether it answers to who comes that way, or closes."""
    try:
        with connect(server.address, context) as connection:
            return connection.ask(Request(206)).code == 0
    except (ssl.SSLError, ConnectionError):
        return False


def queues_seen(client: JavaClient, server: NameServer) -> set[str]:
    """What a producer made for this question alone learns."""
    try:
        return client.queues(TOPIC, [server])
    finally:
        client.leave([server])


def all_queues(broker: JavaBroker) -> set[str]:
    return {f"{broker.broker_name}:{queue}" for queue in range(4)}


@pytest.mark.parametrize("door", Door)
def test_who_is_admitted(
    papers: Papers,
    namesrv_kind: NameServerKind,
    references: Mapping[Door, NameServer],
    servers: Mapping[Door, NameServer],
    door: Door,
) -> None:
    reference, subject = (
        {way for way in Way if admits(side[door], papers.context(way))}
        for side in (references, servers)
    )
    expected = ADMITTED if namesrv_kind is NameServerKind.GANTRY else ADMITTED_BY_JAVA
    assert (reference, subject) == (ADMITTED_BY_JAVA[door], expected[door])


@pytest.mark.parametrize(
    ("door", "way", "reason"),
    [
        (Door.ENFORCING, Way.PLAIN, "tls_required"),
        (Door.DISABLED, Way.NAMELESS, "tls_disabled"),
        (Door.MUTUAL, Way.NAMELESS, "handshake_failed"),
        (Door.MUTUAL, Way.FOREIGN, "handshake_failed"),
    ],
)
def test_a_refusal_is_counted_and_one_line_tells_of_it(
    papers: Papers,
    namesrv_kind: NameServerKind,
    folder: Callable[[str], Path],
    door: Door,
    way: Way,
    reason: str,
) -> None:
    if namesrv_kind is NameServerKind.JAVA:
        pytest.skip("Java counts nothing; only ours is judged here")
    metrics_port = ports.free_port()
    settings = {**papers.door(door), "metricsPort": str(metrics_port)}
    with papers.server_at(door, gantry_name_server(folder("refusing"), settings)) as server:
        assert not admits(server, papers.context(way))
        wait_until(lambda: refusals(metrics_port) == {reason: 1}, "it is counted", SEEN_SECONDS)
        log = (server.folder / "out.log").read_text().splitlines()
    assert sum(f"reason={reason} " in line for line in log) == 1


def refusals(metrics_port: int) -> dict[str, int]:
    """Connections that ended badly, by the reason."""
    with urlopen(f"http://127.0.0.1:{metrics_port}/metrics") as page:
        text = page.read().decode()
    found = re.findall(r'closed_connections_total{.*reason="(\w+)"} ([\d.]+)', text)
    return {reason: int(float(count)) for reason, count in found if reason != "peer_closed"}


@pytest.mark.parametrize("door", OPEN_TO_TLS)
def test_a_java_broker_registers_over_tls(
    servers: Mapping[Door, NameServer], broker: JavaBroker, door: Door
) -> None:
    assert broker.is_known_to(servers[door])


@pytest.mark.parametrize("door", OPEN_TO_TLS)
def test_a_broker_is_forgotten_when_its_connection_is_cut(
    servers: Mapping[Door, NameServer], door: Door
) -> None:
    server = servers[door]
    name = {"brokerName": "cut", "clusterName": "cut", "brokerId": "0"}
    addresses = {"brokerAddr": "127.0.0.1:1", "haServerAddr": "127.0.0.1:2"}
    with connect(server.address, server.tls) as connection:
        assert connection.ask(Request(103, {**name, **addresses})).code == 0
        assert "cut" in server.brokers()
    wait_until(lambda: "cut" not in server.brokers(), "it is forgotten", SEEN_SECONDS)


def test_messages_pass_over_tls_and_plainly_side_by_side(
    servers: Mapping[Door, NameServer],
    broker: JavaBroker,
    client: JavaClient,
    tls_client: JavaClient,
) -> None:
    """Each consumes what the other sends."""
    door = [servers[Door.PERMISSIVE]]
    tls_client.use_tls(ANYBODY)
    flows = [
        (f"From-plain-{client.version[0]}", client, tls_client),
        (f"From-tls-{client.version[0]}", tls_client, client),
    ]
    for topic, _, receiver in flows:
        broker.create_topic(topic)
        receiver.subscribe(topic, door)
    for topic, sender, _ in flows:
        sender.start_producing(topic, door, MESSAGES)
    for _, sender, _ in flows:
        sender.finish_producing(MESSAGES)
    for topic, _, receiver in flows:
        received = receiver.received(topic, MESSAGES)
        assert received.numbers == set(range(MESSAGES))
        assert received.damaged == ()


@pytest.mark.parametrize("door", [Door.PERMISSIVE, Door.ENFORCING])
def test_a_java_client_that_trusts_anybody_is_admitted(
    servers: Mapping[Door, NameServer], broker: JavaBroker, tls_client: JavaClient, door: Door
) -> None:
    """What passes the enforcing one is TLS indeed; the permissive one would not mind."""
    tls_client.use_tls(ANYBODY)
    assert queues_seen(tls_client, servers[door]) == all_queues(broker)


@pytest.mark.parametrize(
    ("door", "way"), [(Door.ENFORCING, Way.NAMELESS), (Door.MUTUAL, Way.KNOWN)]
)
def test_a_java_client_is_admitted(
    papers: Papers,
    servers: Mapping[Door, NameServer],
    broker: JavaBroker,
    tls_client: JavaClient,
    door: Door,
    way: Way,
) -> None:
    tls_client.use_tls(papers.java_client(way))
    assert queues_seen(tls_client, servers[door]) == all_queues(broker)


@pytest.mark.parametrize(
    ("door", "way"),
    [
        (Door.DISABLED, Way.NAMELESS),
        (Door.ENFORCING, Way.PLAIN),
        (Door.MUTUAL, Way.NAMELESS),
        (Door.MUTUAL, Way.FOREIGN),
    ],
)
def test_a_java_client_is_refused(
    papers: Papers,
    servers: Mapping[Door, NameServer],
    broker: JavaBroker,
    client: JavaClient,
    tls_client: JavaClient,
    door: Door,
    way: Way,
) -> None:
    tls_client.use_tls(papers.java_client(way))
    asking = client if way is Way.PLAIN else tls_client
    with pytest.raises(AssertionError, match=UNREACHED):
        queues_seen(asking, servers[door])


def test_a_java_client_refuses_a_server_it_does_not_trust(
    papers: Papers, servers: Mapping[Door, NameServer], broker: JavaBroker, tls_client: JavaClient
) -> None:
    """So in the tests above it did look at the certificate it was shown."""
    tls_client.use_tls(papers.java_client(Way.NAMELESS, trusted=papers.stranger))
    with pytest.raises(AssertionError, match=UNREACHED):
        queues_seen(tls_client, servers[Door.ENFORCING])


@pytest.mark.parametrize("door", OPEN_TO_TLS)
def test_mqadmin_over_tls(
    papers: Papers,
    servers: Mapping[Door, NameServer],
    broker: JavaBroker,
    tls_admin: MqAdmin,
    door: Door,
) -> None:
    tls_admin.use_tls(ANYBODY if door is Door.PERMISSIVE else papers.java_client(Way.KNOWN))
    server = servers[door]
    assert broker.address in tls_admin.run(server, "clusterList")
    assert broker.broker_name in tls_admin.run(server, "topicRoute", "-t", TOPIC)
    assert "success" in tls_admin.run(server, "updateKvConfig", "-s", "s", "-k", "k", "-v", "v")
    assert "listenPort" in tls_admin.run(server, "getNamesrvConfig")


def test_mqadmin_is_refused(
    papers: Papers,
    servers: Mapping[Door, NameServer],
    admins: Callable[[str], MqAdmin],
    tls_admin: MqAdmin,
) -> None:
    tls_admin.use_tls(papers.java_client(Way.FOREIGN))
    for admin, door in (
        (admins(REFERENCE), Door.ENFORCING),
        (tls_admin, Door.MUTUAL),
        (tls_admin, Door.DISABLED),
    ):
        output = admin.run(servers[door], "getNamesrvConfig")
        assert "listenPort" not in output
        assert re.search(r"Remoting\w+Exception", output)


def test_the_settings_may_stand_in_a_file_of_their_own(
    papers: Papers, namesrv_kind: NameServerKind, folder: Callable[[str], Path]
) -> None:
    place = folder("own-file")
    own = write_properties(place / "own.properties", papers.door(Door.ENFORCING))
    settings = {"tls.server.mode": "enforcing", "tls.config.file": str(own)}
    server = name_server(namesrv_kind, place, **settings)
    with papers.server_at(Door.ENFORCING, server):
        assert admits(server, client_context(trusted=papers.authority))
        assert not admits(server, None)


def test_a_new_certificate_is_served_without_a_restart(
    namesrv_kind: NameServerKind, folder: Callable[[str], Path]
) -> None:
    """Connections that come later see it, as with Java, which looks at the files each 0.5 s."""
    authority = Authority(folder("renewing"))
    shown = authority.identity("server").settings("server")
    settings = {"tls.test.mode.enable": "false", **shown}
    with name_server(namesrv_kind, folder("renewed"), **settings) as server:
        before = certificate(server)
        authority.identity("server")
        wait_until(lambda: certificate(server) != before, "it is served", SEEN_SECONDS)


def certificate(server: NameServer) -> str:
    """The one it shows."""
    return ssl.get_server_certificate(("127.0.0.1", int(server.address.rpartition(":")[2])))
