"""Plays scenarios with several clients against one broker, many of them at once."""

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from gantrymq.interop.broker_kinds import BrokerKind
from gantrymq.interop.client_kinds import ClientKind
from gantrymq.interop.clients.clients import Client
from gantrymq.interop.clients.scenarios.scenario import Scenario
from gantrymq.interop.clients.stage import Stage
from gantrymq.interop.servers import Broker

AT_ONCE = 16  # most of a scenario is waiting

_names = iter("abcdefgh")  # several Plays may use one broker


def known_failure(broker: BrokerKind, client: ClientKind, scenario: Scenario) -> str | None:
    """Why this play must fail; None when it must succeed."""
    of_broker = client.java_fails if broker is BrokerKind.JAVA else {}
    return client.broken.get(scenario.feature) or of_broker.get(scenario.feature)


class Plays:
    """The clients, and the outcome of each scenario with each of them at one broker."""

    def __init__(
        self,
        kind: BrokerKind,
        broker: Broker,
        folder: Callable[[str], Path],
        chosen: Iterable[tuple[ClientKind, Scenario]],
    ) -> None:
        self._broker = broker
        self._folder = folder
        self._chosen = list(chosen)
        self._name = next(_names)
        self._running = ExitStack()
        self.broker_kind = kind
        self._outcomes: dict[tuple[str, str], Future[None]] = {}

    def outcome(self, kind: ClientKind, scenario: Scenario) -> None:
        """Wait for the end of that play; what it raised is raised here."""
        self._outcomes[kind.name, scenario.feature].result()

    def __enter__(self) -> Self:
        with ExitStack() as starting:
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
                    _play, scenario, client, self._broker, f"{self._name}{number}"
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


def _play(scenario: Scenario, client: Client, broker: Broker, name: str) -> None:
    with Stage(client, broker, name) as stage:
        scenario.play(stage)
