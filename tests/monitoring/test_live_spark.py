"""A real Prometheus watches a real Spark driver: alerts of its streaming queries fire and end.

MONITORING_LONG=1 runs them: a JVM takes a quarter of a minute to start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gantrymq.interop.child import Child
from gantrymq.interop.ports import free_port
from gantrymq.monitoring.clients import TESTS, client
from gantrymq.monitoring.firing import (
    assert_quiet,
    quick_rules,
    wait_until_firing,
    wait_until_over,
)
from gantrymq.monitoring.server import Prometheus
from gantrymq.spark_cases.topics import TopicOfTest, expire, expiring_server
from gantrymq.testing.server import StandaloneServer

pytestmark = [pytest.mark.timeout(480), pytest.mark.long_monitoring]

DRIVER_SECONDS = 120.0
# On a busy machine the first micro-batch of a query takes a minute: Spark starts its workers.
FIRE_SECONDS = 240.0
# The lag of a query changes once a micro-batch, which takes seconds: ranges must be longer.
DIVISORS = {"GantrySparkLagGrowing": 20}
MESSAGE_BYTES = 1000
MESSAGES = 200


@dataclass(frozen=True)
class Spark:
    """The RocketMQ server, and the process of the Spark driver."""

    server: StandaloneServer
    driver: Child
    target: str

    def tell(self, word: str) -> None:
        """Send the driver a word, and wait until it has carried it out."""
        self.driver.input.write(word.encode() + b"\n")
        self.driver.input.flush()
        assert self.driver.output.readline() == b"done\n", self.driver.report()


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Spark]:
    port = free_port()
    folder = tmp_path_factory.mktemp("driver")
    with expiring_server(tmp_path_factory.mktemp("server")) as server:
        module = [sys.executable, "-m", "gantrymq.monitoring.spark_driver"]
        command = [*module, server.name_servers, str(port), str(folder)]
        paths = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
        driver = Child("driver", command, folder, {"PYTHONPATH": paths}, piped=True)
        try:
            assert driver.output.readline() == b"done\n", driver.report()
            yield Spark(server, driver, f"127.0.0.1:{port}")
        finally:
            driver.kill()


@pytest.fixture(scope="module")
def prometheus(spark: Spark, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with Prometheus(folder, {"spark": [spark.target]}, quick_rules(DIVISORS)) as running:
        running.wait_for("up == 1", DRIVER_SECONDS)
        yield running


def test_a_query_whose_code_fails(spark: Spark, prometheus: Prometheus) -> None:
    assert_quiet(prometheus, "GantrySparkQueryFailed")
    spark.tell("fail")
    wait_until_firing(prometheus, "GantrySparkQueryFailed")
    wait_until_over(prometheus, "GantrySparkQueryFailed")


def test_a_query_that_hangs(spark: Spark, prometheus: Prometheus) -> None:
    assert_quiet(prometheus, "GantrySparkQueryStalled")
    TopicOfTest(spark.server, queues=1, name="stalling").send(5)
    spark.tell("stall")
    wait_until_firing(prometheus, "GantrySparkQueryStalled", seconds=FIRE_SECONDS)
    spark.tell("unstall")
    wait_until_over(prometheus, "GantrySparkQueryStalled")


def test_messages_that_are_deleted_before_a_query_reads_them(
    spark: Spark, prometheus: Prometheus, tmp_path: Path
) -> None:
    assert_quiet(prometheus, "GantrySparkDataLoss")
    topic = TopicOfTest(spark.server, queues=1, name="lossy")
    topic.send(5)
    spark.tell("read")
    topic.send(MESSAGES, size=MESSAGE_BYTES)
    expire(topic, spark.server)
    spark.tell("again")
    wait_until_firing(prometheus, "GantrySparkDataLoss")
    wait_until_over(prometheus, "GantrySparkDataLoss")


def test_a_query_that_takes_less_than_arrives(
    spark: Spark, prometheus: Prometheus, tmp_path: Path
) -> None:
    """This test comes last, since the broker would take long to delete its messages for another."""
    assert_quiet(prometheus, "GantrySparkLagGrowing")
    topic = TopicOfTest(spark.server, queues=1, name="behind")
    with client("flood", spark.server.name_servers, tmp_path, topic.name):
        spark.tell("behind")
        wait_until_firing(prometheus, "GantrySparkLagGrowing", seconds=FIRE_SECONDS)
    spark.tell("catch-up")
    wait_until_over(prometheus, "GantrySparkLagGrowing")
