"""Plays scenarios with several clients against one broker, many of them at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Self

from gantrymq.interop.client_kinds import ClientKind
from gantrymq.interop.clients import Client
from gantrymq.interop.scenario import SETTINGS, Scenario
from gantrymq.interop.servers import (
    Broker,
    JavaBroker,
    gantry_broker,
    gantry_name_server,
    java_name_server,
)
from gantrymq.interop.stage import Stage

JAVA_VERSION = "5.3.3"
AT_ONCE = 16  # most of a scenario is waiting


class BrokerKind(Enum):
    """Which program plays the broker, and the name server beside it."""

    GANTRY = "gantry"
    JAVA = "java"


def known_failure(broker: BrokerKind, client: ClientKind, scenario: Scenario) -> str | None:
    """Why this play must fail; None when it must succeed."""
    of_broker = client.java_fails if broker is BrokerKind.JAVA else {}
    return client.broken.get(scenario.feature) or of_broker.get(scenario.feature)


class Plays:
    """A broker, the clients, and the outcome of each scenario with each client."""

    def __init__(
        self,
        kind: BrokerKind,
        folder: Callable[[str], Path],
        chosen: Iterable[tuple[ClientKind, Scenario]],
    ) -> None:
        self._folder = folder
        self._chosen = list(chosen)
        self._running = ExitStack()
        self.broker_kind = kind
        self._outcomes: dict[tuple[str, str], Future[None]] = {}

    def outcome(self, kind: ClientKind, scenario: Scenario) -> None:
        """Wait for the end of that play; what it raised is raised here."""
        self._outcomes[kind.name, scenario.feature].result()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
            broker = starting.enter_context(self._broker(starting))
            names = {kind.name: kind for kind, _ in self._chosen}
            clients = {
                name: starting.enter_context(Client(name, self._folder("client"), kind.command))
                for name, kind in names.items()
            }
            hands = ThreadPoolExecutor(AT_ONCE)
            starting.callback(hands.shutdown, cancel_futures=True)
            for number, (kind, scenario) in enumerate(self._chosen):
                client = clients[kind.name]
                self._outcomes[kind.name, scenario.feature] = hands.submit(
                    _play, scenario, client, broker, str(number)
                )
            self._running = starting.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._running.close()

    def _broker(self, starting: ExitStack) -> Broker:
        at, for_broker = self._folder("namesrv"), self._folder("broker")
        if self.broker_kind is BrokerKind.JAVA:
            server = starting.enter_context(java_name_server(JAVA_VERSION, at))
            return JavaBroker(JAVA_VERSION, for_broker, [server], SETTINGS)
        server = starting.enter_context(gantry_name_server(at))
        return gantry_broker(for_broker, [server], SETTINGS)


def _play(scenario: Scenario, client: Client, broker: Broker, name: str) -> None:
    with Stage(client, broker, name) as stage:
        scenario.play(stage)
