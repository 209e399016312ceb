"""A report of Spark becomes rows, phases, lag and losses, whatever sources the query has."""

from __future__ import annotations

import json
from typing import Any

from gantrymq.spark.metrics.progress import read_progress
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.stream_offset import StreamOffset

ORDERS_0 = QueueKey("orders", "broker-a", 0)
ORDERS_1 = QueueKey("orders", "broker-b", 1)


def report(*sources: dict[str, Any], **more: Any) -> dict[str, Any]:  # Any: a value of JSON
    return {"id": "0a1b", "name": None, "numInputRows": 7, "sources": list(sources), **more}


def source(end: StreamOffset, latest: StreamOffset) -> dict[str, Any]:
    return {"endOffset": end.to_json(), "latestOffset": latest.to_json()}


def test_lag_is_the_distance_of_each_queue_to_its_end() -> None:
    end = StreamOffset({ORDERS_0: 10, ORDERS_1: 5})
    latest = StreamOffset({ORDERS_0: 13, ORDERS_1: 5})
    assert read_progress(report(source(end, latest))).lag == {ORDERS_0: 3, ORDERS_1: 0}


def test_a_queue_that_was_truncated_has_no_negative_lag() -> None:
    progress = read_progress(
        report(source(StreamOffset({ORDERS_0: 10}), StreamOffset({ORDERS_0: 8})))
    )
    assert progress.lag == {ORDERS_0: 0}


def test_offsets_that_are_given_as_text_are_read() -> None:
    end, latest = StreamOffset({ORDERS_0: 1}), StreamOffset({ORDERS_0: 4})
    texts = {"endOffset": json.dumps(end.to_json()), "latestOffset": json.dumps(latest.to_json())}
    assert read_progress(report(texts)).lag == {ORDERS_0: 3}


def test_losses_of_all_sources_are_added_up() -> None:
    first = source(StreamOffset({ORDERS_0: 1}, lost=4), StreamOffset({ORDERS_0: 1}))
    second = source(StreamOffset({ORDERS_1: 1}, lost=2), StreamOffset({ORDERS_1: 1}))
    assert read_progress(report(first, second)).lost == 6


def test_sources_of_other_formats_give_rows_and_no_lag() -> None:
    others: list[dict[str, Any]] = [
        {"endOffset": 7, "latestOffset": 9},
        {"endOffset": None, "latestOffset": None},
        {"endOffset": {"orders": {"0": 3}}, "latestOffset": {"orders": {"0": 5}}},
        {"endOffset": "none", "latestOffset": "[]"},
        {},
    ]
    progress = read_progress(report(*others))
    assert (progress.lag, progress.lost, progress.rows) == ({}, 0, 7)


def test_a_query_is_called_by_its_name_and_else_by_its_id() -> None:
    assert read_progress(report(name="billing")).query == "billing"
    assert read_progress(report()).query == "0a1b"


def test_phases_are_seconds_and_rates_that_are_no_numbers_are_zero() -> None:
    progress = read_progress(
        report(
            durationMs={"addBatch": 250},
            inputRowsPerSecond=float("nan"),
            processedRowsPerSecond=28.0,
        )
    )
    assert progress.phase_seconds == {"addBatch": 0.25}
    assert (progress.input_rows_per_second, progress.processed_rows_per_second) == (0.0, 28.0)
