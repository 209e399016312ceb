"""Handles the requests to create, change, delete and list topics.

An answered change is in the file. A topic that shrinks keeps its queues and their messages, as in
Java; they are accessible again when it grows. A list in one request is checked as a whole before
its first topic is created. An unchanged topic in the list does not prevent changes of the other
topics; in Java it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.engine.tasks import Task
from gantrymq.broker.core.messages import File, Outcome, Register, Reply, Request
from gantrymq.broker.core.metadata import attributes, topic_creation
from gantrymq.broker.core.metadata.table_changes import stored, undone
from gantrymq.broker.core.names.name_rules import RETRY_PREFIX, topic_fault
from gantrymq.broker.core.names.system_topics import is_guarded, system_topics
from gantrymq.broker.core.pop.pops import Pops
from gantrymq.broker.core.processor.handler import BoundHandlers, Handlers
from gantrymq.broker.core.replication import slave_refusals
from gantrymq.broker.core.replication.slave_synchronizer import OWN_MARK
from gantrymq.broker.core.responses import done, done_json, refused
from gantrymq.broker.core.state import State
from gantrymq.broker.core.tables.table_memory import TOPIC_BYTES
from gantrymq.broker.core.tables.topics import TOPICS_MAX, queues_of
from gantrymq.wire import javajson
from gantrymq.wire.bodies.shared import DataVersion, TopicConfig, TopicFilterType
from gantrymq.wire.bodies.topics import TopicList
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.topic import (
    CreateTopicRequest,
    DeleteTopicRequest,
    GetTopicConfigRequest,
)
from gantrymq.wire.jsonvalue import Json, JsonObject, list_of, object_of
from gantrymq.wire.version import V5_0_0

# Answers about a topic have an entry for each queue, and clients make an object of each.
QUEUES_MAX: Final = 16_384

_PERM_MAX: Final = 7

T = TypeVar("T")

# Topics of one request that one turn checks or changes: each takes about 45 us, mostly for its text
# in the file. A lower number would cost more, because each turn may write the file.
TOPICS_A_TURN: Final = 512


# ---------------------------------------------------------------------- making and changing


def update_and_create_topic(state: State, request: Request) -> Outcome | Task[Outcome]:
    header = CreateTopicRequest.decode(request.command.ext)
    if header.topic_filter_type not in set(TopicFilterType):
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"No enum constant TopicFilterType.{header.topic_filter_type}: it is SINGLE_TAG or"
            " MULTI_TAG",
        )
    wanted = TopicConfig(
        header.topic,
        read_queue_nums=header.read_queue_nums,
        write_queue_nums=header.write_queue_nums,
        perm=header.perm,
        topic_filter_type=TopicFilterType(header.topic_filter_type),
        topic_sys_flag=header.topic_sys_flag or 0,
        order=header.order,
        attributes=attributes.parse_changes(header.attributes or ""),
    )
    return _change(state, request, [wanted])


def update_and_create_topic_list(state: State, request: Request) -> Outcome | Task[Outcome]:
    bean = object_of(javajson.loads(request.command.body), "CreateTopicListRequestBody")
    topics = list_of(bean.get("topicConfigList"), "topicConfigList")
    return _change_list(state, request, topics)


def _change_list(state: State, request: Request, topics: Sequence[Json]) -> Task[Outcome]:
    """Change many topics, a slice each turn.

    Another client may change one of them in between; the later change wins. If the room is gone by
    then, or this broker is no longer the master, the rest of the list is not created.
    """
    wanted: list[TopicConfig] = []
    yield from tasks.each(
        topics, lambda topic: wanted.append(TopicConfig.from_json(topic)), TOPICS_A_TURN
    )
    configs: dict[str, TopicConfig] = {}
    for first in range(0, len(wanted), TOPICS_A_TURN):
        refusal = _checked(state, wanted[first : first + TOPICS_A_TURN], configs)
        if refusal is not None:
            return refusal
        yield from tasks.wait()
    refusal = _no_room(state, configs)
    if refusal is not None:
        return refusal
    put: list[str] = []
    changed: list[str] = []
    for part in slices(configs):
        refusal = slave_refusals.refuse(state, request) or _no_room(state, part)
        if refusal is not None:
            break
        put += part
        for config in part.values():
            _put(state, request, config, changed)
        yield from tasks.wait()
    announced = yield from _announced(state, tuple(put), tuple(changed))
    return refusal or announced


def slices(configs: Mapping[str, T]) -> Iterator[Mapping[str, T]]:
    """Yield the parts that are changed in one turn each."""
    items = list(configs.items())
    for first in range(0, len(items), TOPICS_A_TURN):
        yield dict(items[first : first + TOPICS_A_TURN])


def _change(
    state: State, request: Request, wanted: Sequence[TopicConfig]
) -> Outcome | Task[Outcome]:
    """Change topics in one turn; the attributes in `wanted` are changes to the existing ones."""
    configs: dict[str, TopicConfig] = {}
    refusal = _checked(state, wanted, configs) or _no_room(state, configs)
    if refusal is not None:
        return refusal
    changed: list[str] = []
    for config in configs.values():
        _put(state, request, config, changed)
    return _announced(state, tuple(configs), tuple(changed))


def _checked(
    state: State, wanted: Sequence[TopicConfig], configs: dict[str, TopicConfig]
) -> Reply | None:
    """Add the resulting configurations to `configs`, or return why one of them is invalid."""
    for each in wanted:
        refusal = _refusal(state, each)
        if refusal is not None:
            return refusal
        known = configs.get(each.topic_name) or state.topics.find(each.topic_name)
        current = None if known is None else known.attributes
        kept = attributes.altered(attributes.TOPIC_ATTRIBUTES, current, each.attributes)
        configs[each.topic_name] = replace(each, attributes=kept)
    return None


def _no_room(state: State, configs: Mapping[str, TopicConfig]) -> Reply | None:
    """Why the broker has no room for these topics or queues, else None."""
    new = [topic for topic in configs if state.topics.find(topic) is None]
    if len(state.topics) + len(new) > TOPICS_MAX:
        return refused(
            ResponseCode.SYSTEM_ERROR,
            f"no topic was made: a broker has {TOPICS_MAX} topics at most, this one"
            f" {len(state.topics)}; delete some with mqadmin deleteTopic",
        )
    obstacle = state.table_memory.obstacle(len(new) * TOPIC_BYTES)
    if obstacle is not None:
        return refused(ResponseCode.SYSTEM_ERROR, f"no topic was made: {obstacle}")
    return _too_many_queues(state, configs)


def _put(state: State, request: Request, config: TopicConfig, changed: list[str]) -> None:
    topic = config.topic_name
    before = state.topics.find(topic)
    if before is None:
        state.topics.unsaved.add(topic)
    if state.topics.put(config, state.wall_ms):
        changed.append(topic)
        verb = "create new" if before is None else f"update topic config, old:[{before}] new:"
        state.effects.info(f"{verb} topic [{config}], caller={request.channel.peer}")


def _too_many_queues(state: State, configs: Mapping[str, TopicConfig]) -> Reply | None:
    """Why these topics may not have so many queues; None when they may."""
    more = 0
    for topic, config in configs.items():
        before = state.topics.find(topic)
        more += queues_of(config) - (0 if before is None else queues_of(before))
    if more <= 0 or topic_creation.has_queues(state, more):
        return None
    return refused(
        ResponseCode.SYSTEM_ERROR, f"no topic was made: {topic_creation.no_queues(state, more)}"
    )


def _announced(state: State, topics: tuple[str, ...], changed: tuple[str, ...]) -> Task[Outcome]:
    """Save the topics and announce them to the name servers; announce also when saving failed.

    When this is answered, the name servers know of the changes.
    """
    failure = yield from stored(state, File.TOPICS)
    if changed:
        state.effects.add(Register(changed))
    yield from tasks.told()
    if failure is not None:
        return not_saved(failure)
    for topic in topics:
        state.topics.saved(topic)
    return done()


def not_saved(failure: str) -> Reply:
    """The refusal of a change that is in force and will be retried, but that a crash would undo."""
    return refused(ResponseCode.SYSTEM_ERROR, undone(failure))


def _refusal(state: State, wanted: TopicConfig) -> Reply | None:
    topic = wanted.topic_name
    fault = topic_fault(topic)
    if fault is not None:
        return refused(ResponseCode.INVALID_PARAMETER, fault)
    if _is_protected(state, topic):
        return _protected(topic)
    if wanted.attributes.get(f"+{attributes.MESSAGE_TYPE}") == attributes.MIXED:
        return refused(ResponseCode.INVALID_PARAMETER, "MIXED message type is not supported.")
    for name, number in (
        ("readQueueNums", wanted.read_queue_nums),
        ("writeQueueNums", wanted.write_queue_nums),
    ):
        if not 0 <= number <= QUEUES_MAX:
            return refused(
                ResponseCode.INVALID_PARAMETER,
                f"{name} of topic[{topic}] is {number}, it may be 0 to {QUEUES_MAX}",
            )
    if not 0 <= wanted.perm <= _PERM_MAX:
        return refused(
            ResponseCode.INVALID_PARAMETER,
            f"perm of topic[{topic}] is {wanted.perm}: 2 is write, 4 read, 6 both",
        )
    return None


def _is_protected(state: State, topic: str) -> bool:
    return state.settings.validate_system_topic_when_update_topic and is_guarded(state, topic)


def _protected(topic: str) -> Reply:
    return refused(
        ResponseCode.INVALID_PARAMETER, f"The topic[{topic}] is conflict with system topic."
    )


# ---------------------------------------------------------------------- deleting


def delete_topic(pops: Pops, state: State, request: Request) -> Outcome | Task[Outcome]:
    """Delete a topic with its queues, offsets, in-flight messages and pop retry topics.

    A topic that does not exist is deleted as well, since parts of it may be left.
    """
    topic = DeleteTopicRequest.decode(request.command.ext).topic
    if not topic.strip():
        return refused(ResponseCode.INVALID_PARAMETER, "The specified topic is blank.")
    if _is_protected(state, topic):
        return _protected(topic)
    gone = [topic, *_pop_retry_topics(state, topic)]
    for each in gone:
        was_there = state.topics.remove(each, state.wall_ms)
        state.offsets.remove(topic=each)
        state.resets.remove(topic=each)
        pops.remove(topic=each)
        state.topics.unsaved.discard(each)
        state.store.delete_topic(each)
        state.effects.info(
            f"delete topic config {'OK' if was_there else 'failed, not exists'}, topic: {each},"
            f" caller={request.channel.peer}"
        )
    return _forgotten(state)


def _forgotten(state: State) -> Task[Outcome]:
    failure = yield from stored(state, File.TOPICS, File.OFFSETS, File.POPS)
    state.effects.add(Register())
    return done() if failure is None else not_saved(failure)


def _pop_retry_topics(state: State, topic: str) -> list[str]:
    """The pop retry topics of groups that consume the topic, in both of RocketMQ's spellings."""
    names = (
        f"{RETRY_PREFIX}{group}{separator}{topic}"
        for group in state.offsets.groups_of(topic)
        for separator in "+_"
    )
    return [name for name in names if state.topics.find(name) is not None]


