"""Handles requests of orderly consumers to lock and unlock queues.

Only existing queues of this broker are locked, because a lock stays in memory for a while. A queue
that does not exist is not granted, like one that another client owns: the consumer then does not
consume it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gantrymq.broker.core.engine import long_answers
from gantrymq.broker.core.engine.long_answers import ENTRIES_A_TURN
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Reply, Request
from gantrymq.broker.core.metadata.group_creation import ensure_group, why_no_group
from gantrymq.broker.core.processor.client.client_requests import CLIENT_ID_CHARACTERS_MAX
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.locks import LockedQueues, QueuesOfClient
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode

# Enough for more than 10 000 queues, which take 50 ms to parse.
BODY_BYTES_MAX: Final = 1 << 20


def lock_batch_mq(state: State, request: Request) -> Outcome | Task[Outcome]:
    asked = QueuesOfClient.from_json(javajson.loads(request.command.body, BODY_BYTES_MAX))
    if ensure_group(state, asked.consumer_group) is None:
        return refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, why_no_group(state, asked.consumer_group)
        )
    if len(asked.client_id) > CLIENT_ID_CHARACTERS_MAX:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"a client id has at most {CLIENT_ID_CHARACTERS_MAX} characters",
        )
    queues = [queue for queue in asked.queues if _is_here(state, queue)]
    owned = state.locks.lock(asked.consumer_group, queues, asked.client_id, state.now)
    if len(owned) <= ENTRIES_A_TURN:
        return done_json(LockedQueues(tuple(owned)).to_json())
    return _long_answer(list(owned))


def _long_answer(owned: Sequence[MessageQueue]) -> Task[Outcome]:
    entries = yield from long_answers.array(queue.to_json() for queue in owned)
    return done(body=b'{"lockOKMQSet":%b}' % entries)


def unlock_batch_mq(state: State, request: Request) -> Reply:
    asked = QueuesOfClient.from_json(javajson.loads(request.command.body, BODY_BYTES_MAX))
    state.locks.unlock(asked.consumer_group, asked.queues, asked.client_id)
    return done()


def _is_here(state: State, queue: MessageQueue) -> bool:
    config = state.topics.find(queue.topic)
    return (
        config is not None
        and queue.broker_name == state.identity.name
        and 0 <= queue.queue_id < config.read_queue_nums
    )


HANDLERS: Final[Handlers] = {
    RequestCode.LOCK_BATCH_MQ: lock_batch_mq,
    RequestCode.UNLOCK_BATCH_MQ: unlock_batch_mq,
}
