"""Handles queries for routes, clusters and topics, and changes of topics by administrators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from gantrymq.namesrv.core.config.kvconfig import ORDER_TOPIC_CONFIG
from gantrymq.namesrv.core.fields import flag, shown, text
from gantrymq.namesrv.core.messages import Outcome, Reply, Request
from gantrymq.namesrv.core.responses import disabled, done, refused, topic_list
from gantrymq.namesrv.core.routing.answers import broker_data
from gantrymq.namesrv.core.routing.placement import Placement
from gantrymq.namesrv.core.routing.routes import some, without_write_permission
from gantrymq.namesrv.core.state import Handler, State
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import BrokerMemberGroup
from gantrymq.wire.bodies.route import QueueData, TopicRouteData
from gantrymq.wire.bodies.shared import Permission
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.route import AddWritePermResponse, WipeWritePermResponse
from gantrymq.wire.version import V4_9_4

# Priority, read, write, inherit: four bits.
_PERMISSIONS: Final = range(16)

_UNIT_FLAG: Final = 1
_UNIT_SUB_FLAG: Final = 2

# Brokers of a group talk to each other through this topic, so an acting master must not be shown.
_MEMBER_TOPIC_PREFIX: Final = "rmq_sys_SYNC_BROKER_MEMBER_"

_HELP: Final = "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."


def get_route(state: State, request: Request, now: float) -> Outcome:
    """Answer a route query. The hot path: every client asks for every topic every 30 s."""
    command = request.command
    ext = command.ext
    topic = ext.get("topic") if ext else None
    settings = state.settings
    age = now - state.started_at
    if settings.need_wait_for_service and age < settings.wait_seconds_for_service:
        return refused(ResponseCode.SYSTEM_ERROR, "name server not ready")
    placement = None if topic is None else state.routes.topics.get(topic)
    if placement is None or topic is None:
        return _no_route(state, topic, now)
    standard = command.version >= V4_9_4 or flag(command, "acceptStandardJsonOnly") is True
    view = state.answers.view(request.channel.listener, standard=standard)
    order = None
    if settings.order_message_enable:
        order = state.namespaces.get(ORDER_TOPIC_CONFIG, {}).get(topic)
    acting = settings.support_acting_master and not topic.startswith(_MEMBER_TOPIC_PREFIX)
    zone = _zone(command)
    if order is None and zone is None and not acting:
        body = state.answers.route(placement, view)
    else:
        body = state.answers.compose(placement, view, order=order, acting=acting, zone=zone)
    return Reply(Command(ResponseCode.SUCCESS, body=body))


def _no_route(state: State, topic: str | None, now: float) -> Reply:
    state.counters.route_misses += 1
    age = now - state.started_at
    warm_up = state.settings.warm_up_seconds
    if age < warm_up:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"name server not ready, it started {age:.0f} s ago: brokers of topic {shown(topic)}"
            f" may not have registered yet; ask again in {warm_up - age:.0f} s",
        )
    return refused(
        ResponseCode.TOPIC_NOT_EXIST,
        f"No topic route info in name server for the topic: {shown(topic)}{_HELP}",
    )


def _zone(command: Command) -> str | None:
    """The client's zone, if it asks for brokers of its zone only."""
    if not flag(command, "__ZONE_MODE"):
        return None
    zone = text(command, "__ZONE_NAME")
    return zone if zone and not zone.isspace() else None


def get_cluster_info(state: State, request: Request, now: float) -> Outcome:
    return done(body=state.answers.cluster_info(request.channel.listener))


def get_member_group(state: State, request: Request, now: float) -> Outcome:
    cluster, name = text(request.command, "clusterName"), text(request.command, "brokerName")
    group = None if name is None else state.routes.groups.get(name)
    body = BrokerMemberGroup(cluster, name)
    if group is not None:
        addresses = broker_data(group, request.channel.listener).addresses
        body = BrokerMemberGroup(cluster, name, addresses)
    return done(body=javajson.dumps_fastjson(body.to_json()))


def all_topics(state: State, request: Request, now: float) -> Outcome:
    if not state.settings.enable_all_topic_list:
        return disabled()
    return topic_list(TopicList(tuple(state.routes.topics)))


def topics_by_cluster(state: State, request: Request, now: float) -> Outcome:
    if not state.settings.enable_topic_list:
        return disabled()
    names = state.routes.clusters.get(text(request.command, "cluster") or "", set())
    return _topics_where(state, lambda placement: any(name in placement for name in names))


def system_topics(state: State, request: Request, now: float) -> Outcome:
    """The names of clusters and brokers, because brokers have topics with these names."""
    names: list[str] = []
    for cluster, brokers in state.routes.clusters.items():
        names += [cluster, *sorted(brokers)]
    member = next(iter(state.routes.members.values()), None)
    address = None if member is None else member.address_for(request.channel.listener)
    return topic_list(TopicList(tuple(names), address))


def unit_topics(state: State, request: Request, now: float) -> Outcome:
    return _topics_by_flag(state, lambda flags: bool(flags & _UNIT_FLAG))


def unit_sub_topics(state: State, request: Request, now: float) -> Outcome:
    return _topics_by_flag(state, lambda flags: bool(flags & _UNIT_SUB_FLAG))


def unit_sub_ununit_topics(state: State, request: Request, now: float) -> Outcome:
    wanted = _UNIT_SUB_FLAG
    return _topics_by_flag(state, lambda flags: flags & (_UNIT_FLAG | _UNIT_SUB_FLAG) == wanted)


