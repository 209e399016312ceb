"""Defines the metrics with the names of rocketmq-exporter, which dashboards of RocketMQ 4.x query.

All are gauges, as the exporter's are. Its figures that a broker has no source for are left out:
thread pools, page caches and buffers of Java, and what only clients know of themselves.
"""

from __future__ import annotations

from typing import Final

from gantrymq.metrics.family import Family, Origin, Table

TABLE: Final = Table(
    "broker",
    "Broker, names of rocketmq-exporter",
    path="/metrics/compat4",
    origin=Origin.EXPORTER_4,
)

_TOPIC: Final = ("cluster", "broker", "topic")
_TOPIC_GROUP: Final = ("cluster", "broker", "topic", "group")
_GROUP: Final = ("cluster", "broker", "group")
_DIFF: Final = ("group", "topic", "countOfOnlineConsumers", "msgModel")
_BROKER: Final = ("cluster", "brokerIP", "broker")
_RUNTIME: Final = ("cluster", "brokerIP", "brokerHost", "des", "boottime", "broker_version")

PRODUCER_TPS: Final = TABLE.gauge(
    "rocketmq_producer_tps",
    "Messages sent to the topic each second",
    _TOPIC,
    unit="messages per second",
)
PRODUCER_SIZE: Final = TABLE.gauge(
    "rocketmq_producer_message_size",
    "Bytes sent to the topic in the last minute",
    _TOPIC,
    unit="bytes",
)
PRODUCER_OFFSET: Final = TABLE.gauge(
    "rocketmq_producer_offset",
    "Messages that the topic's queues ever had",
    _TOPIC,
    unit="messages",
)
RETRY_OFFSET: Final = TABLE.gauge(
    "rocketmq_topic_retry_offset",
    "The same of a retry topic",
    _TOPIC,
    unit="messages",
)
DLQ_OFFSET: Final = TABLE.gauge(
    "rocketmq_topic_dlq_offset",
    "The same of the group's dead-letter topic",
    _GROUP,
    unit="messages",
)
CONSUMER_TPS: Final = TABLE.gauge(
    "rocketmq_consumer_tps",
    "Messages given to the group each second",
    _TOPIC_GROUP,
    unit="messages per second",
)
CONSUMER_SIZE: Final = TABLE.gauge(
    "rocketmq_consumer_message_size",
    "Bytes given to the group in the last minute",
    _TOPIC_GROUP,
    unit="bytes",
)
CONSUMER_OFFSET: Final = TABLE.gauge(
    "rocketmq_consumer_offset",
    "Messages that the group acknowledged, over all queues",
    _TOPIC_GROUP,
    unit="messages",
)
CONSUME_TPS: Final = TABLE.gauge(
    "rocketmq_group_consume_tps",
    "Messages given to the group each second",
    _TOPIC_GROUP,
    unit="messages per second",
)
CONSUME_TOTAL: Final = TABLE.gauge(
    "rocketmq_group_consume_total_offset",
    "Messages that the group acknowledged, over all queues",
    _TOPIC_GROUP,
    unit="messages",
)
SEND_BACK: Final = TABLE.gauge(
    "rocketmq_send_back_nums",
    "Messages that the group gave back in the last minute",
    _TOPIC_GROUP,
    unit="messages",
)
GET_LATENCY: Final = TABLE.gauge(
    "rocketmq_group_get_latency_by_storetime",
    "Age of the oldest message that the group has not acknowledged",
    _TOPIC_GROUP,
    unit="milliseconds",
)
ACCUMULATION: Final = TABLE.gauge(
    "rocketmq_message_accumulation",
    "Messages that the group has not acknowledged",
    _TOPIC_GROUP,
    unit="messages",
)
GROUP_DIFF: Final = TABLE.gauge(
    "rocketmq_group_diff",
    "Messages that the group has not acknowledged",
    _DIFF,
    unit="messages",
)
GROUP_RETRY_DIFF: Final = TABLE.gauge(
    "rocketmq_group_retrydiff",
    "The same of its retry topic",
    _DIFF,
    unit="messages",
)
GROUP_DLQ_DIFF: Final = TABLE.gauge(
    "rocketmq_group_dlqdiff",
    "Messages in its dead-letter topic",
    _DIFF,
    unit="messages",
)
GROUP_COUNT: Final = TABLE.gauge(
    "rocketmq_group_count",
    "A consumer of the group that is connected",
    ("caddr", "localaddr", "group"),
)
PRODUCER_COUNT: Final = TABLE.gauge(
    "rocketmq_producer_count",
    "Producers of the group that are connected",
    _GROUP,
)
BROKER_TPS: Final = TABLE.gauge(
    "rocketmq_broker_tps",
    "Messages stored each second",
    _BROKER,
    unit="messages per second",
)
BROKER_QPS: Final = TABLE.gauge(
    "rocketmq_broker_qps",
    "Messages given to consumers each second",
    _BROKER,
    unit="messages per second",
)
COMMITLOG_DIFF: Final = TABLE.gauge(
    "rocketmq_broker_commitlog_diff",
    "Bytes of the commit log that the slowest connected slave lacks",
    _BROKER,
    unit="bytes",
)

