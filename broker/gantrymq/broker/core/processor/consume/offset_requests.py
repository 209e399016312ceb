"""Handles the requests that query, commit, clone and compare consumer offsets.

A group without a committed offset starts at 0 if the queue is so young that its first message is
still in memory, as in RocketMQ, whatever the consumer would choose. Otherwise the answer is
QUERY_NOT_FOUND and the consumer chooses. A committed offset beyond the queue's end (after a crash,
for instance) is answered as that end, so that the group does not skip messages to come. A slave
answers the offset unchanged, because its log is behind the master's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gantrymq.base.bounds import LONG_MAX
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File, Outcome, Reply, Request
from gantrymq.broker.core.names.system_topics import TRANSACTION_GROUP, TRANSACTIONS_OWN
from gantrymq.broker.core.processor.admin.topic_requests import not_saved
from gantrymq.broker.core.processor.handler import BoundHandlers, Handlers
from gantrymq.broker.core.pull.commits import commit, has_queue, in_memory_bytes, queue_end
from gantrymq.broker.core.pull.misrouted_consumers import MisroutedConsumers
from gantrymq.broker.core.replication.slave_synchronizer import slave_log_end
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.store.read.readable_store import unit_position
from gantrymq.wire.bodies.offsets import QueryCorrectionOffsetBody
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.offset import (
    CloneGroupOffsetRequest,
    OffsetResponse,
    QueryConsumerOffsetRequest,
    QueryCorrectionOffsetRequest,
    UpdateConsumerOffsetRequest,
)

# Topics that one turn clones; each takes about 25 us.
TOPICS_A_TURN: Final = 512

# ---------------------------------------------------------------------- asking


def query_offset(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = QueryConsumerOffsetRequest.decode(request.command.ext)
    group, topic, queue_id = header.consumer_group, header.topic, header.queue_id
    stored = state.offsets.find(group, topic, queue_id)
    if stored is not None and stored >= 0:
        if state.identity.is_master:
            stored = min(stored, queue_end(state, topic, queue_id))
        return done(OffsetResponse(offset=stored))
    if header.set_zero_if_not_found is False:
        return refused(
            ResponseCode.QUERY_NOT_FOUND,
            "Not found, do not set to zero, maybe this group boot first",
        )
    return _first_offset(state, topic, queue_id)


def _first_offset(state: State, topic: str, queue_id: int) -> Task[Outcome]:
    """Answer 0 for a queue whose first message is still in memory, else QUERY_NOT_FOUND."""
    queue = state.store.queues.find(topic, queue_id)
    if queue is not None and queue.minimum <= 0 < queue.end:
        position = yield from tasks.read(unit_position(queue, 0))
        if position >= 0 and state.store.log.end - position <= in_memory_bytes(state):
            return done(OffsetResponse(offset=0))
    return refused(
        ResponseCode.QUERY_NOT_FOUND,
        "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
    )


def get_all_offsets(state: State, request: Request) -> Outcome:
    """Answer the offset table, for slaves of fixed roles.

    Only the master knows which messages are popped and not acknowledged, and a retry copy may not
    have reached the slave's log yet. A slave that becomes master would deliver neither. The answer
    therefore limits a group's offset to the first such message of each queue.
    """
    log_end = slave_log_end(state, request.command)
    bounds = state.retry_copies.bounds(state.in_flight.lowest(), log_end)
    return done(body=state.offsets.content_up_to(bounds.items()))


def query_correction(state: State, request: Request) -> Outcome:
    """Answer each queue's lowest offset of the topic's groups; LONG_MAX where the compared group
    is behind.

    The groups in `filter_groups` are ignored in the calculation; Java deletes their offsets
    instead.
    """
    header = QueryCorrectionOffsetRequest.decode(request.command.ext)
    topic = header.topic
    left_out = set((header.filter_groups or "").split(","))
    lowest: dict[int, int] = {}
    for group in state.offsets.groups_of(topic):
        if group in left_out:
            continue
        for queue_id, offset in state.offsets.queues(group, topic).items():
            queue = state.store.queues.find(topic, queue_id)
            if offset >= (0 if queue is None else queue.minimum):
                lowest[queue_id] = min(offset, lowest.get(queue_id, offset))
    for queue_id, offset in state.offsets.queues(header.compare_group, topic).items():
        if queue_id in lowest and lowest[queue_id] > offset:
            lowest[queue_id] = LONG_MAX
    return done_json(QueryCorrectionOffsetBody(lowest).to_json())


# ---------------------------------------------------------------------- changing


def update_offset(
    misrouted: MisroutedConsumers, state: State, request: Request
) -> Outcome | Task[Outcome]:
    if misrouted.forwards_commits():
        return misrouted.forward(request)
    header = UpdateConsumerOffsetRequest.decode(request.command.ext)
    group, topic = header.consumer_group, header.topic
    refusal = _missing(state, group, topic)
    if refusal is not None:
        return refusal
    if state.resets.pending(group, topic, header.queue_id) is not None:
        return done(remark="Offset has been previously reset")
    fault = commit(state, request, group, topic, header.queue_id, header.commit_offset)
    return done() if fault is None else refused(ResponseCode.INVALID_PARAMETER, fault)


def _missing(state: State, group: str, topic: str) -> Reply | None:
    if state.groups.find(group) is None:
        return refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"Group {group} not exist! Its first consumer makes it, or mqadmin updateSubGroup -g"
            f" {group}",
        )
    if state.topics.find(topic) is None:
        return refused(ResponseCode.TOPIC_NOT_EXIST, f"Topic {topic} not exist!")
    return None


def clone_offsets(state: State, request: Request) -> Outcome | Task[Outcome]:
    """Copy a group's offsets in one topic, or in all its topics, to another group; offsets may go
    back."""
    header = CloneGroupOffsetRequest.decode(request.command.ext)
    source, target = header.src_group, header.dest_group
    named = (header.topic or "").strip()
    topics = [named] if named else state.offsets.topics_of(source)
    if state.groups.find(target) is None:
        return refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
            f"Group {target} not exist! Make it with mqadmin updateSubGroup -g {target}",
        )
    if target == TRANSACTION_GROUP:
        return refused(ResponseCode.NO_PERMISSION, TRANSACTIONS_OWN)
    return _clone_all(state, request, header, topics)


def _clone_all(
    state: State, request: Request, header: CloneGroupOffsetRequest, topics: Sequence[str]
) -> Task[Outcome]:
    yield from tasks.each(
        topics, lambda topic: _clone_topic(state, request, header, topic), TOPICS_A_TURN
    )
    return (yield from _saved())


def _clone_topic(
    state: State, request: Request, header: CloneGroupOffsetRequest, topic: str
) -> None:
    source, target = header.src_group, header.dest_group
    if state.topics.find(topic) is None:
        state.effects.warning(f"[cloneGroupOffset], topic config not exist, {topic}")
    elif not header.offline and not _subscribes(state, source, topic):
        state.effects.warning(
            "cloneGroupOffset: topic does not exist in consumer group's subscription,"
            f" topic={topic}, consumer group={source}"
        )
    else:
        _clone(state, request, source, target, topic)


def _subscribes(state: State, group: str, topic: str) -> bool:
    """Whether the group subscribes to the topic; true when no member of the group is connected."""
    members = state.clients.consumers.get(group)
    return members is None or not members.subscriptions or topic in members.subscriptions


def _clone(state: State, request: Request, source: str, target: str, topic: str) -> None:
    before = dict(state.offsets.queues(target, topic))
    offsets = dict(state.offsets.queues(source, topic))
    for queue_id, offset in offsets.items():
        if has_queue(state, topic, queue_id) and not state.offsets.is_full:
            state.offsets.commit(target, topic, queue_id, offset)
    state.effects.info(
        f"[cloneGroupOffset] topic={topic}, from {source} to {target}, before={before},"
        f" after={offsets}, caller={request.channel.peer}"
    )


def _saved() -> Task[Outcome]:
    failure = yield from tasks.saved(File.OFFSETS)
    return done() if failure is None else not_saved(failure)


HANDLERS: Final[Handlers] = {
    RequestCode.QUERY_CONSUMER_OFFSET: query_offset,
    RequestCode.GET_ALL_CONSUMER_OFFSET: get_all_offsets,
    RequestCode.QUERY_CORRECTION_OFFSET: query_correction,
    RequestCode.CLONE_GROUP_OFFSET: clone_offsets,
}

BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.UPDATE_CONSUMER_OFFSET: lambda services: partial(
        update_offset, services.misrouted_consumers
    ),
}
