"""Handles requests that list connected clients, and requests that the broker forwards to a client.

The client's answer is returned unchanged. If the client does not answer within ASK_SECONDS, the
answer is a timeout; administration tools themselves wait about as long.
"""

from __future__ import annotations

from typing import Final

from gantrymq.acl.rights.rights import Right
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.acl import checks
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import Outcome, Reply, Request
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.consumer_group import Client, ConsumerGroup
from gantrymq.store.read import lookups
from gantrymq.wire import javajson
from gantrymq.wire.bodies.connections import (
    Connection,
    ConsumerConnection,
    ConsumerStatus,
    ProducerConnection,
    ProducerInfo,
    ProducerTable,
    Progress,
    language_name,
)
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.client import (
    ConsumeMessageDirectlyRequest,
    ConsumerGroupRequest,
    GetConsumerRunningInfoRequest,
    GetProducerConnectionListRequest,
)
from gantrymq.wire.headers.offset import GetConsumerStatusRequest
from gantrymq.wire.message import offset_id
from gantrymq.wire.version import V3_1_8_SNAPSHOT, version_name

# As in RocketMQ.
ASK_SECONDS: Final = 10.0

# For all clients of a group together; RocketMQ waits so long for each client.
STATUS_SECONDS: Final = 5.0

# The first client release that reports its progress.
V3_0_7_SNAPSHOT: Final = 28


# ---------------------------------------------------------------------- connected clients


def get_consumer_connection_list(state: State, request: Request) -> Reply:
    name = ConsumerGroupRequest.decode(request.command.ext).consumer_group
    group = state.clients.consumers.get(name)
    if group is None:
        return refused(ResponseCode.CONSUMER_NOT_ONLINE, f"the consumer group[{name}] not online")
    body = ConsumerConnection(
        connections=tuple(map(_connection, group.clients.values())),
        consume_from_where=group.consume_from_where,
        consume_type=group.consume_type,
        message_model=group.message_model,
        subscriptions=group.subscriptions,
    )
    return done_json(body.to_json())


def get_producer_connection_list(state: State, request: Request) -> Reply:
    name = GetProducerConnectionListRequest.decode(request.command.ext).producer_group
    clients = state.clients.producers.get(name)
    if clients is None:
        return refused(ResponseCode.SYSTEM_ERROR, f"the producer group[{name}] not exist")
    return done_json(ProducerConnection(tuple(map(_connection, clients.values()))).to_json())


def get_all_producer_info(state: State, request: Request) -> Reply:
    groups = {
        group: tuple(map(_producer, clients.values()))
        for group, clients in state.clients.producers.items()
    }
    return done_json(ProducerTable(groups).to_json())


def _connection(client: Client) -> Connection:
    language = language_name(client.language)
    return Connection(client.channel.peer, client.client_id, language, client.version)


def _producer(client: Client) -> ProducerInfo:
    return ProducerInfo(
        client.client_id,
        language_name(client.language),
        client.heard_ms,
        f"/{client.channel.peer}",  # as Java prints an address
        client.version,
    )


# ---------------------------------------------------------------------- forwarded requests


def get_consumer_running_info(state: State, request: Request) -> Task[Outcome]:
    header = GetConsumerRunningInfoRequest.decode(request.command.ext)
    asked = Command(RequestCode.GET_CONSUMER_RUNNING_INFO, ext=request.command.ext)
    return _pass_on(state, header.consumer_group, header.client_id, asked)


def consume_message_directly(state: State, request: Request) -> Task[Outcome]:
    """Have a client consume a message now. Its listener cannot tell it from a pulled message."""
    header = ConsumeMessageDirectlyRequest.decode(request.command.ext)
    message_id = header.msg_id or ""
    try:
        _, position = offset_id.decode(message_id)
    except RemoteError as error:
        return refused(ResponseCode.SYSTEM_ERROR, str(error))
    found = yield from tasks.read(lookups.message_at(state.store, position))
    if found is None:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"can not find message by the offset, {position}: it is deleted, or {message_id} is a"
            " unique id, for which queryMsgByUniqueKey tells the offset id",
        )
    group_name = header.consumer_group
    refusal = checks.refuse_message(state, request, found.record, Right.SUB, group_name)
    if refusal is not None:
        return refusal
    ext = {**(request.command.ext or {}), "brokerName": state.identity.name}
    topic = state.topics.find(header.topic or "")
    if topic is not None:
        ext["topicSysFlag"] = str(topic.topic_sys_flag)
    group = state.groups.find(group_name)
    if group is not None:
        ext["groupSysFlag"] = str(group.group_sys_flag)
    asked = Command(RequestCode.CONSUME_MESSAGE_DIRECTLY, ext=ext, body=found.data)
    return (yield from _pass_on(state, group_name, header.client_id or "", asked))


