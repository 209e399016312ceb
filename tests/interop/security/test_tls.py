"""Tests TLS at the name server's port: clients, mqadmin and a broker are admitted as by Java's.

The modes are those of `gantrymq.interop.name_server_tls`.
"""

import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from urllib.request import urlopen

import pytest

from gantrymq.interop import ports
from gantrymq.interop.authority import Authority, client_context
from gantrymq.interop.child import wait_until
from gantrymq.interop.clients.drivers import JavaClient, MqAdmin
from gantrymq.interop.name_server_tls import (
    ADMITTED,
    ADMITTED_BY_JAVA,
    OPEN_TO_TLS,
    UNVERIFIED,
    Certificates,
    Connection,
    Mode,
    admits,
    in_each_mode,
)
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
SEEN_SECONDS = 20.0  # far less than the time after which a silent broker expires
UNREACHED = "Can not find Message Queue"  # Java's text if no name server answers


@pytest.fixture(scope="module")
def certificates(folder: Callable[[str], Path]) -> Certificates:
    authority, stranger = Authority(folder("authority")), Authority(folder("stranger"))
    identities = {
        Connection.PLAIN: None,
        Connection.NAMELESS: None,
        Connection.KNOWN: authority.identity("client"),
        Connection.FOREIGN: stranger.identity("client"),
    }
    return Certificates(authority, stranger, authority.identity("server"), identities)


@pytest.fixture(scope="module")
def references(
    certificates: Certificates, folder: Callable[[str], Path]
) -> Iterator[Mapping[Mode, NameServer]]:
    """Java's name servers."""

    def make(mode: Mode) -> NameServer:
        place = folder(f"reference-{mode.value}")
        return java_name_server(REFERENCE, place, certificates.settings_for(mode))

    with in_each_mode(certificates, make) as servers:
        yield servers


@pytest.fixture(scope="module")
def servers(
    certificates: Certificates, namesrv_kind: NameServerKind, folder: Callable[[str], Path]
) -> Iterator[Mapping[Mode, NameServer]]:
    """The name servers under test."""

    def make(mode: Mode) -> NameServer:
        return name_server(
            namesrv_kind, folder(f"mode-{mode.value}"), **certificates.settings_for(mode)
        )

    with in_each_mode(certificates, make) as servers:
        yield servers


@pytest.fixture(scope="module")
def broker(
    certificates: Certificates, servers: Mapping[Mode, NameServer], folder: Callable[[str], Path]
) -> Iterator[JavaBroker]:
    """A broker that is registered over TLS with all name servers that admit it, and has a topic."""
    settings = {
        **certificates.java_client(Connection.KNOWN),
        **certificates.server.settings("server"),
        "tls.enable": "true",
        "tls.client.authServer": "false",  # the permissive one has a self-signed certificate
    }
    known_to = [servers[mode] for mode in OPEN_TO_TLS]
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
            return running.enter_context(JavaClient(version, place, UNVERIFIED))

        yield start


@pytest.fixture
def tls_client(client: JavaClient, tls_clients: Callable[[str], JavaClient]) -> JavaClient:
    """The JVM of the same release as the plain client."""
    return tls_clients(client.version)


@pytest.fixture(scope="module")
def tls_admin(folder: Callable[[str], Path]) -> Iterator[MqAdmin]:
    """mqadmin with -Dtls.enable=true."""
    with MqAdmin(REFERENCE, folder("tls-mqadmin"), UNVERIFIED) as admin:
        yield admin


def queues_seen(client: JavaClient, server: NameServer) -> set[str]:
    """The queues that a new producer learns."""
    try:
        return client.queues(TOPIC, [server])
    finally:
        client.leave([server])


def all_queues(broker: JavaBroker) -> set[str]:
    return {f"{broker.broker_name}:{queue}" for queue in range(4)}


@pytest.mark.parametrize("mode", Mode)
def test_admitted_connections(
    certificates: Certificates,
    namesrv_kind: NameServerKind,
    references: Mapping[Mode, NameServer],
    servers: Mapping[Mode, NameServer],
    mode: Mode,
) -> None:
    reference, subject = (
        {
            connection
            for connection in Connection
            if admits(side[mode], certificates.context(connection))
        }
        for side in (references, servers)
    )
    expected = ADMITTED if namesrv_kind is NameServerKind.GANTRY else ADMITTED_BY_JAVA
    assert (reference, subject) == (ADMITTED_BY_JAVA[mode], expected[mode])


