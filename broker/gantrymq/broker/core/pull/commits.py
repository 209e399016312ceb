"""Checks and stores the offsets that consumers commit.

less than the stored offset  stored, as in RocketMQ, since clients go back on purpose; counted, and
                             logged in RocketMQ's words
beyond the queue's end       stored as the end. No consumer received messages that do not exist: the
                             queue was deleted or truncated, or the commit was meant for another
                             member that was ahead. Future messages must not be skipped. A slave
                             stores the offset unchanged, because its log is behind the master's
while a reset is pending     ignored: the consumer does not know of the reset yet
of CID_RMQ_SYS_TRANS         refused: the broker alone commits them

A crash may lose the end of a queue while offsets beyond it survive. A slave that its settings make
master may have less of the log than consumers have read. `forget_lost` corrects both at the start.
"""

from __future__ import annotations

from typing import Final

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.names.system_topics import TRANSACTION_GROUP, TRANSACTIONS_OWN
from gantrymq.broker.core.state import State

# The number of groups, and of queues of a group, that log lines about a promotion name.
NAMED_MAX: Final = 20


def commit(
    state: State, request: Request, group: str, topic: str, queue_id: int, offset: int
) -> str | None:
    """Store a committed offset. Returns why it is refused, or None. The caller has checked that
    group and topic exist."""
    fault = _fault(state, group, topic, queue_id, offset)
    if fault is not None:
        return fault
    if state.resets.pending(group, topic, queue_id) is not None:
        return None
    end = queue_end(state, topic, queue_id)
    peer = request.channel.peer
    if offset > end and state.identity.is_master:
        state.effects.warning(
            f"update consumer offset more than the queue's end. clientHost={peer},"
            f" key={topic}@{group}, queueId={queue_id}, requestOffset={offset}, taken as {end}"
        )
        offset = end
    due = state.now + state.settings.flush_consumer_offset_interval / 1000
    before = state.offsets.commit(group, topic, queue_id, offset, due)
    if before is not None and offset < before:
        state.effects.warning(
            f"[NOTIFYME]update consumer offset less than store. clientHost={peer},"
            f" key={topic}@{group}, queueId={queue_id}, requestOffset={offset},"
            f" storeOffset={before}"
        )
    return None


def forget_lost(state: State) -> None:
    """Set offsets beyond their queue's end to that end. Called when a master starts, before
    anything is appended."""
    moved = [
        (group, topic, queue_id, offset, end)
        for group, topic, queues in state.offsets.places()
        for queue_id, offset in queues.items()
        if offset > (end := queue_end(state, topic, queue_id))
    ]
    cause = "this log has no such messages" if state.store.report.is_clean else "crash"
    for group, topic, queue_id, offset, end in moved:
        state.offsets.commit(group, topic, queue_id, end)
        state.effects.warning(
            f"moved group offset back to the end of the queue group={group} topic={topic}"
            f" queue={queue_id} offset={offset} end={end} reason={cause}"
        )


def clamp(state: State) -> None:
    """Set offsets beyond their queue's end to that end, when this broker becomes master. The last
    master had messages that this log does not have, and that are lost to consumers."""
    ahead: dict[str, list[str]] = {}
    checked = 0
    for group, topic, queues in list(state.offsets.places()):
        for queue_id, offset in list(queues.items()):
            checked += 1
            end = queue_end(state, topic, queue_id)
            if offset > end:
                state.offsets.commit(group, topic, queue_id, end)
                ahead.setdefault(group, []).append(f"{topic}/{queue_id} from {offset} to {end}")
    named = list(ahead.items())[:NAMED_MAX]
    for group, moves in named:
        more = len(moves) - NAMED_MAX
        state.effects.warning(
            f"moved group offsets back to the ends of queues group={group} queues={len(moves)}:"
            f" {', '.join(moves[:NAMED_MAX])}{f' and {more} more' if more > 0 else ''}"
        )
    moved = sum(len(moves) for moves in ahead.values())
    state.effects.info(
        f"checked group offsets against the ends of queues checked={checked} moved={moved}"
        f" groups={len(ahead)}"
    )


def queue_end(state: State, topic: str, queue_id: int) -> int:
    """The offset that the queue's next message will have."""
    queue = state.store.queues.find(topic, queue_id)
    return 0 if queue is None else queue.end


def in_memory_bytes(state: State) -> int:
    """Bytes at the end of the log that are assumed to be in the page cache."""
    return state.memory_bytes * state.store.settings.access_message_in_memory_max_ratio // 100


def has_queue(state: State, topic: str, queue_id: int) -> bool:
    """Whether the topic has the queue now, or had it before its number of queues was reduced."""
    config = state.topics.find(topic)
    if config is not None and 0 <= queue_id < max(config.read_queue_nums, config.write_queue_nums):
        return True
    return state.store.queues.find(topic, queue_id) is not None


def _fault(state: State, group: str, topic: str, queue_id: int, offset: int) -> str | None:
    if group == TRANSACTION_GROUP:
        return TRANSACTIONS_OWN
    if offset < 0:
        return f"Offset is {offset}, topic is {topic}: a queue's first offset is 0"
    if not has_queue(state, topic, queue_id):
        return f"QueueId is {queue_id}, topic is {topic}, which has no such queue"
    if state.offsets.find(group, topic, queue_id) is not None:
        return None
    if state.offsets.is_full:
        return (
            f"the broker keeps {state.offsets.limit} offsets; delete groups with mqadmin"
            " deleteSubGroup -r true"
        )
    return state.table_memory.offset_obstacle()
