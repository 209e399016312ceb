"""Defines the metrics of a broker that RocketMQ does not have."""

from __future__ import annotations

from typing import Final

from gantrymq.metrics.family import Table
from gantrymq.metrics.tables.rocketmq5 import BASE_LABELS

TABLE: Final = Table("broker", "Broker, names of Gantry", base_labels=BASE_LABELS)

# ---------------------------------------------------------------- requests and limits

REQUESTS: Final = TABLE.counter(
    "gantry_broker_requests_total",
    "Requests by code and response code; sends that the kernel takes count as SEND_MESSAGE_V2",
    ("code", "outcome"),
    panel="Requests: Requests by outcome",
)
AUTHENTICATION_FAILURES: Final = TABLE.counter(
    "gantry_broker_authentication_failures_total",
    "Requests whose sender did not prove its account, by how: unsigned, unknown_account,"
    " wrong_signature, throttled",
    ("failure",),
    unit="requests",
)
PUT_LATENCY: Final = TABLE.gauge(
    "gantry_broker_put_latency_seconds",
    "Time from taking a send to its response, as a quantile of the last full minute",
    ("quantile",),
    unit="seconds",
    panel="Requests: Put latency",
    alert="GantryPutLatencyHigh",
)
SENDS_WAITING_SECONDS: Final = TABLE.gauge(
    "gantry_broker_oldest_waiting_send_seconds",
    "How long the oldest send without a response has waited",
    unit="seconds",
    panel="Requests: Oldest waiting send",
)
FLOW_CONTROL: Final = TABLE.counter(
    "gantry_broker_flow_control_total",
    "Requests that the broker refused to protect itself, by cause",
    ("cause",),
    unit="requests",
    panel="Requests: Flow control",
    alert="GantryFlowControl",
)
REFUSING_WRITES: Final = TABLE.gauge(
    "gantry_broker_refusing_writes",
    "Whether the store of a master refuses messages",
    panel="Overview: Refuses writes",
    alert="GantryRefusesWrites",
)
MEMORY: Final = TABLE.gauge(
    "gantry_broker_memory_bytes",
    "Bytes of the requests that wait, by memory account",
    ("account",),
    unit="bytes",
    panel="Resources: Memory accounts",
)
MEMORY_LIMIT: Final = TABLE.gauge(
    "gantry_broker_memory_limit_bytes",
    "Bytes that a memory account may hold before the broker refuses requests",
    ("account",),
    unit="bytes",
    panel="Resources: Memory accounts",
)
QUOTA_DELAYS: Final = TABLE.counter(
    "gantry_broker_quota_delays_total",
    "Waits of connections and of pulls whose quota was used up, by kind and limit of the quota",
    ("kind", "limit"),
)
QUOTA_DELAY_SECONDS: Final = TABLE.counter(
    "gantry_broker_quota_delay_seconds_total",
    "Seconds that connections and pulls waited because a quota was used up",
    ("kind", "limit"),
    unit="seconds",
)
QUOTA_REFUSALS: Final = TABLE.counter(
    "gantry_broker_quota_refusals_total",
    "Requests that were refused because a quota was used up",
    ("kind", "limit"),
    unit="requests",
)
QUOTA_USE: Final = TABLE.gauge(
    "gantry_broker_quota_use_ratio",
    "Use of a limit as a share of it, of the 100 users, topics, groups and addresses that use most",
    ("kind", "name", "limit"),
    unit="ratio",
)
TOPICS: Final = TABLE.gauge("gantry_broker_topics", "Topics, system topics included")
GROUPS: Final = TABLE.gauge("gantry_broker_groups", "Consumer groups")
WORKS: Final = TABLE.gauge(
    "gantry_broker_works",
    "Requests that wait for the store, a client or a file",
    panel="Requests: Waiting requests",
)

# ---------------------------------------------------------------- the log

