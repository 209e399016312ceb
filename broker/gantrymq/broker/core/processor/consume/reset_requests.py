"""Handles INVOKE_BROKER_TO_RESET_OFFSET, which moves a group to other offsets.

With useServerSideResetOffset, as in RocketMQ 5.3: the broker stores the offset, and the next pull
of each queue is answered with it. Connected 4.9 clients also get RESET_CONSUMER_CLIENT_OFFSET
immediately, because they react slowly to such an answer.

Without it, as in 4.9: the broker only tells the clients. The request is refused when none is
connected, and a reset that is not forced does not move an offset forward.

`timestamp` is the store time of the first message to consume; -1 means the end of the queue. For a
single queue, 5.x clients may send the offset instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Final

from gantrymq.broker.core.engine import long_answers, tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File, Outcome, Reply, Request, Tell
from gantrymq.broker.core.names.system_topics import TRANSACTION_GROUP, TRANSACTIONS_OWN
from gantrymq.broker.core.processor.admin.topic_requests import not_saved
from gantrymq.broker.core.processor.consume.queue_figures import NO_BOUNDS, QUEUES_A_TURN
from gantrymq.broker.core.processor.handler import BoundHandlers
from gantrymq.broker.core.pull.commits import queue_end
from gantrymq.broker.core.pull.pull_request_hold import PullRequestHold
from gantrymq.broker.core.responses import done, refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.store.consumequeue.queue_times import Boundary
from gantrymq.store.read.async_reader import ReadTask
from gantrymq.store.read.lookups import offset_by_time, queue_bounds
from gantrymq.wire import javajson
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.bodies.shared import MessageQueue, TopicConfig
from gantrymq.wire.codes import LanguageCode, RequestCode, ResponseCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.headers.offset import ResetOffsetRequest
from gantrymq.wire.version import OWN_VERSION, V5_0_0

NO_OFFSET: Final = -1


def reset_offset(hold: PullRequestHold, state: State, request: Request) -> Outcome | Task[Outcome]:
    header = ResetOffsetRequest.decode(request.command.ext)
    state.effects.info(
        f"[reset-offset] reset offset started by {request.channel.peer}. topic={header.topic},"
        f" group={header.group}, timestamp={header.timestamp}, isForce={header.is_force}"
    )
    config = state.topics.find(header.topic)
    if state.settings.use_server_side_reset_offset:
        refusal = _refusal(state, header)
        if refusal is not None or config is None:
            return refusal or _no_topic(header)
        return _reset(hold, state, request, header, config)
    return _no_topic(header) if config is None else _tell_only(state, request, header, config)


def _no_topic(header: ResetOffsetRequest) -> Reply:
    return refused(ResponseCode.TOPIC_NOT_EXIST, f"Topic {header.topic} does not exist")


def _refusal(state: State, header: ResetOffsetRequest) -> Reply | None:
    if not state.identity.is_master:
        return refused(ResponseCode.SYSTEM_ERROR, "Can not reset offset in slave broker")
    config = state.topics.find(header.topic)
    if config is None:
        return _no_topic(header)
    if header.group == TRANSACTION_GROUP:
        return refused(ResponseCode.NO_PERMISSION, TRANSACTIONS_OWN)
    if state.groups.find(header.group) is None:
        return refused(
            ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"Group {header.group} does not exist"
        )
    if (header.queue_id or 0) >= config.read_queue_nums or not config.read_queue_nums:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"No queues to reset. {header.topic} has {config.read_queue_nums} to read from",
        )
    return None


# ---------------------------------------------------------------------- by the broker


def _reset(
    hold: PullRequestHold,
    state: State,
    request: Request,
    header: ResetOffsetRequest,
    config: TopicConfig,
) -> Task[Outcome]:
    offsets = yield from tasks.read(_wanted_offsets(state, header, config.read_queue_nums))
    if isinstance(offsets, str):
        return refused(ResponseCode.SYSTEM_ERROR, offsets)
    if state.topics.find(header.topic) is None:  # deleted meanwhile
        return _no_topic(header)
    _assign(state, request, header, offsets)
    failure = yield from tasks.saved(File.OFFSETS)
    # Wake the held pulls, so that their consumers learn of the reset now.
    hold.arrived([(header.topic, queue_id) for queue_id in offsets])
    _tell_older_clients(state, header, offsets)
    if failure is not None:
        return not_saved(failure)
    return (yield from _answer(state, header, offsets))


def _wanted_offsets(
    state: State, header: ResetOffsetRequest, queues: int
) -> ReadTask[dict[int, int] | str]:
    """The new offset of each queue; or why the requested offset is not valid."""
    queue_id, offset = header.queue_id, header.offset
    if queue_id is None or queue_id < 0:
        return (yield from _offsets_at(state, header, range(queues)))
    if offset is None or offset == NO_OFFSET:
        return (yield from _offsets_at(state, header, [queue_id]))
    bounds = (yield from queue_bounds(state.store, header.topic, queue_id)) or NO_BOUNDS
    if bounds.minimum <= offset <= bounds.maximum:
        return {queue_id: offset}
    return f"Target offset {offset} not in consume queue range [{bounds.minimum}-{bounds.maximum}]"


def _assign(
    state: State, request: Request, header: ResetOffsetRequest, offsets: Mapping[int, int]
) -> None:
    group, topic = header.group, header.topic
    moved = []
    for queue_id, offset in offsets.items():
        before = state.offsets.find(group, topic, queue_id)
        if before is None and state.offsets.is_full:
            continue
        state.resets.assign(group, topic, queue_id, offset)
        state.offsets.commit(group, topic, queue_id, offset)
        moved.append(f"{queue_id}: {before} -> {offset}")
    state.effects.info(
        f"Reset offset, topic={topic}, group={group}, queues={{{', '.join(moved)}}},"
        f" caller={request.channel.peer}"
    )


def _offsets_at(
    state: State, header: ResetOffsetRequest, queue_ids: Iterable[int]
) -> ReadTask[dict[int, int]]:
    """By queue, the first offset whose message was stored at the requested time or later."""
    offsets: dict[int, int] = {}
    for queue_id in queue_ids:
        if header.timestamp < 0:
            bounds = (yield from queue_bounds(state.store, header.topic, queue_id)) or NO_BOUNDS
            offsets[queue_id] = bounds.maximum
        else:
            offsets[queue_id] = yield from offset_by_time(
                state.store, header.topic, queue_id, header.timestamp, Boundary.LOWER
            )
        if len(offsets) % QUEUES_A_TURN == 0:
            yield None
    return offsets


# ---------------------------------------------------------------------- by the clients


def _tell_only(
    state: State, request: Request, header: ResetOffsetRequest, config: TopicConfig
) -> Task[Outcome]:
    group, topic = header.group, header.topic
    offsets = yield from tasks.read(_offsets_at(state, header, range(config.write_queue_nums)))
    for queue_id, offset in offsets.items():
        stored = state.offsets.find(group, topic, queue_id)
        if stored is None:
            return refused(ResponseCode.SYSTEM_ERROR, f"THe consumer group <{group}> not exist")
        if not header.is_force and stored < offset:
            offsets[queue_id] = min(stored, queue_end(state, topic, queue_id))
    clients = _online(state, group)
    if not clients:
        return refused(
            ResponseCode.CONSUMER_NOT_ONLINE,
            f"Consumer not online, so can not reset offset, Group: {group} Topic: {topic}"
            f" Timestamp: {header.timestamp}",
        )
    # The tool says which language the group has: 4.9's has a switch for C++ clients.
    _tell(state, header, offsets, clients, is_cpp=request.command.language == LanguageCode.CPP)
    return (yield from _answer(state, header, offsets))


def _tell_older_clients(
    state: State, header: ResetOffsetRequest, offsets: Mapping[int, int]
) -> None:
    older = [client for client in _online(state, header.group) if client.version < V5_0_0]
    for is_cpp in (False, True):
        speaking = [each for each in older if (each.language == LanguageCode.CPP) is is_cpp]
        _tell(state, header, offsets, speaking, is_cpp=is_cpp)


def _online(state: State, group: str) -> list[Client]:
    members = state.clients.consumers.get(group)
    return [] if members is None else list(members.clients.values())


def _tell(
    state: State,
    header: ResetOffsetRequest,
    offsets: Mapping[int, int],
    clients: Sequence[Client],
    *,
    is_cpp: bool,
) -> None:
    if not clients:
        return
    moved = ResetOffsetBody(_by_queue(state, header, offsets))
    body = javajson.dumps_fastjson(moved.to_json_for_cpp() if is_cpp else moved.to_json())
    said = ResetOffsetRequest(
        topic=header.topic, group=header.group, timestamp=header.timestamp, is_force=header.is_force
    )
    for client in clients:
        command = Command(
            RequestCode.RESET_CONSUMER_CLIENT_OFFSET,
            flag=FLAG_ONEWAY,
            version=OWN_VERSION,
            ext=said.encode(),
            body=body,
        )
        state.effects.add(Tell(client.channel, command))
        state.effects.info(
            f"[reset-offset] reset offset success. topic={header.topic}, group={header.group},"
            f" clientId={client.client_id}"
        )


def _answer(state: State, header: ResetOffsetRequest, offsets: Mapping[int, int]) -> Task[Outcome]:
    """The answer, with the ResetOffsetBody."""
    by_queue = _by_queue(state, header, offsets)
    table = yield from long_answers.members(
        {queue.to_key(): offset for queue, offset in by_queue.items()}
    )
    return done(body=b'{"offsetTable":%b}' % table)


def _by_queue(
    state: State, header: ResetOffsetRequest, offsets: Mapping[int, int]
) -> dict[MessageQueue, int]:
    return {
        MessageQueue(header.topic, state.identity.name, queue_id): offset
        for queue_id, offset in offsets.items()
    }


BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.INVOKE_BROKER_TO_RESET_OFFSET: lambda services: partial(
        reset_offset, services.pull_request_hold
    ),
}