def _pass_on(state: State, group: str, client_id: str, command: Command) -> Task[Outcome]:
    """Forward a request to a client of the group, and return its answer."""
    members = state.clients.consumers.get(group)
    client = None if members is None else members.find(client_id)
    if client is None:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"The Consumer <{group}> <{client_id}> not online; mqadmin consumerConnection -g"
            f" {group} lists those that are",
        )
    if client.version < V3_1_8_SNAPSHOT:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"The Consumer <{client_id}> Version <{version_name(client.version)}> too low to"
            " finish, please upgrade it to V3_1_8_SNAPSHOT",
        )
    answer = yield from tasks.ask(client.channel, command, ASK_SECONDS)
    if answer is None:
        return refused(
            ResponseCode.CONSUME_MSG_TIMEOUT,
            f"consumer <{group}> <{client_id}> Timeout: no answer from {client.channel.peer}"
            f" within {ASK_SECONDS:.0f} s",
        )
    return Reply(Command(answer.code, remark=answer.remark, ext=answer.ext, body=answer.body))


# ---------------------------------------------------------------------- progress of clients


def get_consumer_status(state: State, request: Request) -> Task[Outcome]:
    """Answers with the progress that each client of the group reports, or one client's."""
    header = GetConsumerStatusRequest.decode(request.command.ext)
    group = state.clients.consumers.get(header.group)
    if group is None:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"No Any Consumer online in the consumer group: [{header.group}]",
        )
    wanted = (header.client_addr or "").strip()
    too_old = [each for each in group.clients.values() if each.version < V3_0_7_SNAPSHOT]
    if too_old:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            "the client does not support this feature. version="
            f"{version_name(too_old[0].version)} ({too_old[0].client_id})",
        )
    until = state.now + STATUS_SECONDS
    by_client: dict[str, Progress] = {}
    for client in _asked(group, wanted):
        if state.now < until and not client.channel.is_closing:
            progress = yield from _progress_of(state, client, header, until - state.now)
            if progress is not None:
                by_client[client.client_id] = progress
    return done_json(ConsumerStatus(by_client).to_json())


def _asked(group: ConsumerGroup, wanted: str) -> list[Client]:
    found = [group.find(client_id) for client_id in group.client_ids()]
    return [each for each in found if each is not None and wanted in ("", each.client_id)]


def _progress_of(
    state: State, client: Client, header: GetConsumerStatusRequest, seconds: float
) -> Task[Progress | None]:
    ext = GetConsumerStatusRequest(topic=header.topic, group=header.group).encode()
    command = Command(RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ext=ext)
    answer = yield from tasks.ask(client.channel, command, seconds)
    if answer is None or answer.code != ResponseCode.SUCCESS or not answer.body:
        return None
    try:
        return ConsumerStatus.from_json(javajson.loads(answer.body)).progress
    except RemoteError as error:
        state.effects.warning(
            f"reading a client's progress failed client={client.client_id}: {error}"
        )
        return None


HANDLERS: Final[Handlers] = {
    RequestCode.GET_CONSUMER_CONNECTION_LIST: get_consumer_connection_list,
    RequestCode.GET_PRODUCER_CONNECTION_LIST: get_producer_connection_list,
    RequestCode.GET_ALL_PRODUCER_INFO: get_all_producer_info,
    RequestCode.GET_CONSUMER_RUNNING_INFO: get_consumer_running_info,
    RequestCode.CONSUME_MESSAGE_DIRECTLY: consume_message_directly,
    RequestCode.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: get_consumer_status,
}
