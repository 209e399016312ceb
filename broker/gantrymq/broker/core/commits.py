"""Commits: how far a consumer says it has come in a queue.

behind what is stored        taken, as in Java, since clients go back on purpose; counted, and
                             said in Java's words
beyond the queue's end       taken as the end. Nobody was given what is not there: the queue was
                             deleted or cut, or belongs to another member that was ahead, and
                             messages to come must not be skipped. But a slave takes it as it
                             is: its log is behind the one that was read
while a reset is pending     dropped: the consumer does not know of it yet
of CID_RMQ_SYS_TRANS         refused: they are the broker's own

A crash may take the end of a queue and leave what was committed beyond it, and a slave that is made
master by its settings may have less of the log than consumers read: `forget_lost`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gantrymq.broker.core.messages import Request
from gantrymq.broker.core.system_topics import TRANSACTION_GROUP, TRANSACTIONS_OWN

if TYPE_CHECKING:
    from gantrymq.broker.core.state import State

# Groups and queues that a line about a promotion names.
NAMED_MAX: Final = 20


def commit(
    state: State, request: Request, group: str, topic: str, queue_id: int, offset: int
) -> str | None:
    """Why it does not count; group and topic are there."""
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
    """When a master starts, before anything is put: what lies beyond a queue's end becomes that."""
    moved = [
        (group, topic, queue_id, offset, end)
        for group, topic, queues in state.offsets.places()
        for queue_id, offset in queues.items()
        if offset > (end := queue_end(state, topic, queue_id))
    ]
    cause = "this broker does not have" if state.store.report.is_clean else "a crash took"
    for group, topic, queue_id, offset, end in moved:
        state.offsets.commit(group, topic, queue_id, end)
        state.effects.warning(
            f"{cause} messages that were consumed, topic={topic}, group={group},"
            f" queueId={queue_id}: its offset {offset} is {end} now, where the queue ends"
        )


def clamp(state: State) -> None:
    """We come to lead: a group that was further than our queues go on at their ends. The last
    master had messages that nobody can read any more."""
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
            f"group {group} was ahead of this broker's log, and goes on at the ends of"
            f" {len(moves)} queues: {', '.join(moves[:NAMED_MAX])}"
            f"{f' and {more} more' if more > 0 else ''}"
        )
    moved = sum(len(moves) for moves in ahead.values())
    state.effects.info(
        f"offsets of groups are within their queues: {checked} were looked at, {moved} of"
        f" {len(ahead)} groups were moved back"
    )


def queue_end(state: State, topic: str, queue_id: int) -> int:
    """The offset that the queue's next message will have."""
    queue = state.store.queues.find(topic, queue_id)
    return 0 if queue is None else queue.end


def has_queue(state: State, topic: str, queue_id: int) -> bool:
    """Whether the topic has the queue now, or had it before it shrank."""
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
