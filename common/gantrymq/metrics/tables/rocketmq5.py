"""Defines the metrics of a broker that RocketMQ 5.x has, with its names, labels and units.

Names carry their unit, as those of a RocketMQ 5.1.4 or later do. The help texts are ours.
"""

from __future__ import annotations

from typing import Final

from gantrymq.metrics.family import Origin, Table

BASE_LABELS: Final = ("cluster", "node_type", "node_id")

TABLE: Final = Table(
    "broker",
    "Broker, names of RocketMQ 5.x",
    base_labels=BASE_LABELS,
    origin=Origin.ROCKETMQ_5,
)

# ---------------------------------------------------------------- messages in and out

_IN: Final = ("topic", "message_type", "is_system")
_OUT: Final = ("topic", "consumer_group", "is_system")

MESSAGES_IN: Final = TABLE.counter(
    "rocketmq_messages_in_total",
    "Messages that producers sent, and messages of a delay level when they are delivered",
    _IN,
    unit="messages",
    panel="Traffic: Messages in",
)
THROUGHPUT_IN: Final = TABLE.counter(
    "rocketmq_throughput_in_total",
    "Bytes in the log of the messages in rocketmq_messages_in_total",
    _IN,
    unit="bytes",
    panel="Traffic: Bytes in",
)
MESSAGES_OUT: Final = TABLE.counter(
    "rocketmq_messages_out_total",
    "Messages that were delivered to consumers, without those of retry and dead-letter topics",
    _OUT,
    unit="messages",
    panel="Traffic: Messages out",
)
THROUGHPUT_OUT: Final = TABLE.counter(
    "rocketmq_throughput_out_total",
    "Bytes of the messages in rocketmq_messages_out_total",
    _OUT,
    unit="bytes",
    panel="Traffic: Bytes out",
)
MESSAGE_SIZE: Final = TABLE.histogram(
    "rocketmq_message_size",
    "Size in the log of a sent message; a batch counts once, with its mean size",
    _IN,
    unit="bytes",
    buckets=(1024, 4096, 524288, 1048576, 2097152, 4194304),
    panel="Traffic: Message size",
)

# ---------------------------------------------------------------- requests

RPC_LATENCY: Final = TABLE.histogram(
    "rocketmq_rpc_latency_milliseconds",
    "Time from the receipt of a request to its response",
    ("protocol_type", "request_code", "response_code", "is_long_polling", "result"),
    unit="milliseconds",
    buckets=(1, 3, 5, 7, 10, 100, 1000, 2000, 3000),
    panel="Requests: Latency by request",
    alert="GantryPutLatencyHigh",
)
PROCESSOR_WATERMARK: Final = TABLE.gauge(
    "rocketmq_processor_watermark",
    "Requests that wait, by the thread pool of a Java broker that would hold them",
    ("processor",),
    unit="requests",
    panel="Requests: Waiting requests",
)

# ---------------------------------------------------------------- the broker

BROKER_PERMISSION: Final = TABLE.gauge(
    "rocketmq_broker_permission",
    "Setting brokerPermission: 2 is write, 4 is read, 6 is both",
    panel="Overview: Permission",
)
TOPIC_NUMBER: Final = TABLE.gauge(
    "rocketmq_topic_number", "Topics, system topics included", panel="Overview: Topics"
)
CONSUMER_GROUP_NUMBER: Final = TABLE.gauge(
    "rocketmq_consumer_group_number",
    "Consumer groups, system groups included",
    panel="Overview: Consumer groups",
)
PRODUCER_CONNECTIONS: Final = TABLE.gauge(
    "rocketmq_producer_connections",
    "Producers that send heartbeats, counted once in each producer group",
    ("language", "version", "protocol_type"),
    panel="Clients: Producers",
)
CONSUMER_CONNECTIONS: Final = TABLE.gauge(
    "rocketmq_consumer_connections",
    "Consumers that send heartbeats",
    ("consumer_group", "language", "version", "consume_mode", "protocol_type", "is_system"),
    panel="Clients: Consumers",
    alert="GantryGroupOfflineWithLag",
)

# ---------------------------------------------------------------- consumer lag

_LAG: Final = ("consumer_group", "topic", "is_retry", "is_system")

