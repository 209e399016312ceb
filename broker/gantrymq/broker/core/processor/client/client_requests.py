"""Handles heartbeats, unregistering, and requests for the members of a group.

A heartbeat names all groups of a client. A consumer group that does not exist is created together
with its retry topic. A group that may not be created is skipped, as in RocketMQ: its pulls are
refused with the reason.

With a fingerprint (5.x clients that opted in) a heartbeat may leave its subscriptions out. If the
broker does not have the subscriptions of the fingerprint, its answer makes the client send them
again.

New groups cost the most. So a heartbeat with many groups is registered over several turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from gantrymq.base.errors import RemoteError
from gantrymq.base.memory_account import Kind, Overrun
from gantrymq.broker.core.client import evictions
from gantrymq.broker.core.client.client_watch import ClientWatch
from gantrymq.broker.core.engine import tasks, waiting_request_memory
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import SILENT, Channel, Outcome, Reply, Request
from gantrymq.broker.core.metadata.group_creation import ensure_group
from gantrymq.broker.core.metadata.topic_creation import UNIT_SUBSCRIBED, create_retry_topic
from gantrymq.broker.core.names.name_rules import GROUP_CHARACTERS_MAX, RETRY_PREFIX
from gantrymq.broker.core.processor.handler import BoundHandlers, Handlers
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.clients import Memberships
from gantrymq.broker.core.tables.consumer_group import (
    CONSUMER_BYTES,
    Client,
    producer_weight,
    weight_of,
)
from gantrymq.wire import javajson
from gantrymq.wire.bodies.connections import ConsumerIds
from gantrymq.wire.bodies.heartbeat import ConsumerData, HeartbeatData
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.client import (
    ConsumerGroupRequest,
    HeartbeatResponse,
    UnregisterClientRequest,
)

# Limits of one client over all its heartbeats; a normal client has a few groups. The data is kept
# for as long as heartbeats come. 5000 plain subscriptions take 3 MB of memory. A subscription has
# ten JSON values, and 50 000 values take at most a fifth of a second to parse.
CLIENT_GROUPS_MAX: Final = 5_000
SUBSCRIPTIONS_MAX: Final = 5_000
WEIGHT_MAX: Final = 8 << 20
VALUES_MAX: Final = 50_000

# A new group with its retry topic takes 100 us, so a turn takes 20 ms.
GROUPS_A_TURN: Final = 200

# One client at a time is registered over several turns. Others check after this whether they may
# begin.
PAUSE_SECONDS: Final = 0.01

# A client id is IP, @ and the instance name, which users choose.
CLIENT_ID_CHARACTERS_MAX: Final = 1_000


def heart_beat(watch: ClientWatch, state: State, request: Request) -> Outcome | Task[Outcome]:
    """Registers the client in the groups that its heartbeat names."""
    body = request.command.body
    known = state.clients.memberships_of(request.channel)
    data = known.understood(body)
    if data is None:
        data = HeartbeatData.from_json(javajson.loads(body, values_max=VALUES_MAX))
    _check(data, known)
    full = _overrun(state, request.channel, data, known)
    if full is not None:
        return Reply(waiting_request_memory.no_room(full.text))
    client = Client(
        channel=request.channel,
        client_id=data.client_id,
        language=request.command.language,
        version=request.command.version,
        heard_at=state.now,
        heard_ms=state.wall_ms,
    )
    for group in data.producer_groups:
        state.clients.add_producer(group, client)
    if len(data.consumers) > GROUPS_A_TURN:
        return _registered_in_turns(watch, state, client, data)
    is_changed = _register_all(watch, state, data.consumers, client, data)
    state.clients.memberships_of(request.channel).remember(body, data)
    return _answer(data, is_changed=is_changed)


def _registered_in_turns(
    watch: ClientWatch, state: State, client: Client, data: HeartbeatData
) -> Task[Outcome]:
    is_changed = _register_all(watch, state, data.consumers[:GROUPS_A_TURN], client, data)
    while state.clients.is_registering:
        yield from tasks.wait(state.now + PAUSE_SECONDS)
    state.clients.is_registering = True
    try:
        for first in range(GROUPS_A_TURN, len(data.consumers), GROUPS_A_TURN):
            yield from tasks.wait()
            if client.channel.is_closing:
                return SILENT
            # Another heartbeat of the same client may have come between the turns.
            _check(data, state.clients.memberships_of(client.channel))
            consumers = data.consumers[first : first + GROUPS_A_TURN]
            is_changed = _register_all(watch, state, consumers, client, data) or is_changed
    finally:
        state.clients.is_registering = False
    return _answer(data, is_changed=is_changed)


def _register_all(
    watch: ClientWatch,
    state: State,
    consumers: Sequence[ConsumerData],
    client: Client,
    data: HeartbeatData,
) -> bool:
    """Register these groups. Returns whether the client must send subscriptions again."""
    is_changed = False
    for consumer in consumers:
        if ensure_group(state, consumer.group_name) is not None:
            is_changed = _differs(state, consumer.group_name, data) or is_changed
            _register(watch, state, consumer, client, data)
    return is_changed


def _answer(data: HeartbeatData, *, is_changed: bool) -> Reply:
    # A client without fingerprints always sends its subscriptions. RocketMQ answers so as well.
    is_changed = is_changed or data.fingerprint == 0
    return done(HeartbeatResponse(is_support_heart_beat_v2=True, is_sub_change=is_changed))


def _check(data: HeartbeatData, known: Memberships) -> None:
    """Raise RemoteError if the heartbeat, together with what is known of the client, exceeds a
    limit. Nothing of such a heartbeat is registered."""
    if len(data.client_id) > CLIENT_ID_CHARACTERS_MAX:
        raise RemoteError(f"a client id has at most {CLIENT_ID_CHARACTERS_MAX} characters")
    producers = known.producers.keys() | data.producer_groups
    weights = {**known.consumers, **_weights(data, known)}
    if len(weights) + len(producers) > CLIENT_GROUPS_MAX:
        raise RemoteError(f"a client is in at most {CLIENT_GROUPS_MAX} groups: use several clients")
    if sum(len(each.subscriptions) for each in data.consumers) > SUBSCRIPTIONS_MAX:
        raise RemoteError(
            f"a client has at most {SUBSCRIPTIONS_MAX} subscriptions: use several clients"
        )
    if sum(weights.values()) > WEIGHT_MAX:
        raise RemoteError(
            f"a client's subscriptions take at most {WEIGHT_MAX} bytes: shorten the expressions,"
            " or use several clients"
        )
    for group in data.producer_groups:
        if len(group) > GROUP_CHARACTERS_MAX:
            raise RemoteError(f"a group's name has at most {GROUP_CHARACTERS_MAX} characters")


def _overrun(
    state: State, channel: Channel, data: HeartbeatData, known: Memberships
) -> Overrun | None:
    """Why the broker has no memory for the new contents of a heartbeat; None if it has."""
    weights = _weights(data, known)
    more = sum(weight - known.consumers.get(group, 0) for group, weight in weights.items())
    more += sum(map(producer_weight, set(data.producer_groups) - known.producers.keys()))
    return None if more <= 0 else evictions.overrun(state, channel, Kind.CLIENTS, more)


def _weights(data: HeartbeatData, known: Memberships) -> dict[str, int]:
    """The memory of each group in the heartbeat. A heartbeat without subscriptions keeps the known
    ones."""
    if data.without_sub:
        return {
            each.group_name: known.consumers.get(each.group_name, CONSUMER_BYTES)
            for each in data.consumers
        }
    return {each.group_name: weight_of(each) for each in data.consumers}


def _differs(state: State, name: str, data: HeartbeatData) -> bool:
    """Whether the client must send its subscriptions to the group again."""
    group = state.clients.consumers.get(name)
    known = None if group is None else group.fingerprint
    if known is None:
        # RocketMQ answers no here, and so has no subscriptions after a restart of the broker.
        return data.without_sub
    return known != data.fingerprint


def _register(
    watch: ClientWatch, state: State, consumer: ConsumerData, client: Client, data: HeartbeatData
) -> None:
    name = consumer.group_name
    config = state.groups.find(name)
    assert config is not None, f"group {name} was not ensured"
    # A slave creates no topics: it copies its master's.
    if state.identity.is_master and state.topics.find(RETRY_PREFIX + name) is None:
        _create_retry_topic(state, consumer, config.retry_queue_nums)
    changed = state.clients.add_consumer(consumer, client, keeps_subs=data.without_sub)
    group = state.clients.consumers[name]
    group.fingerprint = data.fingerprint
    state.conflicts.heard(group, client, state.wall_ms)
    if changed:
        watch.changed(name)
        # If members subscribe differently, each heartbeat changes the topics. `conflicts` has
        # logged that once.
        if not group.disagrees:
            state.effects.info(
                f"registerConsumer info changed, group: {name} {consumer.consume_type}"
                f" {consumer.message_model} channel: {client.client_id}@{client.channel.peer}"
                f" topics: {', '.join(group.subscriptions)}"
            )


def _create_retry_topic(state: State, consumer: ConsumerData, queues: int) -> None:
    topics = (state.topics.find(each.topic) for each in consumer.subscriptions)
    create_retry_topic(
        state,
        consumer.group_name,
        queues,
        is_order=any(topic is not None and topic.order for topic in topics),
        sys_flag=UNIT_SUBSCRIBED if consumer.unit_mode else 0,
    )


def unregister_client(watch: ClientWatch, state: State, request: Request) -> Reply:
    header = UnregisterClientRequest.decode(request.command.ext)
    if header.producer_group is not None:
        state.clients.remove_producer(header.producer_group, request.channel)
    if header.consumer_group is not None and state.clients.remove_consumer(
        header.consumer_group, request.channel
    ):
        watch.unregistered(header.consumer_group)
    return done()


def get_consumer_list_by_group(state: State, request: Request) -> Reply:
    name = ConsumerGroupRequest.decode(request.command.ext).consumer_group
    group = state.clients.consumers.get(name)
    if group is None:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"no consumer for this group, {name}: none of its members has sent a heartbeat to"
            f" {state.identity.address} within"
            f" {state.settings.channel_expired_timeout // 1000} s",
        )
    return done_json(ConsumerIds(tuple(group.client_ids())).to_json())


HANDLERS: Final[Handlers] = {
    RequestCode.GET_CONSUMER_LIST_BY_GROUP: get_consumer_list_by_group,
}

BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.HEART_BEAT: lambda services: partial(heart_beat, services.client_watch),
    RequestCode.UNREGISTER_CLIENT: lambda services: partial(
        unregister_client, services.client_watch
    ),
}
