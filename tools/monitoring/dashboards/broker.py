"""Defines the dashboard of brokers: requests, storage, timers, clients and processes."""

from __future__ import annotations

from typing import Final

from tools.monitoring.panel import (
    BROKER,
    CLUSTER,
    INSTANCE,
    JOB,
    NAMESPACE,
    Dashboard,
    Row,
    graph,
)
from tools.monitoring.promql import of_any_broker

_NODE: Final = "{{node_id}} {{instance}}"

_REQUESTS: Final = Row(
    "Requests",
    (
        graph(
            "Put latency",
            "Within these times the broker answered that part of the last minute's sends. With"
            " replicated sends they include the slaves.",
            ("gantry_broker_put_latency_seconds{<broker>}", f"{_NODE} p{{{{quantile}}}}"),
            unit="s",
        ),
        graph(
            "Oldest waiting send",
            "Age of the oldest waiting send. A high value: the store or a slave is slow.",
            ("gantry_broker_oldest_waiting_send_seconds{<broker>}", _NODE),
            unit="s",
        ),
        graph(
            "Flow control",
            "Requests that the broker refused to protect itself, by cause.",
            (
                (
                    "sum by (node_id, cause)"
                    " (rate(gantry_broker_flow_control_total{<broker>}[<window>]))"
                ),
                "{{node_id}} {{cause}}",
            ),
            unit="reqps",
        ),
        graph(
            "Latency by request",
            "Mean time from the receipt of a request to its response. Pulls that wait for"
            " messages are left out.",
            (
                (
                    "sum by (request_code) (rate(rocketmq_rpc_latency_milliseconds_sum{<broker>,"
                    'is_long_polling="false"}[<window>])) / sum by (request_code)'
                    " (rate(rocketmq_rpc_latency_milliseconds_count{<broker>,"
                    'is_long_polling="false"}[<window>]))'
                ),
                "{{request_code}}",
            ),
            unit="ms",
        ),
        graph(
            "Requests by outcome",
            "Requests by code and response code.",
            (
                "sum by (code, outcome) (rate(gantry_broker_requests_total{<broker>}[<window>]))",
                "{{code}} {{outcome}}",
            ),
            unit="reqps",
        ),
        graph(
            "Requests",
            "Requests that each process receives.",
            ("rate(gantry_remoting_requests_total{<process>}[<window>])", "{{instance}}"),
            unit="reqps",
        ),
        graph(
            "Waiting requests",
            "Requests that wait for the store, a client or a file; and by the thread pool that"
            " would hold them in a Java broker.",
            ("gantry_broker_works{<broker>}", f"{_NODE} all"),
            ("rocketmq_processor_watermark{<broker>}", f"{_NODE} {{{{processor}}}}"),
        ),
    ),
)

_STORAGE: Final = Row(
    "Storage",
    (
        graph(
            "Disk",
            "Size and free bytes of the file system with the commit log.",
            ("gantry_broker_disk_free_bytes{<broker>}", f"{_NODE} free"),
            ("gantry_broker_disk_size_bytes{<broker>}", f"{_NODE} size"),
            unit="bytes",
        ),
        graph(
            "Size",
            "Bytes that commit log, consume queues and index take.",
            ("rocketmq_storage_size_bytes{<broker>}", _NODE),
            unit="bytes",
        ),
        graph(
            "Oldest message",
            "Age of the oldest message: how far back consumers can go.",
            ("rocketmq_storage_message_reserve_time_milliseconds{<broker>}", _NODE),
            unit="ms",
        ),
        graph(
            "Sync time",
            "Time of one sync of the commit log: half of them, and 99 of 100.",
            (
                (
                    "histogram_quantile(0.5, sum by (le, node_id, instance)"
                    " (rate(gantry_broker_log_sync_seconds_bucket{<broker>}[<window>])))"
                ),
                f"{_NODE} p50",
            ),
            (
                (
                    "histogram_quantile(0.99, sum by (le, node_id, instance)"
                    " (rate(gantry_broker_log_sync_seconds_bucket{<broker>}[<window>])))"
                ),
                f"{_NODE} p99",
            ),
            unit="s",
        ),
        graph(
            "Messages per write",
            "Messages in one write to the commit log. The more, the less each message costs.",
            (
                (
                    "rate(gantry_broker_log_written_messages_total{<broker>}[<window>])"
                    " / rate(gantry_broker_log_writes_total{<broker>}[<window>])"
                ),
                _NODE,
            ),
        ),
        graph(
            "Not synced",
            "Bytes of the commit log that are not on the disk yet.",
            ("rocketmq_storage_flush_behind_bytes{<broker>}", _NODE),
            unit="bytes",
        ),
        graph(
            "Not dispatched",
            "Bytes of the commit log that consume queues do not know yet: their messages reach no"
            " consumer.",
            ("gantry_broker_dispatch_behind_bytes{<broker>}", _NODE),
            ("rocketmq_storage_dispatch_behind_bytes{<broker>}", f"{_NODE} (RocketMQ's name)"),
            unit="bytes",
        ),
    ),
)

