"""Runs a streaming query of a job until its input is done, it fails, or the job is asked to end.

`StreamingQuery.stop()` aborts the current micro-batch. To end after it, every micro-batch passes a
BatchGate: once the gate is closed, the next micro-batch is refused before it does anything, and the
next run reads its offsets again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final, final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from gantrymq.spark.jobs.ending import Ending

POLL_SECONDS: Final = 1  # how long SIGTERM may go unnoticed
# Spark writes its commit log after the batch function returns. The next run writes a batch again
# that is missing there, and finds it done; so the wait may be bounded.
RECORD_SECONDS: Final = 10.0


class GateClosedError(Exception):
    """A micro-batch began after the job was asked to end."""


@final
class BatchGate:
    """The function of `foreachBatch`: lets one micro-batch at a time through, until it is closed.

    Spark calls it in a thread of its own.
    """

    def __init__(self, write: Callable[[DataFrame, int], None]) -> None:
        self._write = write
        self._lock = threading.Lock()
        self._is_closed = False
        self.last_batch = -1

    def __call__(self, rows: DataFrame, batch_id: int) -> None:
        with self._lock:
            if self._is_closed:
                raise GateClosedError("the job was asked to end; the next run takes this batch")
            self._write(rows, batch_id)
            self.last_batch = batch_id

    def close(self) -> None:
        """Close the gate, and wait for the current micro-batch."""
        with self._lock:
            self._is_closed = True


def run_to_end(query: StreamingQuery, gate: BatchGate, ending: Ending) -> None:
    """Run the query to its end. Raises PySparkException if it fails."""
    while ending.exit_code is None:
        if query.awaitTermination(POLL_SECONDS):
            return
    gate.close()
    gives_up_at = time.monotonic() + RECORD_SECONDS
    while _last_recorded(query) < gate.last_batch and time.monotonic() < gives_up_at:
        try:
            if query.awaitTermination(POLL_SECONDS):
                return
        except PySparkException:
            return  # the gate refused a batch, which was the aim; what was done before is recorded
    query.stop()


def _last_recorded(query: StreamingQuery) -> int:
    """Return the last micro-batch that Spark reported, which it does after writing its commit
    log."""
    progress = query.lastProgress
    return -1 if progress is None else int(progress["batchId"])