LAG_MESSAGES: Final = TABLE.gauge(
    "rocketmq_consumer_lag_messages",
    "Messages that the group has not acknowledged, whether it is online or not",
    _LAG,
    unit="messages",
    panel="Lag: Messages",
    alert="GantryLagGrowing",
)
LAG_LATENCY: Final = TABLE.gauge(
    "rocketmq_consumer_lag_latency_milliseconds",
    "Age of the oldest message that the group has not acknowledged",
    _LAG,
    unit="milliseconds",
    panel="Lag: Time",
    alert="GantryLagTooOld",
)
INFLIGHT: Final = TABLE.gauge(
    "rocketmq_consumer_inflight_messages",
    "Messages that were delivered to consumers of the group and are not acknowledged",
    _LAG,
    unit="messages",
    panel="Lag: In flight",
)
READY: Final = TABLE.gauge(
    "rocketmq_consumer_ready_messages",
    "Messages that were not delivered to the group yet",
    _LAG,
    unit="messages",
    panel="Lag: Ready",
)
QUEUEING_LATENCY: Final = TABLE.gauge(
    "rocketmq_consumer_queueing_latency_milliseconds",
    "Age of the oldest message that was not delivered to the group yet",
    _LAG,
    unit="milliseconds",
    panel="Lag: Queueing time",
)
SEND_TO_DLQ: Final = TABLE.counter(
    "rocketmq_send_to_dlq_messages_total",
    "Messages that became dead letters of the group",
    ("consumer_group", "topic", "is_system"),
    unit="messages",
    panel="Retries: Dead letters",
    alert="GantryDeadLetters",
)

# ---------------------------------------------------------------- transactions

COMMITTED: Final = TABLE.counter(
    "rocketmq_commit_messages_total",
    "Transactions that were committed",
    ("topic",),
    unit="messages",
    panel="Transactions: Committed",
)
ROLLED_BACK: Final = TABLE.counter(
    "rocketmq_rollback_messages_total",
    "Transactions that were rolled back",
    ("topic",),
    unit="messages",
    panel="Transactions: Rolled back",
)
HALF_MESSAGES: Final = TABLE.gauge(
    "rocketmq_half_messages",
    "Open transactions that began since the broker started",
    ("topic",),
    unit="messages",
    panel="Transactions: Open",
)
FINISH_LATENCY: Final = TABLE.histogram(
    "rocketmq_finish_message_latency_milliseconds",
    "Seconds, in spite of the name, from a half message to its commit",
    ("topic",),
    unit="seconds",
    buckets=(5, 60, 600, 3600, 43200, 86400),
    panel="Transactions: Time to commit",
)

# ---------------------------------------------------------------- the store

_STORE: Final = ("storage_type", "storage_medium")

STORAGE_SIZE: Final = TABLE.gauge(
    "rocketmq_storage_size_bytes",
    "Bytes that the commit log holds, without consume queues and index",
    _STORE,
    unit="bytes",
    panel="Storage: Size",
)
FLUSH_BEHIND: Final = TABLE.gauge(
    "rocketmq_storage_flush_behind_bytes",
    "Bytes of the commit log that are not synced to the disk yet",
    _STORE,
    unit="bytes",
    panel="Storage: Not synced",
)
DISPATCH_BEHIND: Final = TABLE.gauge(
    "rocketmq_storage_dispatch_behind_bytes",
    "Bytes of the commit log that are not in the consume queues and the index yet",
    _STORE,
    unit="bytes",
    panel="Storage: Not dispatched",
)
RESERVE_TIME: Final = TABLE.gauge(
    "rocketmq_storage_message_reserve_time_milliseconds",
    "Age of the oldest message in the commit log",
    _STORE,
    unit="milliseconds",
    panel="Storage: Oldest message",
)

# ---------------------------------------------------------------- timer messages

TIMER_ENQUEUE_LAG: Final = TABLE.gauge(
    "rocketmq_timer_enqueue_lag",
    "Timer messages that are stored and not in the calendar yet",
    _STORE,
    unit="messages",
    panel="Timers: Not scheduled yet",
)
TIMER_DEQUEUE_LAG: Final = TABLE.gauge(
    "rocketmq_timer_dequeue_lag",
    "Timer messages that wait for their time",
    _STORE,
    unit="messages",
    panel="Timers: Waiting",
)
TIMER_DEQUEUE_LATENCY: Final = TABLE.gauge(
    "rocketmq_timer_dequeue_latency_milliseconds",
    "How late the delivery of timer messages is",
    _STORE,
    unit="milliseconds",
    panel="Timers: Late",
    alert="GantryTimerLate",
)
TIMER_ENQUEUED: Final = TABLE.counter(
    "rocketmq_timer_enqueue_total",
    "Timer messages that were stored to wait for their time",
    ("topic", *_STORE),
    unit="messages",
    panel="Timers: Scheduled",
)
TIMER_DEQUEUED: Final = TABLE.counter(
    "rocketmq_timer_dequeue_total",
    "Timer messages that were delivered",
    ("topic", *_STORE),
    unit="messages",
    panel="Timers: Delivered",
)

# ---------------------------------------------------------------- POP

POP_RETRIED: Final = TABLE.counter(
    "rocketmq_pop_revive_retry_messages_total",
    "Popped messages that were not acknowledged in time and can be popped again",
    ("consumer_group", "topic", "put_status"),
    unit="messages",
    panel="Retries: Popped again",
)
POP_CHECKPOINTS: Final = TABLE.gauge(
    "rocketmq_pop_checkpoint_buffer_size",
    "Popped messages that are not acknowledged yet",
    unit="messages",
    panel="Lag: Popped",
)
