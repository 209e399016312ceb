"""Topics for the tests of readers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gantrymq.spark_cases.topics import TopicOfTest, expiring_server
from gantrymq.testing.server import StandaloneServer


@pytest.fixture
def topic(gantry_server: StandaloneServer) -> TopicOfTest:
    """A new topic of four queues on the run's own server."""
    return TopicOfTest(gantry_server)


@pytest.fixture(scope="module")
def small_files_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneServer]:
    """A server that deletes old messages when it is told to."""
    with expiring_server(tmp_path_factory.mktemp("small-files")) as server:
        yield server
