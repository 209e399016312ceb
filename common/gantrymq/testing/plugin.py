"""pytest's plugin `gantrymq`: brokers for tests, by fixture.

    gantry_broker    an EmbeddedBroker: the real broker in the test's process, in virtual time
    gantry_topic     makes topics of it: gantry_topic(), gantry_topic("orders", queues=8)
    gantry_server    a StandaloneServer: the real thing on free ports of loopback, one for the
                     whole run, for clients of any kind

pytest finds it by its entry point. Invariant: a run that asks for none of these fixtures loads
nothing of Gantry but this module.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

import pytest

if TYPE_CHECKING:
    from gantrymq.testing.embedded import EmbeddedBroker
    from gantrymq.testing.server import StandaloneServer

QUEUES: Final = 4


class MakeTopic(Protocol):
    """What `gantry_topic` gives."""

    def __call__(self, topic: str = "", *, queues: int = QUEUES, attributes: str = "") -> str:
        """Its name: a new one, unless one is given."""


@pytest.fixture
def gantry_broker() -> EmbeddedBroker:
    """A broker of this test alone; nothing of it is left afterwards."""
    from gantrymq.testing.embedded import EmbeddedBroker  # noqa: PLC0415 - only who asks pays

    return EmbeddedBroker()


@pytest.fixture
def gantry_topic(gantry_broker: EmbeddedBroker) -> MakeTopic:
    """Makes topics of `gantry_broker`."""
    numbers = itertools.count(1)

    def make(topic: str = "", *, queues: int = QUEUES, attributes: str = "") -> str:
        name = topic or f"topic-{next(numbers)}"
        return gantry_broker.create_topic(name, queues=queues, attributes=attributes)

    return make


@pytest.fixture(scope="session")
def gantry_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneServer]:
    """Tests share it: each takes topics and groups of its own."""
    from gantrymq.testing.server import StandaloneServer  # noqa: PLC0415 - as above

    with StandaloneServer(tmp_path_factory.mktemp("gantry")) as server:
        yield server