# ---------------------------------------------------------------- runtime figures

RUNTIME_PREFIX: Final = "rocketmq_brokeruntime_"
RATE_SECONDS: Final = (10, 60, 600)


def _runtime(key: str, about: str, unit: str = "") -> Family:
    return TABLE.gauge(RUNTIME_PREFIX + key, about, _RUNTIME, unit=unit)


def _rates(key: str, about: str) -> tuple[Family, ...]:
    """One metric for each of the lengths of time over which RocketMQ takes a mean rate."""
    return tuple(
        _runtime(f"{key}_tps{seconds}", f"{about} each second, over {seconds} s", "per second")
        for seconds in RATE_SECONDS
    )


PUT_RATES: Final = _rates("put", "Messages stored")
FOUND_RATES: Final = _rates("getfound", "Pulls that found messages")
MISS_RATES: Final = _rates("getmiss", "Pulls that found nothing")
TOTAL_RATES: Final = _rates("gettotal", "Pulls")
TRANSFERRED_RATES: Final = _rates("gettransfered", "Messages given out")

MSG_PUT_TOTAL_TODAY_NOW: Final = _runtime(
    "msg_put_total_today_now",
    "Messages stored since the start, without those of system topics",
    "messages",
)
MSG_PUTTOTAL_TODAYMORNING: Final = _runtime(
    "msg_puttotal_todaymorning",
    "The same at the last midnight",
    "messages",
)
MSG_PUTTOTAL_YESTERDAYMORNING: Final = _runtime(
    "msg_puttotal_yesterdaymorning",
    "The same at the midnight before",
    "messages",
)
MSG_GETTOTAL_TODAY_NOW: Final = _runtime(
    "msg_gettotal_today_now",
    "Messages given out since the start, without those of system topics",
    "messages",
)
MSG_GETTOTAL_TODAYMORNING: Final = _runtime(
    "msg_gettotal_todaymorning",
    "The same at the last midnight",
    "messages",
)
MSG_GETTOTAL_YESTERDAYMORNING: Final = _runtime(
    "msg_gettotal_yesterdaymorning",
    "The same at the midnight before",
    "messages",
)
DISPATCH_BEHIND_BYTES: Final = _runtime(
    "dispatch_behind_bytes",
    "Bytes of the commit log that consume queues do not know yet",
    "bytes",
)
PUT_MESSAGE_SIZE_TOTAL: Final = _runtime(
    "put_message_size_total",
    "Bytes stored since the start",
    "bytes",
)
PUT_MESSAGE_AVERAGE_SIZE: Final = _runtime(
    "put_message_average_size",
    "Mean size of a stored message",
    "bytes",
)
PUTMESSAGE_TIMES_TOTAL: Final = _runtime(
    "putmessage_times_total",
    "Messages stored since the start",
    "messages",
)
PUTMESSAGE_ENTIRE_TIME_MAX: Final = _runtime(
    "putmessage_entire_time_max",
    "Longest time of a send since the start",
    "milliseconds",
)
GETMESSAGE_ENTIRE_TIME_MAX: Final = _runtime(
    "getmessage_entire_time_max",
    "Longest time that a pull or pop waited for the disk since the start",
    "milliseconds",
)
PUT_TIME_CLASSES: Final = tuple(
    _runtime(f"pmdt_{name}", f"Sends of the last full minute that took {times}", "requests")
    for name, times in (
        ("0ms", "less than 1 ms"),
        ("0to10ms", "1 to 10 ms"),
        ("10to50ms", "10 to 50 ms"),
        ("50to100ms", "50 to 100 ms"),
        ("100to200ms", "100 to 200 ms"),
        ("200to500ms", "200 to 500 ms"),
        ("500to1s", "500 ms to 1 s"),
        ("1to2s", "1 to 2 s"),
        ("2to3s", "2 to 3 s"),
        ("3to4s", "3 to 4 s"),
        ("4to5s", "4 to 5 s"),
        ("5to10s", "5 to 10 s"),
        ("10stomore", "10 s or more"),
    )
)
PUT_LATENCY_99: Final = _runtime(
    "put_latency_99",
    "Time of a send that 99 % of the last minute's sends did not pass",
    "milliseconds",
)
PUT_LATENCY_999: Final = _runtime(
    "put_latency_999",
    "The same of 99.9 %",
    "milliseconds",
)
REMAIN_HOWMANYDATA_TOFLUSH: Final = _runtime(
    "remain_howmanydata_toflush",
    "Bytes of the commit log that are not synced yet",
    "bytes",
)
COMMITLOG_MINOFFSET: Final = _runtime(
    "commitlog_minoffset",
    "Where the commit log begins",
    "bytes",
)
COMMITLOG_MAXOFFSET: Final = _runtime(
    "commitlog_maxoffset",
    "Where the commit log ends",
    "bytes",
)
COMMITLOG_DISK_RATIO: Final = _runtime(
    "commitlog_disk_ratio",
    "Used share of the commit log's file system",
)
CONSUMEQUEUE_DISK_RATIO: Final = _runtime(
    "consumequeue_disk_ratio",
    "Used share of the consume queues' file system",
)
COMMITLOGDIR_CAPACITY_TOTAL: Final = _runtime(
    "commitlogdir_capacity_total",
    "Size of the commit log's file system",
    "bytes",
)
COMMITLOGDIR_CAPACITY_FREE: Final = _runtime(
    "commitlogdir_capacity_free",
    "Free bytes of the commit log's file system",
    "bytes",
)
EARLIEST_MESSAGE_TIMESTAMP: Final = _runtime(
    "earliest_message_timestamp",
    "When the oldest message of the commit log was stored",
    "milliseconds",
)
START_ACCEPT_SENDREQUEST_TIME: Final = _runtime(
    "start_accept_sendrequest_time",
    "Setting startAcceptSendRequestTimeStamp",
    "milliseconds",
)
SEND_THREADPOOL_QUEUE_SIZE: Final = _runtime(
    "send_threadpool_queue_size",
    "Sends that wait for the store",
    "requests",
)
SEND_THREADPOOLQUEUE_HEADWAIT_TIMEMILLS: Final = _runtime(
    "send_threadpoolqueue_headwait_timemills",
    "How long the oldest of them has waited",
    "milliseconds",
)
QUERY_THREADPOOL_QUEUE_SIZE: Final = _runtime(
    "query_threadpool_queue_size",
    "Other requests that wait for the store, a client or a file",
    "requests",
)