DISPATCH_BEHIND: Final = TABLE.gauge(
    "gantry_broker_dispatch_behind_bytes",
    "Bytes of the commit log that are not in the consume queues and the index yet",
    unit="bytes",
    panel="Storage: Not dispatched",
)
LOG_WRITES: Final = TABLE.counter(
    "gantry_broker_log_writes_total",
    "Writes to the commit log; each is the group commit of one turn",
    panel="Storage: Messages per write",
)
LOG_WRITTEN: Final = TABLE.counter(
    "gantry_broker_log_written_messages_total",
    "Messages that were written to the commit log",
    unit="messages",
    panel="Storage: Messages per write",
)
LOG_SYNC: Final = TABLE.histogram(
    "gantry_broker_log_sync_seconds",
    "Time of one sync of the commit log to the disk",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
    unit="seconds",
    panel="Storage: Sync time",
    alert="GantryLogSyncSlow",
)
DISK_SIZE: Final = TABLE.gauge(
    "gantry_broker_disk_size_bytes",
    "Size of the file system that has the commit log",
    unit="bytes",
    panel="Storage: Disk",
    alert="GantryDiskFull",
)
DISK_FREE: Final = TABLE.gauge(
    "gantry_broker_disk_free_bytes",
    "Free bytes of the file system that has the commit log",
    unit="bytes",
    panel="Storage: Disk",
    alert="GantryDiskWillFill",
)

# ---------------------------------------------------------------- replication and roles

IS_MASTER: Final = TABLE.gauge(
    "gantry_broker_is_master",
    "Whether the broker is the master of its broker name",
    panel="Overview: Masters",
    alert="GantryNoMaster",
)
ROLE_CHANGES: Final = TABLE.counter(
    "gantry_broker_role_changes_total",
    "How often an elected broker became master, or stopped being master",
    ("role",),
    panel="Replication: Failovers",
    alert="GantryFailover",
)
SLAVE_BEHIND: Final = TABLE.gauge(
    "gantry_broker_slave_behind_bytes",
    "Bytes of the commit log that a connected slave lacks",
    ("slave",),
    unit="bytes",
    panel="Replication: Bytes behind",
    alert="GantryReplicaLag",
)
SLAVE_IN_SYNC: Final = TABLE.gauge(
    "gantry_broker_slave_in_sync",
    "Whether a connected slave is no further behind than haMaxGapNotInSync",
    ("slave",),
    panel="Replication: In sync",
    alert="GantryReplicaOutOfSync",
)
SLAVE_RATE: Final = TABLE.gauge(
    "gantry_broker_slave_bytes_per_second",
    "Bytes of the commit log that a connected slave takes each second",
    ("slave",),
    unit="bytes per second",
    panel="Replication: Throughput",
)
MASTER_KNOWN: Final = TABLE.gauge(
    "gantry_broker_master_known",
    "Whether this slave has its master's address from a name server",
    panel="Replication: Master known",
)
MASTER_HEARD: Final = TABLE.gauge(
    "gantry_broker_master_heard_timestamp_seconds",
    "When this slave last received bytes from its master",
    unit="seconds",
    panel="Replication: Master heard",
)
TABLES_NOT_COPIED: Final = TABLE.gauge(
    "gantry_broker_master_tables_not_copied",
    "Tables of the master that this slave failed to copy at its last attempt",
    panel="Replication: Tables not copied",
)
EPOCH: Final = TABLE.gauge(
    "gantry_broker_epoch",
    "The highest epoch of the group that this member has seen",
    panel="Replication: Epoch",
)
LED_EPOCH: Final = TABLE.gauge(
    "gantry_broker_led_epoch",
    "The epoch in which this member is master; 0 while it is not",
    panel="Replication: Epoch",
)
IN_SYNC_MEMBERS: Final = TABLE.gauge(
    "gantry_broker_in_sync_members",
    "Members in the in-sync set of the group's Lease",
    panel="Replication: In-sync members",
    alert="GantryReplicaOutOfSync",
)
LEASE_AGE: Final = TABLE.gauge(
    "gantry_broker_lease_age_seconds",
    "Seconds since the Kubernetes API last answered a request about the group's Lease",
    unit="seconds",
    panel="Replication: Lease age",
    alert="GantryLeaseStale",
)
LEASE_UNREADABLE: Final = TABLE.gauge(
    "gantry_broker_lease_unreadable",
    "Whether the last request about the group's Lease failed",
    panel="Replication: Lease problems",
    alert="GantryLeaseStale",
)
LEASE_DOUBTED: Final = TABLE.gauge(
    "gantry_broker_lease_doubted",
    "Whether the group's Lease was edited, set back, deleted or damaged",
    panel="Replication: Lease problems",
    alert="GantryLeaseDoubted",
)
IGNORED_WISHES: Final = TABLE.gauge(
    "gantry_broker_ignored_wishes",
    "Annotations of the group's Lease that the member ignores because they are malformed",
    panel="Replication: Lease problems",
)
DISK_FOREIGN: Final = TABLE.gauge(
    "gantry_broker_disk_foreign",
    "Whether the disk of this member belongs to another group",
    panel="Replication: Lease problems",
    alert="GantryDiskForeign",
)
SEAT_CONFLICTS: Final = TABLE.gauge(
    "gantry_broker_seat_conflicts",
    "Member numbers of the group that two processes claim; only a master knows it",
    panel="Replication: Lease problems",
    alert="GantrySeatConflict",
)
SLICE_UNPUBLISHED: Final = TABLE.gauge(
    "gantry_broker_slice_unpublished",
    "Whether the master failed to make the group's Service lead to itself",
    panel="Replication: Service problems",
    alert="GantryServiceNotLed",
)
FOREIGN_SLICES: Final = TABLE.gauge(
    "gantry_broker_foreign_slices",
    "EndpointSlices of the group's Service that are not the master's own",
    panel="Replication: Service problems",
)
FOREIGN_SLICES_UNKNOWN: Final = TABLE.gauge(
    "gantry_broker_foreign_slices_unknown",
    "Whether the master may not, or could not, list EndpointSlices",
    panel="Replication: Service problems",
)