# ---------------------------------------------------------------------- asking


def get_topic_config(state: State, request: Request) -> Outcome:
    topic = GetTopicConfigRequest.decode(request.command.ext).topic
    config = state.topics.find(topic)
    if config is None:
        return refused(
            ResponseCode.TOPIC_NOT_EXIST,
            f"No topic in this broker. topic: {topic}; mqadmin topicRoute -t {topic} shows which"
            " has it",
        )
    return done_json(config.to_json())


def get_all_topic_config(state: State, request: Request) -> Outcome:
    """Answer all topics, in a form that slaves of both release lines read; there are no static
    topics."""
    mapping = DataVersion(state.started_ms).to_json()
    is_for_java = _is_slave_of_java5(state, request)
    topics = _content_for_java5(state) if is_for_java else state.topics.content()
    return done(
        body=b'%b,"mappingDataVersion":%b,"topicQueueMappingDetailMap":{}'
        b',"topicQueueMappingInfoMap":{}}' % (topics[:-1], javajson.dumps_fastjson(mapping))
    )


def _is_slave_of_java5(state: State, request: Request) -> bool:
    """Whether a Java 5 slave asks: requests of slaves and administrators look alike, so the address
    decides."""
    if request.command.version < V5_0_0 or OWN_MARK.items() <= (request.command.ext or {}).items():
        return False
    host = request.channel.peer.rpartition(":")[0]
    followers = state.replication.followers(state.now)
    return any(follower.address.rpartition(":")[0] == host for follower in followers)


