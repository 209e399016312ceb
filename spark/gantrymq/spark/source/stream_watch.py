"""Watches the queues of one stream in a thread, and commits the stream's progress.

Spark asks a stream for its latest offset up to 60 times a second, and expects an immediate answer.
So the thread asks brokers, and Spark gets answers from memory. One stream has one watch, in the
process that Spark keeps for the stream on the driver.

Invariant: the watch reports what was true when it asked. The queues of a broker that does not
answer keep their bounds, and the log names the broker.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final, final

from gantrymq.base.errors import GantryError
from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.read_options import StreamOptions
from gantrymq.spark.source.cluster import Cluster
from gantrymq.spark.source.membership import GroupInUseError, GroupMember
from gantrymq.spark.source.planning.bounds import QueueBounds
from gantrymq.spark.source.planning.layout import Layout
from gantrymq.spark.source.progress import Progress

log: Final = logging.getLogger("gantrymq.spark")

# The most requests per second of a watch, however many topics it has.
QUESTIONS_PER_SECOND: Final = 200

# How long to wait for an earlier query that has just ended: brokers remove it from the group when
# its connections close.
GROUP_FREE_SECONDS: Final = 5.0
GROUP_RETRY_SECONDS: Final = 0.25

# Repeated failures are logged once in this time.
LOG_SECONDS: Final = 60.0

CLOSE_SECONDS: Final = 5.0


@final
@dataclass(frozen=True, slots=True)
class View:
    """The state of the queues at one time. `number` increases with each answer of brokers."""

    layout: Layout
    bounds: QueueBounds
    number: int = 0


@final
class StreamWatch:
    """The watch of one stream. Call `start`, use it from one thread, then call `close`."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._cluster = Cluster(options.read.connection)
        self._changed = threading.Condition()
        self._storing = threading.Lock()
        self._view: View | None = None
        self._progress = Progress()
        self._is_closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gantry-spark-watch", daemon=True)
        self._discovered_at = 0.0
        self._logged: dict[str, float] = {}
        group = options.read.group if options.commit_progress else None
        self._member = (
            None
            if group is None
            else GroupMember(group, options.read.expression, int(time.time() * 1000))
        )

    # ------------------------------------------------------------------ lifecycle

    def start(self) -> None:
        """Ask once, join the group, and start watching. Raises a GantryError or a
        RocketMQOptionError.

        A stream runs even if a broker is down, or not registered: its queues wait.
        """
        self._cluster.__enter__()
        try:
            selection = self._options.read.selection
            layout = self._cluster.layout(selection)
            asked = self._cluster.bounds(layout)
            for failure in asked.failures:
                self._complain("bounds", failure)
            self._view = View(layout, asked.bounds)
            self._discovered_at = time.monotonic()
            if self._member is not None:
                self._join_group(layout, self._member)
        except BaseException:
            self._cluster.close()
            raise
        self._thread.start()

    def _join_group(self, layout: Layout, member: GroupMember) -> None:
        gives_up_at = time.monotonic() + GROUP_FREE_SECONDS
        while not self._options.allow_shared_group:
            others = self._cluster.others_in_group(layout, member.group)
            if not others:
                break
            if time.monotonic() >= gives_up_at:
                raise GroupInUseError(member.group, others)
            self._is_closed.wait(GROUP_RETRY_SECONDS)
        self._cluster.join_group(layout, member)

    def close(self) -> None:
        """Commit the remaining progress, and leave the group."""
        self._is_closed.set()
        if self._thread.is_alive():
            self._thread.join(CLOSE_SECONDS)
        try:
            self.store_progress()
            if self._member is not None:
                self._cluster.leave_group(self._member)
        except GantryError as error:
            log.warning("stream ended without leaving its group error=%s", error)
        finally:
            self._cluster.close()

    # ------------------------------------------------------------------ answers to Spark

    @property
    def cluster(self) -> Cluster:
        """Return the connection, for single requests."""
        return self._cluster

    @property
    def view(self) -> View:
        """Return the current view."""
        assert self._view is not None, "the watch is started"
        return self._view

    def wait_until(self, is_enough: Callable[[View], bool], seconds: float) -> View:
        """Return the view as soon as `is_enough`, or after so many seconds."""
        with self._changed:
            self._changed.wait_for(lambda: is_enough(self.view), seconds)
            return self.view

    def wait_for_more(self) -> None:
        """Wait for the next answer of brokers, or as long as an idle stream waits."""
        number = self.view.number
        self.wait_until(lambda view: view.number > number, self._options.poll_wait_s)

    def refreshed(self) -> View:
        """Ask now, also for new topics and queues. Raises a GantryError unless all brokers answer,
        and a RocketMQOptionError if an option names a topic or queue that does not exist."""
        layout = self._cluster.layout(self._options.read.selection, must_be_there=True)
        bounds = self._cluster.bounds(layout).all()
        return self._saw(layout, bounds)

    def done(self, positions: Mapping[QueueKey, int]) -> None:
        """Note that all messages before these positions are processed. They are committed soon."""
        with self._changed:
            self._progress.advance(positions)

    def store_progress(self) -> None:
        """Commit the progress now, and wait for it, because the process may end after this."""
        if self._member is None:
            return
        with self._storing:
            with self._changed:
                wanted = self._progress.unstored()
                self._progress.asked(time.monotonic())
            if not wanted:
                return
            layout, group = self.view.layout, self._member.group
            stored, failures = self._cluster.store_progress(layout, group, wanted)
            with self._changed:
                self._progress.stored(stored)
        for failure in failures:
            self._complain("progress", failure)

    # ------------------------------------------------------------------ the thread

    def _run(self) -> None:
        while not self._is_closed.wait(self._pause_s()):
            try:
                self._look()
                with self._changed:
                    is_due = bool(self._progress.due(time.monotonic()))
                if is_due:
                    self.store_progress()
            except GantryError as error:
                self._complain("poll", error)

    def _pause_s(self) -> float:
        questions = len(self.view.layout.topics_by_broker)
        return max(self._options.poll_wait_s, questions / QUESTIONS_PER_SECOND)

    def _look(self) -> None:
        layout = self.view.layout
        now = time.monotonic()
        if now >= self._discovered_at + self._options.discovery_s:
            self._discovered_at = now
            layout = self._discovered(layout)
        asked = self._cluster.bounds(layout)
        for failure in asked.failures:
            self._complain("bounds", failure)
        self._saw(layout, asked.bounds)

    def _discovered(self, known: Layout) -> Layout:
        layout = self._cluster.layout(self._options.read.selection)
        for queue in sorted(layout.queues - known.queues):
            log.info("found a new queue queue=%s", queue)
        for queue in sorted(known.queues - layout.queues):
            log.warning("a queue is gone, and is waited for queue=%s", queue)
        if self._member is not None and layout.topics != known.topics:
            self._cluster.tell_group(layout, self._member)
        return layout

    def _saw(self, layout: Layout, bounds: QueueBounds) -> View:
        """Make the new view. Queues whose brokers did not answer keep their bounds."""
        with self._changed:
            before = self.view
            kept = {queue: has for queue, has in before.bounds.items() if queue in layout.queues}
            view = replace(
                before, layout=layout, bounds={**kept, **bounds}, number=before.number + 1
            )
            self._view = view
            self._changed.notify_all()
            return view

    def _complain(self, what: str, error: Exception) -> None:
        now = time.monotonic()
        if now >= self._logged.get(what, -LOG_SECONDS) + LOG_SECONDS:
            self._logged[what] = now
            log.warning("%s failed, tried again error=%s", what, error)
