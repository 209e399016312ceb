"""Handles requests for the queues assigned to a consumer, and for whether it pulls or pops them."""

from __future__ import annotations

from functools import partial
from typing import Final

from gantrymq.broker.core.client import assignments
from gantrymq.broker.core.engine import long_answers
from gantrymq.broker.core.engine.long_answers import ENTRIES_A_TURN
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File, Outcome, Request
from gantrymq.broker.core.metadata.routes import Routes
from gantrymq.broker.core.metadata.table_changes import stored
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX
from gantrymq.broker.core.processor.admin.topic_requests import not_saved
from gantrymq.broker.core.processor.handler import BoundHandlers, Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.request_modes import MODES_MAX
from gantrymq.wire import javajson
from gantrymq.wire.bodies.consuming.pops import (
    Assignment,
    AssignmentQuery,
    RequestMode,
    TopicMode,
    assigned,
)
from gantrymq.wire.bodies.heartbeat import BROADCASTING
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode


def query_assignment(routes: Routes, state: State, request: Request) -> Task[Outcome]:
    """Answers with the client's queues. If the answer has no set of queues, the client keeps the
    queues that it has."""
    query = AssignmentQuery.from_json(javajson.loads(request.command.body))
    mode = state.request_modes.find(query.topic, query.consumer_group)
    if mode is None:
        mode = TopicMode(topic=query.topic, consumer_group=query.consumer_group)
    queues = yield from routes.queues(query.topic)
    mine = None if queues is None else _queues_of_client(state, query, mode, queues)
    if mine is None or len(mine) <= ENTRIES_A_TURN:
        return done_json(Assignment(mine, mode.mode).to_json())
    entries = yield from long_answers.array(assigned(queue, mode.mode) for queue in mine)
    return done(body=b'{"messageQueueAssignments":%b}' % entries)


def _queues_of_client(
    state: State, query: AssignmentQuery, mode: TopicMode, queues: tuple[MessageQueue, ...]
) -> tuple[MessageQueue, ...] | None:
    if query.message_model == BROADCASTING:
        return queues
    strategy = assignments.STRATEGIES.get(query.strategy_name)
    group = state.clients.consumers.get(query.consumer_group)
    clients = [] if group is None else sorted(group.client_ids())
    if strategy is None or not clients or not queues:
        return None
    if mode.mode is RequestMode.POP and assignments.is_for_all(
        mode.pop_share_queue_num, len(clients)
    ):
        return assignments.for_all(queues)
    if query.client_id not in clients:
        return ()
    index, count = clients.index(query.client_id), len(clients)
    if mode.mode is RequestMode.POP:
        return assignments.shared(strategy, queues, index, count, mode.pop_share_queue_num)
    return strategy(queues, index, count)


def set_request_mode(state: State, request: Request) -> Outcome | Task[Outcome]:
    mode = TopicMode.from_json(javajson.loads(request.command.body))
    if mode.topic.startswith(RETRY_PREFIX):
        return refused(
            ResponseCode.NO_PERMISSION,
            "retry topic is not allowed to set mode: it follows the topic's own",
        )
    if state.topics.find(mode.topic) is None:
        return refused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"topic[{mode.topic}] not exist: create it with mqadmin updateTopic"
            f" -b {state.identity.address} -t {mode.topic}",
        )
    if state.request_modes.is_full:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"{MODES_MAX} modes are kept; let groups pull, which needs none",
        )
    return _set(state, mode)


def _set(state: State, mode: TopicMode) -> Task[Outcome]:
    state.request_modes.put(mode)
    failure = yield from stored(state, File.MODES)
    return done() if failure is None else not_saved(failure)


def get_request_modes(state: State, request: Request) -> Outcome:
    return done(body=state.request_modes.content())


HANDLERS: Final[Handlers] = {
    RequestCode.SET_MESSAGE_REQUEST_MODE: set_request_mode,
    RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: get_request_modes,
}

BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.QUERY_ASSIGNMENT: lambda services: partial(query_assignment, services.routes),
}
