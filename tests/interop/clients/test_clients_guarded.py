"""Tests unmodified clients at Gantry's broker with users, policies and TLS.

What users may do works, and all else is refused. Java's client and Gantry's use TLS, which the
servers require. Those for Go and Node.js have no TLS: for them the same servers accept plain
connections as well.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.interop.admin import users
from gantrymq.interop.authority import Authority, client_context
from gantrymq.interop.broker_kinds import SETTINGS
from gantrymq.interop.client_kinds import JAVA, KINDS, OWN, ClientKind
from gantrymq.interop.clients.clients import Client, ClientError
from gantrymq.interop.clients.scenarios.catalogue import SCENARIOS
from gantrymq.interop.clients.scenarios.scenario import Scenario
from gantrymq.interop.clients.stage import Message, Stage
from gantrymq.interop.servers import (
    Broker,
    gantry_broker,
    gantry_name_server,
    write_properties,
)
from gantrymq.interop.wire import Request

pytestmark = [pytest.mark.interop, pytest.mark.timeout(180)]

GET_MAX_OFFSET = 30
BY_TLS = (JAVA, OWN)
PLAINLY = tuple(kind for kind in KINDS if kind.name.startswith(("Go", "Node.js")))
FEATURES = (
    "send and wait",
    "choose the queue; orderly consumption",
    "transactions: commit and roll back",
)
PLAYED = [each for each in SCENARIOS if each.feature in FEATURES]
PAIRS = [
    (kind, scenario)
    for kind in (*BY_TLS, *PLAINLY)
    for scenario in PLAYED
    if not scenario.needs & kind.lacks.keys()
]
STRANGERS = {
    "a wrong secret": {"account": "orders", "secret": "not-its-secret"},
    "a user that is not there": {"account": "absent", "secret": users.SECRETS["orders"]},
    "no signature": {},
    "a user that may only receive": {"account": "reader", "secret": users.SECRETS["reader"]},
}


@dataclass(frozen=True, slots=True)
class Guarded:
    """A broker with users, and the clients that were started for it."""

    broker: Broker
    authority: Authority
    running: ExitStack
    folder: Callable[[str], Path]
    clients: dict[str, Client]

    def stage(self, kind: ClientKind, name: str, account: Mapping[str, object]) -> Stage:
        """A stage for one client with this account."""
        tls = {"tls": True, "trust": str(self.authority.trust_path)} if kind in BY_TLS else {}
        client = self.clients.get(kind.name)
        if client is None:
            folder = self.folder("client")
            client = self.running.enter_context(Client(kind.name, folder, kind.command))
            # The client reads it when its first object is created.
            write_properties(folder / "tls.properties", trusting(self.authority))
            self.clients[kind.name] = client
        return Stage(client, self.broker, name, {**tls, **account})


def trusting(authority: Authority) -> dict[str, str]:
    """The settings that make Java's end of a connection verify the other's certificate."""
    return {
        "tls.test.mode.enable": "false",
        "tls.client.authServer": "true",
        "tls.client.trustCertPath": str(authority.trust_path),
    }


@contextmanager
def guarded(folder: Callable[[str], Path], mode: str) -> Iterator[Guarded]:
    """Servers whose ports are in this TLS mode, with two users."""
    authority = Authority(folder("authority"))
    tls = {
        "tls.server.mode": mode,
        **trusting(authority),
        **authority.identity("servers").settings("server"),
    }
    with ExitStack() as started:
        names = gantry_name_server(folder("namesrv"), tls)
        names.tls = client_context(authority)
        started.enter_context(names)
        settings = {**SETTINGS, **users.SETTINGS, **tls, "useTLS": "true"}
        broker = gantry_broker(folder("broker"), [names], settings)
        broker.tls, broker.sign = names.tls, users.signer(users.ROOT)
        started.enter_context(broker)
        users.create(broker, "orders", {"Topic:*": ["Pub", "Sub"], "Group:*": ["Sub"]})
        users.create(broker, "reader", {"Topic:*": ["Sub"], "Group:*": ["Sub"]})
        yield Guarded(broker, authority, started, folder, {})


@pytest.fixture(scope="module")
def by_tls(folder: Callable[[str], Path]) -> Iterator[Guarded]:
    """Servers that require TLS."""
    with guarded(folder, "enforcing") as place:
        yield place


@pytest.fixture(scope="module")
def plainly(folder: Callable[[str], Path]) -> Iterator[Guarded]:
    """The same servers for clients without TLS."""
    with guarded(folder, "permissive") as place:
        yield place


@pytest.fixture
def place(request: pytest.FixtureRequest, kind: ClientKind) -> Guarded:
    """The servers for this client."""
    found: Guarded = request.getfixturevalue("by_tls" if kind in BY_TLS else "plainly")
    return found


@pytest.mark.parametrize(
    ("kind", "scenario"), PAIRS, ids=[f"{kind.name}: {each.feature}" for kind, each in PAIRS]
)
def test_user_does_what_its_policies_allow(
    place: Guarded, kind: ClientKind, scenario: Scenario
) -> None:
    account = {"account": "orders", "secret": users.SECRETS["orders"]}
    with place.stage(kind, f"{PLAYED.index(scenario)}-{kind.name[:2]}", account) as stage:
        scenario.play(stage)


@pytest.mark.parametrize("kind", [*BY_TLS, *PLAINLY], ids=lambda kind: kind.name)
@pytest.mark.parametrize("stranger", STRANGERS)
def test_all_others_are_refused(place: Guarded, kind: ClientKind, stranger: str) -> None:
    name = f"{[*STRANGERS].index(stranger)}-{kind.name[:2]}"
    with place.stage(kind, f"refused-{name}", STRANGERS[stranger]) as stage:
        topic = stage.topic(queues=1)
        producer = stage.producer()
        with pytest.raises(ClientError):
            producer.send([Message(topic, "let me in")])
        stored = place.broker.ask(Request(GET_MAX_OFFSET, {"topic": topic, "queueId": "0"}))
        assert (stored.ext or {})["offset"] == "0"
        with suppress(ClientError):  # Node.js reports that its unregistration was refused as well
            producer.stop()


def test_client_without_tls_is_refused(by_tls: Guarded) -> None:
    account = {"account": "orders", "secret": users.SECRETS["orders"], "tls": False}
    with by_tls.stage(OWN, "without-tls", account) as stage:
        topic = stage.topic(queues=1)
        with pytest.raises(ClientError):
            stage.producer().send([Message(topic, "let me in, in the clear")])