def _content_for_java5(state: State) -> bytes:
    """The topics in the form that a Java 5.3 slave can create them from.

    Java 5.3 creates each topic as if by a request. Attributes without a sign, or of a store type
    that it does not have, would abort its synchronization.
    """
    table: JsonObject = {
        name: replace(config, attributes=attributes.to_create(config.attributes)).to_json()
        for name, config in state.topics.all.items()
    }
    version = state.topics.data_version.to_json()
    return javajson.dumps_fastjson({"dataVersion": version, "topicConfigTable": table})


def get_system_topic_list(state: State, request: Request) -> Outcome:
    return done_json(TopicList(tuple(system_topics(state))).to_json())


HANDLERS: Final[Handlers] = {
    RequestCode.UPDATE_AND_CREATE_TOPIC: update_and_create_topic,
    RequestCode.UPDATE_AND_CREATE_TOPIC_LIST: update_and_create_topic_list,
    RequestCode.GET_TOPIC_CONFIG: get_topic_config,
    RequestCode.GET_ALL_TOPIC_CONFIG: get_all_topic_config,
    RequestCode.GET_SYSTEM_TOPIC_LIST_FROM_BROKER: get_system_topic_list,
}

BOUND_HANDLERS: Final[BoundHandlers] = {
    RequestCode.DELETE_TOPIC_IN_BROKER: lambda services: partial(delete_topic, services.pops),
}
