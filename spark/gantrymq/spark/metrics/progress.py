"""Reads Spark's report of a micro-batch: rows, phases, and the lag of each queue.

The lag of a queue is the number of messages between the end of the micro-batch and the end of the
queue, as the source knew it at the end of the micro-batch.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, final

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.source.stream_offset import StreamOffset, StreamOffsetError

MILLISECONDS: Final = 1000.0


@final
@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One micro-batch of one query."""

    query: str
    rows: int
    input_rows_per_second: float
    processed_rows_per_second: float
    phase_seconds: Mapping[str, float]
    """The time of each of Spark's phases (addBatch, walCommit, ...). `triggerExecution` is the
    total."""
    lag: Mapping[QueueKey, int]
    lost: int
    """The number of lost messages that the query has skipped since its checkpoint was created."""


def query_label(query_id: str, name: str | None) -> str:
    """Return the label of a query: its name if it has one, else the id of its checkpoint."""
    return name or query_id


def read_progress(report: Mapping[str, Any]) -> BatchProgress:  # Any: a value of JSON
    """What `StreamingQueryProgress.json` says; sources of other formats count by their rows."""
    lag: dict[QueueKey, int] = {}
    lost = 0
    for end, latest in _offsets(report.get("sources", [])):
        lost += end.lost
        for queue, last in latest.positions.items():
            lag[queue] = max(0, last - end.positions.get(queue, last))
    durations = report.get("durationMs") or {}
    return BatchProgress(
        query=query_label(report["id"], report.get("name")),
        rows=int(report.get("numInputRows") or 0),
        input_rows_per_second=_rate(report, "inputRowsPerSecond"),
        processed_rows_per_second=_rate(report, "processedRowsPerSecond"),
        phase_seconds={phase: took / MILLISECONDS for phase, took in durations.items()},
        lag=lag,
        lost=lost,
    )


def _offsets(sources: list[dict[str, Any]]) -> Iterator[tuple[StreamOffset, StreamOffset]]:
    """(end of the micro-batch, ends of the queues) of each source of this format."""
    for source in sources:
        try:
            end = StreamOffset.from_json(_json_object(source.get("endOffset")))
            yield end, StreamOffset.from_json(_json_object(source.get("latestOffset")))
        except StreamOffsetError:
            continue  # a source of another format


def _json_object(value: object) -> dict[str, Any]:
    """Return an offset, which Spark reports as an object or as its text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _rate(report: Mapping[str, Any], name: str) -> float:
    """Return a rate. Spark reports no number, or NaN, if no time has passed."""
    value = float(report.get(name) or 0.0)
    return value if math.isfinite(value) else 0.0