_TIMERS: Final = Row(
    "Timers",
    (
        graph(
            "Waiting",
            "Timer messages that wait for their time.",
            ("rocketmq_timer_dequeue_lag{<broker>}", _NODE),
        ),
        graph(
            "Late",
            "How late the next timer message is delivered.",
            ("rocketmq_timer_dequeue_latency_milliseconds{<broker>}", _NODE),
            unit="ms",
        ),
        graph(
            "Not scheduled yet",
            "Timer messages that are stored and not in the calendar yet.",
            ("rocketmq_timer_enqueue_lag{<broker>}", _NODE),
        ),
        graph(
            "Scheduled",
            "Timer messages that producers send.",
            (
                "sum by (node_id) (rate(rocketmq_timer_enqueue_total{<broker>}[<window>]))",
                "{{node_id}}",
            ),
            unit="mps",
        ),
        graph(
            "Delivered",
            "Timer messages whose time came.",
            (
                "sum by (node_id) (rate(rocketmq_timer_dequeue_total{<broker>}[<window>]))",
                "{{node_id}}",
            ),
            unit="mps",
        ),
        graph(
            "Outcomes",
            "Timer messages by outcome. Lost ones were deleted with the log before their time.",
            (
                (
                    "sum by (node_id, outcome)"
                    " (increase(gantry_broker_timer_messages_total{<broker>}[5m]))"
                ),
                "{{node_id}} {{outcome}}",
            ),
        ),
    ),
)

_CLIENTS: Final = Row(
    "Clients",
    (
        graph(
            "Producers",
            "Producers that send heartbeats, by language.",
            (
                of_any_broker("rocketmq_producer_connections{<broker>}", "language, version"),
                "{{language}} {{version}}",
            ),
        ),
        graph(
            "Consumers",
            "Consumers that send heartbeats, by language.",
            (
                of_any_broker("rocketmq_consumer_connections{<broker>}", "language, version"),
                "{{language}} {{version}}",
            ),
        ),
        graph(
            "Connections",
            "Open connections, by listener.",
            ("gantry_remoting_connections{<process>}", "{{instance}} {{listener}}"),
        ),
        graph(
            "Closed connections",
            "Connections that ended, by reason.",
            (
                (
                    "sum by (listener, reason)"
                    " (rate(gantry_remoting_closed_connections_total{<process>}[<window>]))"
                ),
                "{{listener}} {{reason}}",
            ),
        ),
        graph(
            "Conflicts in groups",
            "Groups whose members subscribe differently or share a client id.",
            (
                "max by (consumer_group, kind) (gantry_broker_group_conflicts{<broker>}) > 0",
                "{{consumer_group}} {{kind}}",
            ),
        ),
    ),
)

_RESOURCES: Final = Row(
    "Resources",
    (
        graph(
            "Event loop lag",
            "The largest delay of the event loop of a process.",
            ("gantry_event_loop_lag_seconds{<process>}", "{{instance}}"),
            unit="s",
        ),
        graph(
            "CPU",
            "Processors that a process uses; its event loop uses one at most.",
            ("rate(process_cpu_seconds_total{<process>}[<window>])", "{{instance}}"),
        ),
        graph(
            "Memory",
            "Resident memory of a process.",
            ("process_resident_memory_bytes{<process>}", "{{instance}}"),
            unit="bytes",
        ),
        graph(
            "Memory accounts",
            "Bytes that waiting requests hold, by memory account, and the limit of each account.",
            ("gantry_broker_memory_bytes{<broker>}", f"{_NODE} {{{{account}}}}"),
            ("gantry_broker_memory_limit_bytes{<broker>}", f"{_NODE} {{{{account}}}} at most"),
            ("gantry_remoting_held_bytes{<process>}", "{{instance}} connections"),
            unit="bytes",
        ),
        graph(
            "Network",
            "Bytes that a process receives and sends.",
            (
                "rate(gantry_remoting_received_bytes_total{<process>}[<window>])",
                "{{instance}} received",
            ),
            ("rate(gantry_remoting_sent_bytes_total{<process>}[<window>])", "{{instance}} sent"),
            unit="Bps",
        ),
        graph(
            "Certificate expires",
            "Days until the certificate that a server shows to TLS clients expires.",
            (
                ("(gantry_tls_certificate_expires_timestamp_seconds{<process>} - time()) / 86400"),
                "{{instance}} days",
            ),
        ),
        graph(
            "Scrape time",
            "The time that it takes to make a page of metrics, and the longest time that it holds"
            " the event loop.",
            ("gantry_metrics_page_seconds{<process>}", "{{instance}} page"),
            ("gantry_metrics_longest_slice_seconds{<process>}", "{{instance}} slice"),
            unit="s",
        ),
        graph(
            "Series left out",
            "Series that are more than the limit, by metric: those topics and groups are not on"
            " any panel.",
            ("gantry_metrics_dropped_series{<process>}", "{{instance}} {{metric}}"),
        ),
    ),
)

DASHBOARD: Final = Dashboard(
    "broker",
    "Gantry: brokers",
    "The work of one broker, and the resources that it uses.",
    (NAMESPACE, CLUSTER, BROKER, JOB, INSTANCE),
    (_REQUESTS, _STORAGE, _TIMERS, _CLIENTS, _RESOURCES),
)