# ---------------------------------------------------------------- producers and consumers

SESSIONS: Final = TABLE.gauge("gantry_broker_producer_sessions", "Producer sessions that are known")
SESSIONS_FORGOTTEN: Final = TABLE.counter(
    "gantry_broker_producer_sessions_forgotten_total",
    "Producer sessions that were dropped, by the setting that limits them",
    ("setting",),
)
REPEATED: Final = TABLE.counter(
    "gantry_broker_messages_repeated_total",
    "Messages that producers sent again and that were not stored again",
    unit="messages",
)
SESSION_REFUSED: Final = TABLE.counter(
    "gantry_broker_session_sends_refused_total",
    "Sends of producer sessions that were fenced or out of sequence",
    unit="requests",
)
OLDEST_UNACKNOWLEDGED: Final = TABLE.gauge(
    "gantry_broker_oldest_unacknowledged_seconds",
    "Age of the oldest message that was delivered to the group and is not acknowledged; 0 if none",
    ("consumer_group", "topic"),
    unit="seconds",
    panel="Lag: Oldest unacknowledged",
    alert="GantryOldestUnacknowledged",
)
QUEUE_LAG: Final = TABLE.gauge(
    "gantry_broker_queue_lag_messages",
    "Messages in one queue that the group has not acknowledged; with metricsQueueLagEnable",
    ("consumer_group", "topic", "is_retry", "is_system", "queue"),
    unit="messages",
)
SENT_BACK: Final = TABLE.counter(
    "gantry_broker_messages_sent_back_total",
    "Messages that consumers sent back, to get them again later",
    ("consumer_group", "topic"),
    unit="messages",
    panel="Retries: Sent back",
    alert="GantryRetryStorm",
)
BACKWARD_COMMITS: Final = TABLE.counter(
    "gantry_broker_backward_commits_total",
    "Offsets of groups that a consumer or an offset reset moved backwards",
    panel="Lag: Offsets set back",
)
GROUP_CONFLICTS: Final = TABLE.gauge(
    "gantry_broker_group_conflicts",
    "Lasting conflicts in the group: members that subscribe differently or share a client id",
    ("consumer_group", "kind"),
    panel="Clients: Conflicts in groups",
    alert="GantryGroupConflict",
)
OLDEST_HALF: Final = TABLE.gauge(
    "gantry_broker_oldest_half_message_seconds",
    "Age of the oldest open transaction; 0 if none is open",
    unit="seconds",
    panel="Transactions: Oldest open",
    alert="GantryHalfMessageOld",
)
TIMERS: Final = TABLE.counter(
    "gantry_broker_timer_messages_total",
    "Timer messages by outcome: delivered, recalled, rolled (moved to the end of the log) or lost",
    ("outcome",),
    unit="messages",
    panel="Timers: Outcomes",
    alert="GantryTimerLost",
)
