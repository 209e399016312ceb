"""What requests need: rights to topics and groups, or an administrator.

| code | needs |
|---|---|
| 10, 310, 320 send | PUB of the topic; SUB of the group where that is its retry topic |
| 324, 325 reply | nothing to a ..._REPLY_TOPIC, else as a send |
| 11, 361 pull; 200050.. pop, ack, peek | SUB of the topic and of the group |
| 200151 acknowledge many | the same, for each |
| 12 query | SUB of the topic |
| 15 offset, 222 reset | SUB of the group and of the topic |
| 314 clone offsets | SUB of both groups, and of the topic where one is named |
| 41, 42 lock and unlock queues | SUB of the group and of each topic |
| 307, 309 ask a consumer | SUB of the group |
| 34 heartbeat | SUB of each consumer group and of each topic it subscribes to |
| 35 unregister, 36 send back, 38 members | SUB of the consumer group |
| 370 recall, 30001 note of a producer session | PUB of the topic |
| BROKER_ADMIN, NAME_SERVER_ADMIN | an administrator |

Everything else needs a good signature and no more, as in Java. What a request is about may be known
only when its message was read (33, 36, 37, 309, 323): access.py of the broker asks once more then.

Java knows none of 41, 42, 222, 307, 309, 314, 320, 324, 325, 361, 370 nor pops, takes a retry
topic's group from a field that its sender may choose, and lets any account change all others; here
those are closed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from gantrymq.acl.rights import Need, Right, consuming_needs, group_need, topic_need
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import HeartbeatData
from gantrymq.wire.bodies.locks import QueuesOfClient
from gantrymq.wire.bodies.pops import BatchAckBody
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command

BROKER_ADMIN: Final = frozenset(
    {
        Code.UPDATE_AND_CREATE_TOPIC,
        Code.UPDATE_AND_CREATE_TOPIC_LIST,
        Code.DELETE_TOPIC_IN_BROKER,
        Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP,
        Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST,
        Code.DELETE_SUBSCRIPTIONGROUP,
        Code.UPDATE_AND_GET_GROUP_FORBIDDEN,
        Code.SET_MESSAGE_REQUEST_MODE,
        Code.UPDATE_BROKER_CONFIG,
        Code.CLEAN_EXPIRED_CONSUMEQUEUE,
        Code.CLEAN_UNUSED_TOPIC,
        Code.DELETE_EXPIRED_COMMITLOG,
        Code.UPDATE_AND_CREATE_ACL_CONFIG,
        Code.DELETE_ACL_CONFIG,
        Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG,
        Code.GET_BROKER_CLUSTER_ACL_CONFIG,
        Code.GANTRY_LIST_QUOTAS,
        Code.GANTRY_SET_QUOTA,
        Code.GANTRY_DELETE_QUOTA,
    }
)
"""What changes a broker for all who use it. The last one shows secret keys."""

NAME_SERVER_ADMIN: Final = frozenset(
    {
        Code.REGISTER_BROKER,
        Code.UNREGISTER_BROKER,
        Code.BROKER_HEARTBEAT,
        Code.QUERY_DATA_VERSION,
        Code.PUT_KV_CONFIG,
        Code.DELETE_KV_CONFIG,
        Code.WIPE_WRITE_PERM_OF_BROKER,
        Code.ADD_WRITE_PERM_OF_BROKER,
        Code.REGISTER_TOPIC_IN_NAMESRV,
        Code.DELETE_TOPIC_IN_NAMESRV,
        Code.UPDATE_NAMESRV_CONFIG,
        Code.GET_NAMESRV_CONFIG,
    }
)
"""What brokers and administrators ask of a name server; clients ask for routes and KV values."""

REPLY_SUFFIX: Final = "_REPLY_TOPIC"

# As many as the broker itself reads.
LOCKS_BYTES_MAX: Final = 1 << 20

_Needs: TypeAlias = Callable[[Command], Sequence[Need]]


def needs_of(command: Command) -> Sequence[Need]:
    """RemoteError where the request is none that could be understood."""
    find = _BY_CODE.get(command.code)
    return () if find is None else find(command)


def _topic(field: str, right: Right) -> _Needs:
    def find(command: Command) -> Sequence[Need]:
        name = (command.ext or {}).get(field)
        return () if name is None else (topic_need(name, right),)

    return find


def _reply(field: str) -> _Needs:
    """Whoever was asked may answer: the topic is the cluster's own, and nobody consumes it."""
    find_topic = _topic(field, Right.PUB)

    def find(command: Command) -> Sequence[Need]:
        is_own = (command.ext or {}).get(field, "").endswith(REPLY_SUFFIX)
        return () if is_own else find_topic(command)

    return find


