"""Refuses requests that clients or tools may send and that this broker does not implement.

Each is answered REQUEST_CODE_NOT_SUPPORTED, with Java's words followed by the alternative.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gantrymq.broker.core.messages import Outcome, Request
from gantrymq.broker.core.processor.handler import Handlers
from gantrymq.broker.core.responses import refused
from gantrymq.broker.core.state import State
from gantrymq.remoting.refusal import not_supported
from gantrymq.wire.codes import RequestCode as Code
from gantrymq.wire.codes import ResponseCode

_NAME_SERVER: Final = "ask a name server, port 9876: a broker does not answer it"
_COLD: Final = "cold reads are bounded by themselves: nothing has to be switched on or set"
_ROCKSDB: Final = "queues are files here, there is no RocksDB"
_CONTROLLER: Final = "there is no controller: roles are fixed, or members elect by a Lease"
_CONTAINER: Final = "one process is one broker: start another process"
_CLIENTS_OWN: Final = "brokers send it to clients"
_GONE: Final = "no release of 4.9 or 5.x sends it"
_TIMER_FILES: Final = "timers are kept in other files here, of which a Java slave can make nothing"
_LITE: Final = "there are no lite topics: use a topic with tags or properties, and filters"

REASONS: Final[Mapping[Code, str]] = {
    Code.QUERY_BROKER_OFFSET: _GONE,
    Code.GET_TOPIC_CONFIG_LIST: "use GET_ALL_TOPIC_CONFIG",
    Code.GET_TOPIC_NAME_LIST: "use GET_ALL_TOPIC_CONFIG",
    Code.TRIGGER_DELETE_FILES: "use DELETE_EXPIRED_COMMITLOG, mqadmin deleteExpiredCommitLog",
    Code.CHECK_TRANSACTION_STATE: _CLIENTS_OWN,
    Code.NOTIFY_CONSUMER_IDS_CHANGED: _CLIENTS_OWN,
    Code.GET_CLIENT_CONFIG: _GONE,
    Code.GET_TIMER_METRICS: _TIMER_FILES,
    Code.PUT_KV_CONFIG: _NAME_SERVER,
    Code.GET_KV_CONFIG: _NAME_SERVER,
    Code.DELETE_KV_CONFIG: _NAME_SERVER,
    Code.REGISTER_BROKER: _NAME_SERVER,
    Code.UNREGISTER_BROKER: _NAME_SERVER,
    Code.GET_ROUTEINFO_BY_TOPIC: _NAME_SERVER,
    Code.GET_BROKER_CLUSTER_INFO: _NAME_SERVER,
    Code.WIPE_WRITE_PERM_OF_BROKER: _NAME_SERVER,
    Code.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: _NAME_SERVER,
    Code.SUSPEND_CONSUMER: _GONE,
    Code.RESUME_CONSUMER: _GONE,
    Code.RESET_CONSUMER_OFFSET_IN_CONSUMER: _GONE,
    Code.RESET_CONSUMER_OFFSET_IN_BROKER: "use INVOKE_BROKER_TO_RESET_OFFSET",
    Code.ADJUST_CONSUMER_THREAD_POOL: _GONE,
    Code.WHO_CONSUME_THE_MESSAGE: _GONE,
    Code.DELETE_TOPIC_IN_NAMESRV: _NAME_SERVER,
    Code.REGISTER_TOPIC_IN_NAMESRV: _NAME_SERVER,
    Code.GET_KVLIST_BY_NAMESPACE: _NAME_SERVER,
    Code.RESET_CONSUMER_CLIENT_OFFSET: _CLIENTS_OWN,
    Code.GET_CONSUMER_STATUS_FROM_CLIENT: _CLIENTS_OWN,
    Code.GET_TOPICS_BY_CLUSTER: _NAME_SERVER,
    Code.REGISTER_FILTER_SERVER: "filter servers are gone: subscribe by SQL92",
    Code.REGISTER_MESSAGE_FILTER_CLASS: "filter classes are gone: subscribe by SQL92",
    Code.GET_SYSTEM_TOPIC_LIST_FROM_NS: _NAME_SERVER,
    Code.GET_UNIT_TOPIC_LIST: _NAME_SERVER,
    Code.GET_HAS_UNIT_SUB_TOPIC_LIST: _NAME_SERVER,
    Code.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST: _NAME_SERVER,
    Code.UPDATE_NAMESRV_CONFIG: _NAME_SERVER,
    Code.GET_NAMESRV_CONFIG: _NAME_SERVER,
    Code.QUERY_DATA_VERSION: _NAME_SERVER,
    Code.PUSH_REPLY_MESSAGE_TO_CLIENT: _CLIENTS_OWN,
    Code.ADD_WRITE_PERM_OF_BROKER: _NAME_SERVER,
    Code.CHECK_ROCKSDB_CQ_WRITE_PROGRESS: _ROCKSDB,
    Code.EXPORT_ROCKSDB_CONFIG_TO_JSON: _ROCKSDB,
    Code.UPDATE_AND_CREATE_STATIC_TOPIC: "there are no static topics: use updateTopic",
    Code.GET_BROKER_MEMBER_GROUP: _NAME_SERVER,
    Code.ADD_BROKER: _CONTAINER,
    Code.REMOVE_BROKER: _CONTAINER,
    Code.BROKER_HEARTBEAT: _NAME_SERVER,
    Code.NOTIFY_MIN_BROKER_ID_CHANGE: "no slave acts as master here",
    Code.EXCHANGE_BROKER_HA_INFO: "only containers and controllers of Java 5 need it",
    Code.CONTROLLER_ALTER_SYNC_STATE_SET: _CONTROLLER,
    Code.CONTROLLER_ELECT_MASTER: _CONTROLLER,
    Code.CONTROLLER_REGISTER_BROKER: _CONTROLLER,
    Code.CONTROLLER_GET_REPLICA_INFO: _CONTROLLER,
    Code.CONTROLLER_GET_METADATA_INFO: _CONTROLLER,
    Code.CONTROLLER_GET_SYNC_STATE_DATA: _CONTROLLER,
    Code.NOTIFY_BROKER_ROLE_CHANGED: _CONTROLLER,
    Code.UPDATE_CONTROLLER_CONFIG: _CONTROLLER,
    Code.GET_CONTROLLER_CONFIG: _CONTROLLER,
    Code.CLEAN_BROKER_DATA: _CONTROLLER,
    Code.CONTROLLER_GET_NEXT_BROKER_ID: _CONTROLLER,
    Code.CONTROLLER_APPLY_BROKER_ID: _CONTROLLER,
    Code.UPDATE_COLD_DATA_FLOW_CTR_CONFIG: _COLD,
    Code.REMOVE_COLD_DATA_FLOW_CTR_CONFIG: _COLD,
    Code.GET_COLD_DATA_FLOW_CTR_INFO: _COLD,
    Code.SET_COMMITLOG_READ_MODE: "the log is not mapped here: there is no read mode to set",
    Code.SWITCH_TIMER_ENGINE: "there is one engine of timers, and it keeps no timers in RocksDB",
    Code.POP_ROLLBACK: "what was popped is in config/popCheckouts.json, in no RocksDB",
    Code.POP_LITE_MESSAGE: _LITE,
    Code.LITE_SUBSCRIPTION_CTL: _LITE,
    Code.ACK_LITE_MESSAGE: _LITE,
    Code.NOTIFY_UNSUBSCRIBE_LITE: _CLIENTS_OWN,
    Code.GET_BROKER_LITE_INFO: _LITE,
    Code.GET_PARENT_TOPIC_INFO: _LITE,
    Code.GET_LITE_TOPIC_INFO: _LITE,
    Code.GET_LITE_CLIENT_INFO: _LITE,
    Code.GET_LITE_GROUP_INFO: _LITE,
    Code.TRIGGER_LITE_DISPATCH: _LITE,
}


def refuse(state: State, request: Request) -> Outcome:
    code = Code(request.command.code)
    plain = not_supported(code).remark
    return refused(ResponseCode.REQUEST_CODE_NOT_SUPPORTED, f"{plain}: {REASONS[code]}")


HANDLERS: Final[Handlers] = dict.fromkeys(REASONS, refuse)
