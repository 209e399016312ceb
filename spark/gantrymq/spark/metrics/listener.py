"""Listens to the streaming queries of a session, and passes their reports to the metrics."""

from __future__ import annotations

import json
import time
from typing import final

from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from gantrymq.spark.metrics.progress import query_label, read_progress
from gantrymq.spark.metrics.queries import StreamingQueries


@final
class MetricsListener(StreamingQueryListener):
    """Spark calls it from one thread, also for queries that other threads start."""

    def __init__(self, queries: StreamingQueries) -> None:
        self._queries = queries
        self._labels: dict[str, str] = {}  # of the runs that are active; the end names none

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        label = query_label(str(event.id), event.name)
        self._labels[str(event.runId)] = label
        self._queries.started(label)

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        self._queries.advanced(read_progress(json.loads(event.progress.json)), time.time())

    def onQueryIdle(self, event: QueryIdleEvent) -> None:
        """Do nothing: the figures of the last micro-batch are still valid."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        label = self._labels.pop(str(event.runId), str(event.id))
        self._queries.ended(label, is_failed=event.exception is not None)