def _group(field: str) -> _Needs:
    def find(command: Command) -> Sequence[Need]:
        name = (command.ext or {}).get(field)
        return () if not name else (group_need(name),)

    return find


def _both(group_field: str, *, by_place: bool = True) -> _Needs:
    """A topic and a group. `by_place`: of a message that was handed out, whose topic may be where
    the group pops again; who only reads names the topic itself."""

    def find(command: Command) -> Sequence[Need]:
        ext = command.ext or {}
        topic, group = ext.get("topic"), ext.get(group_field)
        meant = group if by_place and group else ""
        needs = [] if topic is None else list(consuming_needs(topic, meant))
        return [*needs, group_need(group)] if group else needs

    return find


def _clone(command: Command) -> Sequence[Need]:
    """Both groups: what one has consumed tells, what the other goes on with changes."""
    ext = command.ext or {}
    groups = [group for field in ("srcGroup", "destGroup") if (group := ext.get(field))]
    topic = ext.get("topic")
    needs = [topic_need(topic, Right.SUB)] if topic else []
    return [*needs, *map(group_need, groups)]


def _locks(command: Command) -> Sequence[Need]:
    asked = QueuesOfClient.from_json(javajson.loads(command.body, LOCKS_BYTES_MAX))
    topics = dict.fromkeys(queue.topic for queue in asked.queues)
    needs = [need for topic in topics for need in consuming_needs(topic, asked.consumer_group)]
    return [group_need(asked.consumer_group), *needs]


def _acks(command: Command) -> Sequence[Need]:
    if not command.body:
        return ()
    acks = BatchAckBody.from_json(javajson.loads(command.body)).acks
    pairs = dict.fromkeys((ack.topic, ack.group) for ack in acks)
    needs = [need for topic, group in pairs for need in consuming_needs(topic, group)]
    return [*needs, *map(group_need, dict.fromkeys(group for _, group in pairs))]


def _heartbeat(command: Command) -> Sequence[Need]:
    data = HeartbeatData.from_json(javajson.loads(command.body))
    needs: list[Need] = []
    for consumer in data.consumers:
        needs.append(group_need(consumer.group_name))
        needs += [topic_need(each.topic, Right.SUB) for each in consumer.subscriptions]
    return needs


_READING: Final = _both("consumerGroup", by_place=False)
_CONSUMED: Final = _both("consumerGroup")

_BY_CODE: Final[Mapping[int, _Needs]] = {
    Code.SEND_MESSAGE: _topic("topic", Right.PUB),
    Code.SEND_MESSAGE_V2: _topic("b", Right.PUB),
    Code.SEND_BATCH_MESSAGE: _topic("b", Right.PUB),
    Code.SEND_REPLY_MESSAGE: _reply("topic"),
    Code.SEND_REPLY_MESSAGE_V2: _reply("b"),
    Code.RECALL_MESSAGE: _topic("topic", Right.PUB),
    Code.GANTRY_SESSION_NOTE: _topic("topic", Right.PUB),
    Code.QUERY_MESSAGE: _topic("topic", Right.SUB),
    Code.PULL_MESSAGE: _READING,
    Code.LITE_PULL_MESSAGE: _READING,
    Code.POP_MESSAGE: _READING,
    Code.PEEK_MESSAGE: _READING,
    Code.NOTIFICATION: _READING,
    Code.ACK_MESSAGE: _CONSUMED,
    Code.CHANGE_MESSAGE_INVISIBLETIME: _CONSUMED,
    Code.BATCH_ACK_MESSAGE: _acks,
    Code.UPDATE_CONSUMER_OFFSET: _CONSUMED,
    Code.INVOKE_BROKER_TO_RESET_OFFSET: _both("group"),
    Code.CLONE_GROUP_OFFSET: _clone,
    Code.LOCK_BATCH_MQ: _locks,
    Code.UNLOCK_BATCH_MQ: _locks,
    Code.GET_CONSUMER_RUNNING_INFO: _group("consumerGroup"),
    Code.CONSUME_MESSAGE_DIRECTLY: _group("consumerGroup"),
    Code.HEART_BEAT: _heartbeat,
    Code.UNREGISTER_CLIENT: _group("consumerGroup"),
    Code.GET_CONSUMER_LIST_BY_GROUP: _group("consumerGroup"),
    Code.CONSUMER_SEND_MSG_BACK: _group("group"),
}
