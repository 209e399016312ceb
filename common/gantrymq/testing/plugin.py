"""Provides the pytest plugin `gantrymq`: fixtures with brokers for tests.

    gantry_broker    an EmbeddedBroker: the real broker in the test's process, in virtual time
    gantry_topic     creates topics of it: gantry_topic(), gantry_topic("orders", queues=8)
    gantry_server    a StandaloneServer: a real server on free ports of the loopback address, one
                     for the whole run, for clients of any kind

pytest finds the plugin by its entry point. Invariant: a run that uses none of these fixtures loads
only this module of Gantry.
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
    """The value of the fixture `gantry_topic`."""

    def __call__(self, topic: str = "", *, queues: int = QUEUES, attributes: str = "") -> str:
        """Create a topic, with a new name unless one is given; returns the name."""


@pytest.fixture
def gantry_broker() -> EmbeddedBroker:
    """A broker for this test alone; nothing of it remains afterwards."""
    from gantrymq.testing.embedded import EmbeddedBroker  # noqa: PLC0415 - only tests that use it pay

    return EmbeddedBroker()


@pytest.fixture
def gantry_topic(gantry_broker: EmbeddedBroker) -> MakeTopic:
    """Creates topics in `gantry_broker`."""
    numbers = itertools.count(1)

    def make(topic: str = "", *, queues: int = QUEUES, attributes: str = "") -> str:
        name = topic or f"topic-{next(numbers)}"
        return gantry_broker.create_topic(name, queues=queues, attributes=attributes)

    return make


@pytest.fixture(scope="session")
def gantry_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneServer]:
    """A server that all tests share: each test uses topics and groups of its own."""
    from gantrymq.testing.server import StandaloneServer  # noqa: PLC0415 - as above

    with StandaloneServer(tmp_path_factory.mktemp("gantry")) as server:
        yield server
