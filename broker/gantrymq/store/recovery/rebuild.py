"""Rebuilds queues and index from the log, as the last stage of recovery.

Rebuilt are queues that are damaged, miss units, or began anew with a message that is gone, and the
keys of an index that was cut.
"""

from __future__ import annotations

from dataclasses import replace
from typing import final

from gantrymq.store.commitlog.log_walk import LogWalk
from gantrymq.store.files.flush_positions import LogPosition
from gantrymq.store.progress import Progress, ProgressTask
from gantrymq.store.record.dispatch_entry import DispatchEntry
from gantrymq.store.recovery.recovery_state import RecoveryState, damaged_at
from gantrymq.wire import java_string


@final
class Rebuild:
    """The rebuild of one recovery, which owns it."""

    __slots__ = ("_state",)

    def __init__(self, state: RecoveryState) -> None:
        self._state = state

    def run(self) -> ProgressTask[None]:
        """Rebuild damaged queues from the log, and enter keys again if the index had to be cut."""
        parts = self._state.parts
        dispatcher, queues, log = parts.dispatcher, parts.queues, parts.log
        broken = {(queue.topic, queue.queue_id) for queue in queues.faults}
        broken |= self._state.missing | dispatcher.gaps.keys() | dispatcher.replaced.behind(log.end)
        keys_from = log.end
        if parts.index.cut(log.end, self._state.expect_keys):
            keys_from = max(log.start, parts.index.end_offset)
            self._state.enter_from(keys_from, is_rebuilt=True)
        if not broken and keys_from >= log.end:
            return
        self._empty(broken)
        walk = LogWalk(log.segments, self._state.reader(verify_body=False), LogPosition(log.start))
        for entries in walk.chunks():
            for entry in entries:
                topic = java_string.utf8_text(entry.topic)
                if entry.has_unit and (topic, entry.queue_id) in broken:
                    self._unit_again(entry, topic)
                if entry.physical_offset >= keys_from:
                    dispatcher.keys(entry)
            self._state.relieve()
            yield Progress("rebuild", walk.position - log.start, log.end - log.start)
        if walk.position < log.end:
            raise damaged_at(log.segments, walk, log.end)

    def _unit_again(self, entry: DispatchEntry, topic: str) -> None:
        """Add a unit to a queue that is rebuilt. If the log lacks the records before it, the queue
        began anew here: this log is a copy of one whose topic was deleted and created again."""
        parts = self._state.parts
        parts.dispatcher.unit(entry)
        if parts.dispatcher.gaps:
            parts.dispatcher.gaps.clear()
            self._state.begun_anew[topic, entry.queue_id] = int(entry.physical_offset)
            queue = parts.queues.find(topic, entry.queue_id)
            assert queue is not None
            parts.queues.clear(queue)
            parts.dispatcher.unit(entry)

    def _empty(self, broken: set[tuple[str, int]]) -> None:
        """Empty these queues. If this start does not finish, the next one rebuilds them again."""
        parts = self._state.parts
        positions = parts.flush_positions.latest
        assert positions is not None
        if broken:
            self._state.queues_from = parts.log.start
            parts.flush_positions.settle(
                replace(positions, queues=min(positions.queues, self._state.queues_from))
            )
        for topic, queue_id in sorted(broken):
            queue = parts.queues.find(topic, queue_id)
            if queue is not None:
                parts.queues.clear(queue)
            self._state.report.rebuilt_queues.append(f"{topic}/{queue_id}")
        parts.dispatcher.gaps.clear()
