"""Reads messages of a queue from an offset on, with the results of RocketMQ's getMessage.

    NO_MATCHED_LOGIC_QUEUE  there is no such queue                          next: 0
    NO_MESSAGE_IN_QUEUE     it never had a message                                0
    OFFSET_TOO_SMALL        the log has deleted the message                       the minimum
    OFFSET_OVERFLOW_ONE     it is the next message: worth waiting for             the same
    OFFSET_OVERFLOW_BADLY   it is further away than that                          the maximum
    OFFSET_FOUND_NULL       the queue's file is missing                           the next file
    NO_MATCHED_MESSAGE      the filter let none pass                              behind the last
    MESSAGE_WAS_REMOVING    the log deleted them during the pull                  behind the last
    FOUND                                                                         behind the last

pull_query.py defines the request and the answer, and pull_batch.py collects the messages within
their limits.
"""

from __future__ import annotations

from mypy_extensions import i64

from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.pull_batch import PullBatch
from gantrymq.store.read.pull_query import Pulled, PullQuery, PullStatus, corrected
from gantrymq.store.read.readable_store import ReadableStore, readable_end


def pull(store: ReadableStore, query: PullQuery, physical_memory_bytes: int) -> ReadTask[Pulled]:
    """Answer the query from the messages that consumers may see."""
    queue = store.queues.find(query.topic, query.queue_id)
    if queue is None:
        return corrected(query, PullStatus.NO_MATCHED_LOGIC_QUEUE, 0, 0, 0)
    end: i64 = queue.end
    if queue.physical_end > store.readable:
        end = yield from readable_end(queue, store.readable)
    minimum: i64 = queue.minimum
    offset = query.offset
    if end == 0:
        return corrected(query, PullStatus.NO_MESSAGE_IN_QUEUE, 0, minimum, end)
    if offset < minimum:
        return corrected(query, PullStatus.OFFSET_TOO_SMALL, minimum, minimum, end)
    if offset == end:
        return corrected(query, PullStatus.OFFSET_OVERFLOW_ONE, offset, minimum, end)
    if offset > end:
        return corrected(query, PullStatus.OFFSET_OVERFLOW_BADLY, end, minimum, end)
    batch = PullBatch(store, query, queue, end, physical_memory_bytes)
    yield from batch.collect()
    return batch.answer()
