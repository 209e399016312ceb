"""Defines what each request needs: one row for every request that a server carries out.

A row says three things: what an account of plain_acl.yml needs (`Plain`); which topics and groups
the request concerns and what a user's policies must allow for them (its finder); and whether the
request may name none. Invariant: a request without a row, and one that names nothing although its
row requires it, is for administrators only. So a new request is refused until it gets a row.

Users are judged as in Java 5.3, by the same resources and actions, with two exceptions. Java has no
row for some requests (it lets every user change settings, create groups, or delete expired files).
And Java trusts what some requests say about a message's topic. There the actions are those of the
ordinary request with the same effect. For 33, 36, 37, 309 and 323 the topic is known only when the
message was read: access.py of the broker checks again then.

Accounts are judged as in Java 4.9, except for 41, 42, 222, 307, 309, 314, 320, 324, 325, 361, 370
and pops, which Java does not know or judges by fields that a sender may choose.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, final

from gantrymq.acl.requests.finders import (
    Finder,
    acks,
    all_of,
    both,
    clone,
    cluster,
    group,
    heartbeat,
    locks,
    names,
    nothing,
    of_body,
    reply,
    topic,
)
from gantrymq.acl.rights.actions import Action
from gantrymq.acl.rights.rights import Need, Resource, Right
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.command import Command


class Plain(Enum):
    """What an account of plain_acl.yml needs for a request."""

    SIGNATURE = "signature"
    """A valid signature: the request reads nothing secret."""
    RIGHTS = "rights"
    """The rights to the topics and groups that the request concerns."""
    ADMIN = "admin"
    """The account must be an administrator."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """What one request needs."""

    plain: Plain
    find: Finder
    may_name_nothing: bool = False
    for_super_users: bool = False
    """Whether no policy can allow it."""

    def needs_of(self, command: Command) -> Sequence[Need]:
        """The needs of the request; RemoteError if it cannot be parsed."""
        return self.find(command)


Requests: TypeAlias = Mapping[int, Row]

_READ: Final = Action.GET
_LIST: Final = Action.GET | Action.LIST
_SUB_OR_READ: Final = Action.SUB | Action.GET
_TOPIC_READ: Final = topic("topic", Right.SUB, _READ)
_OFFSET_READ: Final = topic("topic", Right.SUB, _SUB_OR_READ)
_READING: Final = both("consumerGroup", by_place=False)
_CONSUMED: Final = both("consumerGroup")
_PUB: Final = topic("topic", Right.PUB)
_PUB_B: Final = topic("b", Right.PUB)


def _rights(find: Finder, *, may_name_nothing: bool = False) -> Row:
    return Row(Plain.RIGHTS, find, may_name_nothing)


def _signed(find: Finder) -> Row:
    return Row(Plain.SIGNATURE, find)


def _admin(find: Finder, *, for_super_users: bool = False) -> Row:
    return Row(Plain.ADMIN, find, for_super_users=for_super_users)


_SENDS: Final[Requests] = {
    Code.SEND_MESSAGE: _rights(_PUB),
    Code.SEND_MESSAGE_V2: _rights(_PUB_B),
    Code.SEND_BATCH_MESSAGE: _rights(_PUB_B),
    Code.SEND_REPLY_MESSAGE: _rights(reply("topic"), may_name_nothing=True),
    Code.SEND_REPLY_MESSAGE_V2: _rights(reply("b"), may_name_nothing=True),
    Code.RECALL_MESSAGE: _rights(_PUB),
    Code.GANTRY_SESSION_NOTE: _rights(_PUB),
    # 4.9's producers name no topic: access.py judges by the message.
    Code.END_TRANSACTION: _rights(_PUB, may_name_nothing=True),
    Code.RESUME_CHECK_HALF_MESSAGE: _rights(_PUB, may_name_nothing=True),
}

_CONSUMING: Final[Requests] = {
    Code.PULL_MESSAGE: _rights(_READING),
    Code.LITE_PULL_MESSAGE: _rights(_READING),
    Code.POP_MESSAGE: _rights(_READING),
    Code.PEEK_MESSAGE: _rights(_READING),
    Code.NOTIFICATION: _rights(_READING),
    Code.POLLING_INFO: _signed(both("consumerGroup", _READ)),
    Code.ACK_MESSAGE: _rights(_CONSUMED),
    Code.BATCH_ACK_MESSAGE: _rights(acks),
    Code.CHANGE_MESSAGE_INVISIBLETIME: _rights(_CONSUMED),
    Code.CONSUMER_SEND_MSG_BACK: _rights(group("group")),
    Code.CONSUME_MESSAGE_DIRECTLY: _rights(group("consumerGroup")),
    Code.QUERY_CONSUMER_OFFSET: _signed(both("consumerGroup", _SUB_OR_READ)),
    Code.UPDATE_CONSUMER_OFFSET: _rights(both("consumerGroup", Action.SUB | Action.UPDATE)),
    Code.INVOKE_BROKER_TO_RESET_OFFSET: _rights(both("group", Action.UPDATE)),
    Code.CLONE_GROUP_OFFSET: _rights(clone),
    Code.LOCK_BATCH_MQ: _rights(locks),
    Code.UNLOCK_BATCH_MQ: _rights(locks),
    # Producers send these too, without a consumer group.
    Code.HEART_BEAT: _rights(heartbeat, may_name_nothing=True),
    Code.UNREGISTER_CLIENT: _rights(group("consumerGroup"), may_name_nothing=True),
    Code.CHECK_CLIENT_CONFIG: Row(Plain.SIGNATURE, nothing, may_name_nothing=True),
    Code.GET_CONSUMER_LIST_BY_GROUP: _rights(group("consumerGroup", _SUB_OR_READ)),
    Code.QUERY_ASSIGNMENT: _signed(
        all_of(
            of_body(Resource.TOPIC, "topic", _SUB_OR_READ),
            of_body(Resource.GROUP, "consumerGroup", _SUB_OR_READ),
        )
    ),
    Code.VIEW_MESSAGE_BY_ID: Row(Plain.SIGNATURE, nothing, may_name_nothing=True),
    Code.QUERY_MESSAGE: _rights(topic("topic", Right.SUB, _SUB_OR_READ)),
}

_READS: Final[Requests] = {
    Code.SEARCH_OFFSET_BY_TIMESTAMP: _signed(_OFFSET_READ),
    Code.GET_MAX_OFFSET: _signed(_OFFSET_READ),
    Code.GET_MIN_OFFSET: _signed(_OFFSET_READ),
    Code.GET_EARLIEST_MSG_STORETIME: _signed(_OFFSET_READ),
    Code.GET_TOPIC_STATS_INFO: _signed(_TOPIC_READ),
    Code.GET_TOPIC_CONFIG: _signed(_TOPIC_READ),
    Code.QUERY_TOPIC_CONSUME_BY_WHO: _signed(_TOPIC_READ),
    Code.QUERY_CONSUME_QUEUE: _signed(_TOPIC_READ),
    Code.GET_CONSUMER_CONNECTION_LIST: _signed(group("consumerGroup", _READ)),
    Code.GET_SUBSCRIPTIONGROUP_CONFIG: _signed(group("group", _READ)),
    Code.QUERY_TOPICS_BY_CONSUMER: _signed(group("group", _READ)),
    Code.QUERY_SUBSCRIPTION_BY_CONSUMER: _signed(both("group", _READ, by_place=False)),
    Code.QUERY_CONSUME_TIME_SPAN: _signed(both("group", _READ, by_place=False)),
    Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS: _signed(both("group", _READ, by_place=False)),
    Code.GET_CONSUMER_RUNNING_INFO: _rights(group("consumerGroup", _READ)),
    Code.GET_CONSUME_STATS: _signed(
        all_of(
            both("consumerGroup", _READ, by_place=False),
            names("topicList", ";", Resource.TOPIC, _READ),
        )
    ),
    Code.QUERY_CORRECTION_OFFSET: _signed(
        all_of(
            _TOPIC_READ,
            group("compareGroup", _READ),
            names("filterGroups", ",", Resource.GROUP, _READ),
        )
    ),
}

_READS_OF_ALL: Final[Requests] = {
    code: _signed(cluster(_LIST))
    for code in (
        Code.GET_ALL_TOPIC_CONFIG,
        Code.GET_BROKER_CONFIG,
        Code.GET_BROKER_RUNTIME_INFO,
        Code.GET_ALL_CONSUMER_OFFSET,
        Code.GET_ALL_DELAY_OFFSET,
        Code.GET_BROKER_CLUSTER_ACL_INFO,
        Code.GET_TIMER_CHECK_POINT,
        Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG,
        Code.GET_PRODUCER_CONNECTION_LIST,
        Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER,
        Code.VIEW_BROKER_STATS_DATA,
        Code.GET_BROKER_CONSUME_STATS,
        Code.GET_ALL_PRODUCER_INFO,
        Code.GET_ALL_MESSAGE_REQUEST_MODE,
        Code.GET_BROKER_HA_STATUS,
        Code.GET_BROKER_EPOCH_CACHE,
        Code.GANTRY_LIST_QUOTAS,
    )
}

_CHANGES: Final[Requests] = {
    Code.UPDATE_AND_CREATE_TOPIC: _admin(topic("topic", Right.SUB, Action.CREATE)),
    Code.UPDATE_AND_CREATE_TOPIC_LIST: _admin(
        of_body(Resource.TOPIC, "topicName", Action.CREATE, each_of="topicConfigList")
    ),
    Code.DELETE_TOPIC_IN_BROKER: _admin(topic("topic", Right.SUB, Action.DELETE)),
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: _admin(
        of_body(Resource.GROUP, "groupName", Action.CREATE)
    ),
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: _admin(
        of_body(Resource.GROUP, "groupName", Action.CREATE, each_of="groupConfigList")
    ),
    Code.DELETE_SUBSCRIPTIONGROUP: _admin(group("groupName", Action.DELETE)),
    Code.UPDATE_AND_GET_GROUP_FORBIDDEN: _admin(both("group", Action.UPDATE, by_place=False)),
    Code.SET_MESSAGE_REQUEST_MODE: _admin(
        all_of(
            of_body(Resource.TOPIC, "topic", Action.UPDATE),
            of_body(Resource.GROUP, "consumerGroup", Action.UPDATE),
        )
    ),
    Code.UPDATE_BROKER_CONFIG: _admin(cluster(Action.UPDATE)),
    Code.CLEAN_EXPIRED_CONSUMEQUEUE: _admin(cluster(Action.UPDATE)),
    Code.CLEAN_UNUSED_TOPIC: _admin(cluster(Action.UPDATE)),
    Code.DELETE_EXPIRED_COMMITLOG: _admin(cluster(Action.UPDATE)),
    Code.RESET_MASTER_FLUSH_OFFSET: _admin(cluster(Action.UPDATE)),
    Code.GANTRY_SET_QUOTA: _admin(cluster(Action.UPDATE)),
    Code.GANTRY_DELETE_QUOTA: _admin(cluster(Action.UPDATE)),
}

_ACCOUNTS: Final[Requests] = {
    # An account of plain_acl.yml may be an administrator, and policies must not create those.
    Code.UPDATE_AND_CREATE_ACL_CONFIG: _admin(cluster(Action.UPDATE), for_super_users=True),
    Code.DELETE_ACL_CONFIG: _admin(cluster(Action.UPDATE), for_super_users=True),
    Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: _admin(cluster(Action.UPDATE), for_super_users=True),
    Code.GET_BROKER_CLUSTER_ACL_CONFIG: _admin(cluster(Action.GET), for_super_users=True),
    Code.AUTH_CREATE_USER: _admin(cluster(Action.UPDATE)),
    Code.AUTH_UPDATE_USER: _admin(cluster(Action.UPDATE)),
    Code.AUTH_DELETE_USER: _admin(cluster(Action.UPDATE)),
    Code.AUTH_GET_USER: _admin(cluster(Action.GET)),
    Code.AUTH_LIST_USER: _admin(cluster(Action.GET)),
    Code.AUTH_CREATE_ACL: _admin(cluster(Action.UPDATE)),
    Code.AUTH_UPDATE_ACL: _admin(cluster(Action.UPDATE)),
    Code.AUTH_DELETE_ACL: _admin(cluster(Action.UPDATE)),
    Code.AUTH_GET_ACL: _admin(cluster(Action.GET)),
    Code.AUTH_LIST_ACL: _admin(cluster(Action.GET)),
}

ACCOUNT_REQUESTS: Final = frozenset(int(code) for code in _ACCOUNTS)
"""Requests that show or change accounts, users and policies."""

BROKER_REQUESTS: Final[Requests] = {
    int(code): row
    for table in (_SENDS, _CONSUMING, _READS, _READS_OF_ALL, _CHANGES, _ACCOUNTS)
    for code, row in table.items()
}

BROKER_ADMIN: Final = frozenset(
    code for code, row in BROKER_REQUESTS.items() if row.plain is Plain.ADMIN
)
"""Requests to a broker that only administrators of plain_acl.yml may send."""

NAME_SERVER_REQUESTS: Final[Requests] = {
    int(code): _signed(cluster(_LIST))
    for code in (
        Code.GET_ROUTEINFO_BY_TOPIC,
        Code.GET_BROKER_CLUSTER_INFO,
        Code.GET_BROKER_MEMBER_GROUP,
        Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
        Code.GET_TOPICS_BY_CLUSTER,
        Code.GET_SYSTEM_TOPIC_LIST_FROM_NS,
        Code.GET_UNIT_TOPIC_LIST,
        Code.GET_HAS_UNIT_SUB_TOPIC_LIST,
        Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
        Code.GET_KV_CONFIG,
        Code.GET_KVLIST_BY_NAMESPACE,
    )
}
"""Requests of clients to a name server; all others are for brokers and administrators."""
