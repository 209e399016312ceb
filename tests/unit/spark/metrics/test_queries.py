"""What Prometheus is shown of queries adds up over micro-batches and runs, and stays bounded."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client.registry import CollectorRegistry

from gantrymq.spark.metrics.progress import BatchProgress
from gantrymq.spark.metrics.queries import (
    OTHER_TOPICS,
    QUERIES_MAX,
    QUEUES_MAX,
    TOPICS_MAX,
    StreamingQueries,
    topic_lags,
)
from gantrymq.spark.options.assignment import QueueKey

NO_LAG: Mapping[QueueKey, int] = {}


def progress(
    query: str = "billing", rows: int = 10, lag: Mapping[QueueKey, int] = NO_LAG, lost: int = 0
) -> BatchProgress:
    return BatchProgress(query, rows, 5.0, 20.0, {"addBatch": 0.5}, lag, lost)


def shown(queries: StreamingQueries, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(queries)
    return registry.get_sample_value(f"gantry_spark_{name}", {"query": "billing", **labels})


def test_micro_batches_are_summed_and_the_last_one_is_shown_too() -> None:
    queries = StreamingQueries()
    queries.started("billing")
    queries.advanced(progress(rows=10), now=100.0)
    queries.advanced(progress(rows=4), now=160.0)
    assert shown(queries, "rows_total") == 14
    assert shown(queries, "batches_total") == 2
    assert shown(queries, "batch_phase_seconds_total", phase="addBatch") == 1.0
    assert shown(queries, "last_batch_phase_seconds", phase="addBatch") == 0.5
    assert shown(queries, "last_commit_timestamp_seconds") == 160.0
    assert shown(queries, "input_rows_per_second") == 5.0
    assert shown(queries, "processed_rows_per_second") == 20.0


def test_a_run_that_fails_is_counted_and_the_next_run_goes_on_counting() -> None:
    queries = StreamingQueries()
    queries.started("billing")
    queries.advanced(progress(), now=1.0)
    queries.ended("billing", is_failed=True)
    assert shown(queries, "query_active") == 0
    assert shown(queries, "query_failures_total") == 1
    queries.started("billing")
    queries.advanced(progress(), now=2.0)
    queries.ended("billing", is_failed=False)
    assert shown(queries, "query_failures_total") == 1
    assert shown(queries, "rows_total") == 20


def test_a_query_without_a_micro_batch_shows_no_batch_time() -> None:
    queries = StreamingQueries()
    queries.started("billing")
    assert shown(queries, "query_active") == 1
    assert shown(queries, "last_commit_timestamp_seconds") is None


def test_lag_is_shown_by_topic_and_by_queue() -> None:
    queries = StreamingQueries()
    lag = {QueueKey("orders", "broker-a", 0): 3, QueueKey("orders", "broker-b", 1): 4}
    queries.advanced(progress(lag=lag, lost=9), now=1.0)
    assert shown(queries, "topic_lag", topic="orders") == 7
    assert shown(queries, "queue_lag", topic="orders", broker="broker-b", queue="1") == 4
    assert shown(queries, "data_loss_total") == 9


def test_a_query_with_very_many_queues_is_shown_by_topic_only() -> None:
    queries = StreamingQueries()
    lag = {QueueKey("orders", "broker-a", number): 1 for number in range(QUEUES_MAX + 1)}
    queries.advanced(progress(lag=lag), now=1.0)
    assert shown(queries, "topic_lag", topic="orders") == QUEUES_MAX + 1
    assert shown(queries, "queue_lag", topic="orders", broker="broker-a", queue="0") is None


def test_topics_beyond_the_bound_are_added_up() -> None:
    lag = {QueueKey(f"topic-{number:04}", "a", 0): 1 for number in range(TOPICS_MAX + 3)}
    sums = topic_lags(lag)
    assert len(sums) == TOPICS_MAX + 1
    assert sums[OTHER_TOPICS] == 3


def test_the_oldest_query_that_ended_makes_room_for_a_new_one() -> None:
    queries = StreamingQueries()
    queries.started("billing")
    for number in range(QUERIES_MAX - 1):
        queries.started(f"query-{number}")
    queries.ended("query-5", is_failed=False)
    queries.started("one more")
    assert shown(queries, "query_active") == 1
    assert shown(queries, "query_active", query="query-5") is None
    assert shown(queries, "query_active", query="one more") == 1
