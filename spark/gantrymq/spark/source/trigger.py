"""Decides where the next micro-batch of a stream ends."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Final, final

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.read_options import StreamOptions
from gantrymq.spark.source.planning.data_loss import DataLossError
from gantrymq.spark.source.planning.limits import must_wait, rows_allowed
from gantrymq.spark.source.planning.micro_batch import Pending, pending
from gantrymq.spark.source.stream_offset import StreamOffset
from gantrymq.spark.source.stream_watch import StreamWatch, View

log: Final = logging.getLogger("gantrymq.spark")


@final
class Trigger:
    """Plans the micro-batches of one stream, in the process that Spark keeps for it."""

    def __init__(self, options: StreamOptions, watch: StreamWatch) -> None:
        self._options = options
        self._watch = watch
        self._target: Mapping[QueueKey, int] | None = None
        self._planned_at = time.monotonic()

    def freeze(self) -> None:
        """Read only the messages that exist now, for Trigger.AvailableNow."""
        bounds = self._watch.refreshed().bounds
        self._target = {queue: has.end for queue, has in bounds.items()}

    def next_end(self, start: StreamOffset, *, is_limited: bool) -> StreamOffset:
        """Return the end of the next micro-batch; `start` itself if there is none now.

        Raises DataLossError.
        """
        self._watch.done(start.positions)
        waiting = self._waiting(start)
        if waiting.losses:
            self._note(waiting)
        end = waiting.end(self._rows(waiting, is_limited=is_limited))
        if end is not start:
            self._planned_at = time.monotonic()
        elif self._target is not None:
            self._watch.store_progress()  # the last question before Spark ends the process
        return end

    def _waiting(self, start: StreamOffset) -> Pending:
        if self._target is not None:
            return pending(start, self._watch.view.bounds, self._target)

        def has_news(view: View) -> bool:
            return pending(start, view.bounds).end(1) is not start

        view = self._watch.wait_until(has_news, self._options.poll_wait_s)
        return pending(start, view.bounds)

    def _note(self, waiting: Pending) -> None:
        if self._options.read.fail_on_data_loss:
            raise DataLossError(waiting.losses)
        for loss in waiting.losses:
            log.warning("skipping lost messages loss=%s", loss)

    def _rows(self, waiting: Pending, *, is_limited: bool) -> int:
        """Return how many messages the micro-batch takes; 0 if it waits for more."""
        limits = self._options.limits
        if not is_limited:
            return waiting.waiting
        waited_s = time.monotonic() - self._planned_at
        if self._target is None and must_wait(waiting.waiting, limits, waited_s):
            self._watch.wait_for_more()
            return 0
        if limits.bytes_max is None or not waiting.waiting:
            return rows_allowed(waiting.backlog, limits, {})
        positions = {
            queue: waiting.positions[queue] for queue, count in waiting.backlog.items() if count
        }
        sizes = self._watch.cluster.average_bytes(self._watch.view.layout, positions)
        return rows_allowed(waiting.backlog, limits, sizes)