@pytest.mark.parametrize(
    ("mode", "connection", "reason"),
    [
        (Mode.ENFORCING, Connection.PLAIN, "tls_required"),
        (Mode.DISABLED, Connection.NAMELESS, "tls_disabled"),
        (Mode.MUTUAL, Connection.NAMELESS, "handshake_failed"),
        (Mode.MUTUAL, Connection.FOREIGN, "handshake_failed"),
    ],
)
def test_refusal_is_counted_and_logged_once(
    certificates: Certificates,
    namesrv_kind: NameServerKind,
    folder: Callable[[str], Path],
    mode: Mode,
    connection: Connection,
    reason: str,
) -> None:
    if namesrv_kind is NameServerKind.JAVA:
        pytest.skip("Java counts nothing; only ours is judged here")
    metrics_port = ports.free_port()
    settings = {**certificates.settings_for(mode), "metricsPort": str(metrics_port)}
    with certificates.server_at(mode, gantry_name_server(folder("refusing"), settings)) as server:
        assert not admits(server, certificates.context(connection))
        wait_until(lambda: refusals(metrics_port) == {reason: 1}, "it is counted", SEEN_SECONDS)
        log = (server.folder / "out.log").read_text().splitlines()
    assert sum(f"reason={reason} " in line for line in log) == 1


def refusals(metrics_port: int) -> dict[str, int]:
    """The connections that failed, by reason."""
    with urlopen(f"http://127.0.0.1:{metrics_port}/metrics") as page:
        text = page.read().decode()
    found = re.findall(r'closed_connections_total{.*reason="(\w+)"} ([\d.]+)', text)
    return {reason: int(float(count)) for reason, count in found if reason != "peer_closed"}


@pytest.mark.parametrize("mode", OPEN_TO_TLS)
def test_a_java_broker_registers_over_tls(
    servers: Mapping[Mode, NameServer], broker: JavaBroker, mode: Mode
) -> None:
    assert broker.is_known_to(servers[mode])


@pytest.mark.parametrize("mode", OPEN_TO_TLS)
def test_a_broker_is_forgotten_when_its_connection_is_cut(
    servers: Mapping[Mode, NameServer], mode: Mode
) -> None:
    server = servers[mode]
    name = {"brokerName": "cut", "clusterName": "cut", "brokerId": "0"}
    addresses = {"brokerAddr": "127.0.0.1:1", "haServerAddr": "127.0.0.1:2"}
    with connect(server.address, server.tls) as connection:
        assert connection.ask(Request(103, {**name, **addresses})).code == 0
        assert "cut" in server.brokers()
    wait_until(lambda: "cut" not in server.brokers(), "it is forgotten", SEEN_SECONDS)


def test_messages_pass_over_tls_and_plainly_side_by_side(
    servers: Mapping[Mode, NameServer],
    broker: JavaBroker,
    client: JavaClient,
    tls_client: JavaClient,
) -> None:
    """Each client consumes what the other one sends."""
    mode = [servers[Mode.PERMISSIVE]]
    tls_client.use_tls(UNVERIFIED)
    flows = [
        (f"From-plain-{client.version[0]}", client, tls_client),
        (f"From-tls-{client.version[0]}", tls_client, client),
    ]
    for topic, _, receiver in flows:
        broker.create_topic(topic)
        receiver.subscribe(topic, mode)
    for topic, sender, _ in flows:
        sender.start_producing(topic, mode, MESSAGES)
    for _, sender, _ in flows:
        sender.finish_producing(MESSAGES)
    for topic, _, receiver in flows:
        received = receiver.received(topic, MESSAGES)
        assert received.numbers == set(range(MESSAGES))
        assert received.damaged == ()


@pytest.mark.parametrize("mode", [Mode.PERMISSIVE, Mode.ENFORCING])
def test_java_client_that_does_not_verify_is_admitted(
    servers: Mapping[Mode, NameServer], broker: JavaBroker, tls_client: JavaClient, mode: Mode
) -> None:
    """The enforcing server proves that the connection is TLS; the permissive one admits both."""
    tls_client.use_tls(UNVERIFIED)
    assert queues_seen(tls_client, servers[mode]) == all_queues(broker)