def _topics_by_flag(state: State, holds: Callable[[int], bool]) -> Reply:
    """Select topics by the flags on their first broker, as in Java."""
    if not state.settings.enable_topic_list:
        return disabled()
    return _topics_where(state, lambda placement: holds(placement.queues[0].topic_sys_flag))


def _topics_where(state: State, holds: Callable[[Placement], bool]) -> Reply:
    return topic_list(TopicList(tuple(state.routes.topics.topics_where(holds))))


def delete_topic(state: State, request: Request, now: float) -> Outcome:
    """Delete a topic: from one cluster if it is named, otherwise everywhere."""
    topic, cluster = text(request.command, "topic"), text(request.command, "clusterName")
    placement = None if topic is None else state.routes.topics.get(topic)
    if topic is None or placement is None:
        return done()
    names: Iterable[str] = (queue.broker_name for queue in placement.queues)
    if cluster:
        names = state.routes.clusters.get(cluster, set()).intersection(names)
    removed = frozenset(names)
    if not removed:
        return done()
    if not state.routes.topics.has_room_without([topic], state.limits.placed_queues_max):
        return _too_many_ways(state)
    ended = state.routes.remove_from_topics([topic], removed)
    state.effects.info(f"deleteTopic, remove one broker's topic {some(sorted(removed))} {topic}")
    if ended:
        state.effects.info(f"deleteTopic, remove the topic all queue {cluster or ''} {topic}")
    return done()


def register_topic(state: State, request: Request, now: float) -> Outcome:
    """Register one topic's queues; ignored as a whole if any of the brokers is unknown."""
    topic = text(request.command, "topic")
    if not topic or not request.command.body:
        return done()
    route = TopicRouteData.from_json(javajson.loads(request.command.body))
    for queue in route.queues:
        if min(queue.read_queue_nums, queue.write_queue_nums) < 0 or queue.perm not in _PERMISSIONS:
            return refused(ResponseCode.SYSTEM_ERROR, f"topic not registered: {queue} cannot be")
        if queue.broker_name not in state.routes.groups:
            state.effects.warning(f"Register topic contains illegal broker, {topic}, {queue}")
            return done()
    table, limits = state.routes.topics, state.limits
    is_new = topic not in table
    if len(topic) > limits.name_characters_max or (is_new and len(table) >= limits.topics_max):
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"topic not registered: at most {limits.topics_max} topics with names of at most"
            f" {limits.name_characters_max} characters",
        )
    before = table.get(topic)
    most = len(route.queues) + (0 if before is None else len(before.queues))
    if table.placed_queues + most > limits.placed_queues_max:
        return _too_many_ways(state)
    table.place((topic, queue) for queue in route.queues)
    state.routes.forget_digests(queue.broker_name for queue in route.queues)
    brokers = some([queue.broker_name for queue in route.queues])
    what = "Register topic route:" if is_new else "Topic route already exist."
    state.effects.info(f"{what}{topic}, {brokers}")
    return done()


def _too_many_ways(state: State) -> Reply:
    return refused(
        ResponseCode.SYSTEM_ERROR,
        "nothing was changed: topics have too many different routes, their queues would exceed the"
        f" {state.limits.placed_queues_max} of this name server",
    )


def wipe_write_permission(state: State, request: Request, now: float) -> Outcome:
    """Stop new messages for this broker; consumers can still read its messages."""
    name = text(request.command, "brokerName")
    state.effects.info(f"wipe write perm of broker[{shown(name)}], client: {request.channel.peer}")
    count = _change_queues(state, name, without_write_permission)
    return done(WipeWritePermResponse(wipe_topic_count=count))


def add_write_permission(state: State, request: Request, now: float) -> Outcome:
    """Set exactly read and write, as Java does: an inherit bit is lost."""
    name = text(request.command, "brokerName")
    state.effects.info(f"add write perm of broker[{shown(name)}], client: {request.channel.peer}")
    both = Permission.READ | Permission.WRITE
    count = _change_queues(state, name, lambda queue: replace(queue, perm=int(both)))
    return done(AddWritePermResponse(add_topic_count=count))


def _change_queues(state: State, name: str | None, change: Callable[[QueueData], QueueData]) -> int:
    return 0 if name is None else state.routes.topics.replace(name, change)


REQUESTS: Final[dict[int, Handler]] = {
    RequestCode.GET_ROUTEINFO_BY_TOPIC: get_route,
    RequestCode.GET_BROKER_CLUSTER_INFO: get_cluster_info,
    RequestCode.GET_BROKER_MEMBER_GROUP: get_member_group,
    RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: all_topics,
    RequestCode.GET_TOPICS_BY_CLUSTER: topics_by_cluster,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_NS: system_topics,
    RequestCode.GET_UNIT_TOPIC_LIST: unit_topics,
    RequestCode.GET_HAS_UNIT_SUB_TOPIC_LIST: unit_sub_topics,
    RequestCode.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: unit_sub_ununit_topics,
    RequestCode.DELETE_TOPIC_IN_NAMESRV: delete_topic,
    RequestCode.REGISTER_TOPIC_IN_NAMESRV: register_topic,
    RequestCode.WIPE_WRITE_PERM_OF_BROKER: wipe_write_permission,
    RequestCode.ADD_WRITE_PERM_OF_BROKER: add_write_permission,
}
