"""The metrics of real streaming queries, as a scrape sees them."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from pyspark.sql import SparkSession

from gantrymq.spark.metrics import MetricsEndpoint, serve

WAIT_SECONDS = 60.0  # Spark tells its listeners when it has the time to

pytestmark = pytest.mark.newest_spark

Samples = dict[tuple[str, str], float]


@pytest.fixture
def endpoint(spark: SparkSession) -> Iterator[MetricsEndpoint]:
    served = serve(spark, port=0, address="127.0.0.1")
    yield served
    served.stop()


def scrape(endpoint: MetricsEndpoint) -> Samples:
    """{(name, query): value}; of samples with more labels, the last."""
    with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/metrics") as answer:
        families = list(text_string_to_metric_families(answer.read().decode()))
    return {
        (sample.name, sample.labels.get("query", "")): sample.value
        for family in families
        for sample in family.samples
    }


def wait_for(endpoint: MetricsEndpoint, holds: Callable[[Samples], bool]) -> Samples:
    gives_up_at = time.monotonic() + WAIT_SECONDS
    while not holds(samples := scrape(endpoint)):
        assert time.monotonic() < gives_up_at, samples
        time.sleep(0.05)
    return samples


def test_a_query_is_shown_while_it_runs_and_after_it(
    spark: SparkSession, endpoint: MetricsEndpoint, tmp_path: Path
) -> None:
    began = time.time()
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    query = (
        rows.writeStream.format("noop")
        .queryName("shown")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    seen = wait_for(
        endpoint, lambda all_of: all_of.get(("gantry_spark_rows_total", "shown"), 0) >= 5
    )
    assert seen["gantry_spark_query_active", "shown"] == 1
    assert seen["gantry_spark_last_commit_timestamp_seconds", "shown"] >= began
    assert seen["gantry_spark_batches_total", "shown"] >= 1
    query.stop()
    ended = wait_for(endpoint, lambda all_of: all_of["gantry_spark_query_active", "shown"] == 0)
    assert ended["gantry_spark_query_failures_total", "shown"] == 0


def test_a_query_that_fails_is_counted(
    spark: SparkSession, endpoint: MetricsEndpoint, tmp_path: Path
) -> None:
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 5).load()
    query = (
        rows.selectExpr("raise_error('on purpose')")
        .writeStream.format("noop")
        .queryName("broken")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    failures = ("gantry_spark_query_failures_total", "broken")
    wait_for(endpoint, lambda all_of: all_of.get(failures, 0) == 1)
    assert query.exception() is not None
