"""Lists the requests that change something and are audited, and says why the others are not.

Each request code that a server serves stands in exactly one of the two tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, final

from gantrymq.wire.codes import RequestCode as Code


@final
@dataclass(frozen=True, slots=True)
class Action:
    """What an audited request does: its name in records, and what old and new values show."""

    name: str
    values: str


ACTIONS: Final[Mapping[int, Action]] = {
    Code.UPDATE_AND_CREATE_TOPIC: Action("topic.update", "the topic's configuration"),
    Code.UPDATE_AND_CREATE_TOPIC_LIST: Action("topic.update", "the configuration of each topic"),
    Code.DELETE_TOPIC_IN_BROKER: Action("topic.delete", "the topic's configuration"),
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP: Action("group.update", "the group's configuration"),
    Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST: Action(
        "group.update", "the configuration of each group"
    ),
    Code.DELETE_SUBSCRIPTIONGROUP: Action("group.delete", "the group's configuration"),
    Code.UPDATE_AND_GET_GROUP_FORBIDDEN: Action("group.forbid", "whether the group may read"),
    Code.SET_MESSAGE_REQUEST_MODE: Action("group.mode", "how the group gets messages"),
    Code.INVOKE_BROKER_TO_RESET_OFFSET: Action("offsets.reset", "the group's offset in each queue"),
    Code.CLONE_GROUP_OFFSET: Action("offsets.clone", "the group's offset in each queue"),
    Code.UPDATE_BROKER_CONFIG: Action("settings.update", "each key of the request"),
    Code.UPDATE_AND_CREATE_ACL_CONFIG: Action("account.update", "the account, without its secret"),
    Code.DELETE_ACL_CONFIG: Action("account.delete", "the account, without its secret"),
    Code.UPDATE_GLOBAL_WHITE_ADDRS_CONFIG: Action("addresses.update", "the list of addresses"),
    Code.AUTH_CREATE_USER: Action("user.create", "the user, without its password"),
    Code.AUTH_UPDATE_USER: Action("user.update", "the user, without its password"),
    Code.AUTH_DELETE_USER: Action("user.delete", "the user, without its password"),
    Code.AUTH_CREATE_ACL: Action("policy.create", "the policies of the user"),
    Code.AUTH_UPDATE_ACL: Action("policy.update", "the policies of the user"),
    Code.AUTH_DELETE_ACL: Action("policy.delete", "the policies of the user"),
    Code.GANTRY_SET_QUOTA: Action("quota.set", "the quota"),
    Code.GANTRY_DELETE_QUOTA: Action("quota.delete", "the quota"),
    Code.DELETE_EXPIRED_COMMITLOG: Action("files.delete_log", ""),
    Code.CLEAN_EXPIRED_CONSUMEQUEUE: Action("files.delete_queues", ""),
    Code.CLEAN_UNUSED_TOPIC: Action("files.delete_topics", ""),
    Code.RESUME_CHECK_HALF_MESSAGE: Action("transaction.resume", ""),
    Code.RESET_MASTER_FLUSH_OFFSET: Action("replication.reset_flush_offset", ""),
    Code.PUT_KV_CONFIG: Action("kv.put", "the value, if the namespace is ORDER_TOPIC_CONFIG"),
    Code.DELETE_KV_CONFIG: Action("kv.delete", "the value, if the namespace is ORDER_TOPIC_CONFIG"),
    Code.UPDATE_NAMESRV_CONFIG: Action("settings.update", "each key of the request"),
    Code.WIPE_WRITE_PERM_OF_BROKER: Action("broker.wipe_write_permission", ""),
    Code.ADD_WRITE_PERM_OF_BROKER: Action("broker.add_write_permission", ""),
    Code.DELETE_TOPIC_IN_NAMESRV: Action("route.delete", "the brokers that have the topic"),
    Code.REGISTER_TOPIC_IN_NAMESRV: Action("route.register", "the brokers that have the topic"),
    Code.UNREGISTER_BROKER: Action("broker.unregister", "the addresses of the broker name"),
}

AUTHENTICATION: Final = "authentication"
"""The action of records about peers that did not prove their account."""

_READS: Final = "reads"
_MESSAGES: Final = "sends, reads or settles messages"
_PROGRESS: Final = "clients commit their progress all the time"
_PRESENCE: Final = "clients and brokers report themselves all the time"

NOT_AUDITED: Final[Mapping[int, str]] = {
    **dict.fromkeys(
        (
            *(Code.SEND_MESSAGE, Code.SEND_MESSAGE_V2, Code.SEND_BATCH_MESSAGE),
            *(Code.SEND_REPLY_MESSAGE, Code.SEND_REPLY_MESSAGE_V2, Code.GANTRY_SESSION_NOTE),
            *(Code.PULL_MESSAGE, Code.LITE_PULL_MESSAGE, Code.POP_MESSAGE, Code.PEEK_MESSAGE),
            *(Code.NOTIFICATION, Code.POLLING_INFO, Code.ACK_MESSAGE, Code.BATCH_ACK_MESSAGE),
            *(Code.CHANGE_MESSAGE_INVISIBLETIME, Code.CONSUMER_SEND_MSG_BACK),
            *(Code.END_TRANSACTION, Code.RECALL_MESSAGE, Code.CONSUME_MESSAGE_DIRECTLY),
        ),
        _MESSAGES,
    ),
    **dict.fromkeys((Code.UPDATE_CONSUMER_OFFSET,), _PROGRESS),
    **dict.fromkeys(
        (
            *(Code.HEART_BEAT, Code.UNREGISTER_CLIENT, Code.LOCK_BATCH_MQ, Code.UNLOCK_BATCH_MQ),
            *(Code.REGISTER_BROKER, Code.BROKER_HEARTBEAT),
        ),
        _PRESENCE,
    ),
    **dict.fromkeys(
        (
            *(Code.QUERY_MESSAGE, Code.QUERY_CONSUMER_OFFSET, Code.GET_ALL_TOPIC_CONFIG),
            *(
                Code.GET_BROKER_CONFIG,
                Code.GET_BROKER_RUNTIME_INFO,
                Code.SEARCH_OFFSET_BY_TIMESTAMP,
            ),
            *(Code.GET_MAX_OFFSET, Code.GET_MIN_OFFSET, Code.GET_EARLIEST_MSG_STORETIME),
            *(Code.VIEW_MESSAGE_BY_ID, Code.GET_CONSUMER_LIST_BY_GROUP),
            *(Code.GET_ALL_CONSUMER_OFFSET, Code.GET_ALL_DELAY_OFFSET, Code.CHECK_CLIENT_CONFIG),
            *(Code.GET_BROKER_CLUSTER_ACL_INFO, Code.GET_BROKER_CLUSTER_ACL_CONFIG),
            *(Code.GET_TIMER_CHECK_POINT, Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG),
            *(Code.GET_TOPIC_STATS_INFO, Code.GET_CONSUMER_CONNECTION_LIST),
            *(Code.GET_PRODUCER_CONNECTION_LIST, Code.GET_CONSUME_STATS),
            *(Code.INVOKE_BROKER_TO_GET_CONSUMER_STATUS, Code.QUERY_TOPIC_CONSUME_BY_WHO),
            *(Code.QUERY_CONSUME_TIME_SPAN, Code.GET_SYSTEM_TOPIC_LIST_FROM_BROKER),
            *(Code.GET_CONSUMER_RUNNING_INFO, Code.QUERY_CORRECTION_OFFSET),
            *(Code.VIEW_BROKER_STATS_DATA, Code.GET_BROKER_CONSUME_STATS, Code.QUERY_CONSUME_QUEUE),
            *(Code.GET_ALL_PRODUCER_INFO, Code.QUERY_TOPICS_BY_CONSUMER),
            *(Code.QUERY_SUBSCRIPTION_BY_CONSUMER, Code.GET_TOPIC_CONFIG),
            *(Code.GET_SUBSCRIPTIONGROUP_CONFIG, Code.QUERY_ASSIGNMENT),
            *(Code.GET_ALL_MESSAGE_REQUEST_MODE, Code.GET_BROKER_HA_STATUS),
            *(Code.GET_BROKER_EPOCH_CACHE, Code.AUTH_GET_USER, Code.AUTH_LIST_USER),
            *(Code.AUTH_GET_ACL, Code.AUTH_LIST_ACL, Code.GANTRY_LIST_QUOTAS, Code.GET_KV_CONFIG),
            *(Code.GET_ROUTEINFO_BY_TOPIC, Code.GET_BROKER_CLUSTER_INFO),
            *(Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, Code.GET_KVLIST_BY_NAMESPACE),
            *(Code.GET_TOPICS_BY_CLUSTER, Code.GET_SYSTEM_TOPIC_LIST_FROM_NS),
            *(Code.GET_UNIT_TOPIC_LIST, Code.GET_HAS_UNIT_SUB_TOPIC_LIST),
            *(Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, Code.GET_NAMESRV_CONFIG),
            *(Code.QUERY_DATA_VERSION, Code.GET_BROKER_MEMBER_GROUP),
        ),
        _READS,
    ),
}
