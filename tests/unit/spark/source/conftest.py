"""Topics for the tests of readers."""

from __future__ import annotations

import pytest

from gantrymq.spark_cases.topics import TopicOfTest
from gantrymq.testing.server import StandaloneServer


@pytest.fixture
def topic(gantry_server: StandaloneServer) -> TopicOfTest:
    """A new topic of four queues on the run's own server."""
    return TopicOfTest(gantry_server)