@pytest.mark.parametrize(
    ("mode", "connection"), [(Mode.ENFORCING, Connection.NAMELESS), (Mode.MUTUAL, Connection.KNOWN)]
)
def test_a_java_client_is_admitted(
    certificates: Certificates,
    servers: Mapping[Mode, NameServer],
    broker: JavaBroker,
    tls_client: JavaClient,
    mode: Mode,
    connection: Connection,
) -> None:
    tls_client.use_tls(certificates.java_client(connection))
    assert queues_seen(tls_client, servers[mode]) == all_queues(broker)


@pytest.mark.parametrize(
    ("mode", "connection"),
    [
        (Mode.DISABLED, Connection.NAMELESS),
        (Mode.ENFORCING, Connection.PLAIN),
        (Mode.MUTUAL, Connection.NAMELESS),
        (Mode.MUTUAL, Connection.FOREIGN),
    ],
)
def test_a_java_client_is_refused(
    certificates: Certificates,
    servers: Mapping[Mode, NameServer],
    broker: JavaBroker,
    client: JavaClient,
    tls_client: JavaClient,
    mode: Mode,
    connection: Connection,
) -> None:
    tls_client.use_tls(certificates.java_client(connection))
    asking = client if connection is Connection.PLAIN else tls_client
    with pytest.raises(AssertionError, match=UNREACHED):
        queues_seen(asking, servers[mode])


def test_a_java_client_refuses_a_server_it_does_not_trust(
    certificates: Certificates,
    servers: Mapping[Mode, NameServer],
    broker: JavaBroker,
    tls_client: JavaClient,
) -> None:
    """So in the tests above the client verified the certificate."""
    tls_client.use_tls(certificates.java_client(Connection.NAMELESS, trusted=certificates.stranger))
    with pytest.raises(AssertionError, match=UNREACHED):
        queues_seen(tls_client, servers[Mode.ENFORCING])


@pytest.mark.parametrize("mode", OPEN_TO_TLS)
def test_mqadmin_over_tls(
    certificates: Certificates,
    servers: Mapping[Mode, NameServer],
    broker: JavaBroker,
    tls_admin: MqAdmin,
    mode: Mode,
) -> None:
    tls_admin.use_tls(
        UNVERIFIED if mode is Mode.PERMISSIVE else certificates.java_client(Connection.KNOWN)
    )
    server = servers[mode]
    assert broker.address in tls_admin.run(server, "clusterList")
    assert broker.broker_name in tls_admin.run(server, "topicRoute", "-t", TOPIC)
    assert "success" in tls_admin.run(server, "updateKvConfig", "-s", "s", "-k", "k", "-v", "v")
    assert "listenPort" in tls_admin.run(server, "getNamesrvConfig")


def test_mqadmin_is_refused(
    certificates: Certificates,
    servers: Mapping[Mode, NameServer],
    admins: Callable[[str], MqAdmin],
    tls_admin: MqAdmin,
) -> None:
    tls_admin.use_tls(certificates.java_client(Connection.FOREIGN))
    for admin, mode in (
        (admins(REFERENCE), Mode.ENFORCING),
        (tls_admin, Mode.MUTUAL),
        (tls_admin, Mode.DISABLED),
    ):
        output = admin.run(servers[mode], "getNamesrvConfig")
        assert "listenPort" not in output
        assert re.search(r"Remoting\w+Exception", output)


def test_settings_may_be_in_a_file_of_their_own(
    certificates: Certificates, namesrv_kind: NameServerKind, folder: Callable[[str], Path]
) -> None:
    place = folder("own-file")
    own = write_properties(place / "own.properties", certificates.settings_for(Mode.ENFORCING))
    settings = {"tls.server.mode": "enforcing", "tls.config.file": str(own)}
    server = name_server(namesrv_kind, place, **settings)
    with certificates.server_at(Mode.ENFORCING, server):
        assert admits(server, client_context(trusted=certificates.authority))
        assert not admits(server, None)


def test_a_new_certificate_is_served_without_a_restart(
    namesrv_kind: NameServerKind, folder: Callable[[str], Path]
) -> None:
    """Later connections get it, as with Java, which checks the files every 0.5 s."""
    authority = Authority(folder("renewing"))
    shown = authority.identity("server").settings("server")
    settings = {"tls.test.mode.enable": "false", **shown}
    with name_server(namesrv_kind, folder("renewed"), **settings) as server:
        before = certificate(server)
        authority.identity("server")
        wait_until(lambda: certificate(server) != before, "it is served", SEEN_SECONDS)


def certificate(server: NameServer) -> str:
    """The certificate that the server presents."""
    return ssl.get_server_certificate(("127.0.0.1", int(server.address.rpartition(":")[2])))
