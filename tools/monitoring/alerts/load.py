"""Defines alerts about brokers that have more load than they can carry."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Alert, Group, Severity
from tools.monitoring.promql import grown

FLOW_CONTROL: Final = Alert(
    "GantryFlowControl",
    Severity.WARNING,
    grown("gantry_broker_flow_control_total", "5m", "namespace, cluster, node_id, cause"),
    60,
    "{{ $labels.node_id }} refuses requests: {{ $labels.cause }}",
    "A broker refuses requests to protect itself.",
    (
        "Producers send faster than the processor or the disk can store.",
        "A slave or the disk is slow: messages that wait for it fill their memory account.",
        "Clients do not read the responses to their requests, and these fill the memory.",
    ),
    (
        (
            "The label `cause`: `overload` is memory, `timeout_clean_queue` is time in the queue."
            " Producers see the slow stage in the refusal."
        ),
        "Dashboard *Gantry: brokers*: *Oldest waiting send*, *Memory accounts*, *Event loop lag*.",
    ),
    (
        "Add brokers, or send in batches.",
        "If it is the disk, see [GantryLogSyncSlow](storage.md#gantrylogsyncslow).",
    ),
)

PUT_LATENCY_HIGH: Final = Alert(
    "GantryPutLatencyHigh",
    Severity.WARNING,
    'gantry_broker_put_latency_seconds{quantile="0.99"} > 0.05'
    " or histogram_quantile(0.99, sum by (le, namespace, cluster, node_id)"
    ' (rate(rocketmq_rpc_latency_milliseconds_bucket{request_code=~"send_message.*"}[5m])))'
    " / 1000 > 0.2",
    300,
    "Sends to {{ $labels.node_id }} take long",
    "One of 100 sends waits longer than 50 ms for the store.",
    (
        "With replicated sends: a slave is slow.",
        "With SYNC_FLUSH: the disk is slow.",
        "The broker's process is busy.",
    ),
    (
        (
            "Dashboard *Gantry: brokers*: *Sync time* (the disk), *Event loop lag* (the process);"
            " *Gantry: replication and failover*: *Bytes behind* (a slave)."
        ),
    ),
    ("Fix the stage that is slow: each has an alert and a runbook of its own.",),
)

LOOP_LAG: Final = Alert(
    "GantryLoopLag",
    Severity.WARNING,
    "gantry_event_loop_lag_seconds > 0.1",
    300,
    "{{ $labels.instance }} is late by {{ $value | humanizeDuration }}",
    "The event loop of a process runs more than 100 ms late, again and again.",
    (
        "The process has more to do than one processor can.",
        "The machine is overcommitted, or the container's CPU limit throttles it.",
    ),
    (
        (
            "Dashboard *Gantry: brokers*, *CPU*: near 1, it is the process; well below, it is the"
            " machine."
        ),
        "On Kubernetes `container_cpu_cfs_throttled_periods_total`.",
    ),
    (
        "Spread the load over more brokers.",
        "Remove the CPU limit, or raise it: a limit that is reached for a second delays clients.",
    ),
)

SERIES_DROPPED: Final = Alert(
    "GantrySeriesDropped",
    Severity.INFO,
    "gantry_metrics_dropped_series > 0",
    600,
    "{{ $labels.instance }} leaves out series of {{ $labels.metric }}",
    "A metric has more series than the limit allows. `/metrics` leaves out the rest.",
    ("There are more topics, groups or pairs of them than the limit.",),
    ("`gantry topicList -n NAMESRV | wc -l`: are there topics that should not be?",),
    (
        (
            "Delete topics and groups that are not used any more: their series go within ten"
            " minutes."
        ),
        (
            "Raise the limit, `metricsOtelCardinalityLimit`, and restart the broker:"
            " [metrics](../../reference/metrics.md)."
        ),
    ),
)

GROUP: Final = Group(
    "load",
    "is it keeping up?",
    "Brokers that refuse requests, or are slow.",
    (FLOW_CONTROL, PUT_LATENCY_HIGH, LOOP_LAG, SERIES_DROPPED),
)
