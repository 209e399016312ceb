"""Defines alerts about streaming queries of Spark."""

from __future__ import annotations

from typing import Final

from tools.monitoring.alert import Alert, Group, Severity
from tools.monitoring.promql import grown

_LOG: Final = "The driver's log, and Spark's own page at port 4040 of the driver."

QUERY_FAILED: Final = Alert(
    "GantrySparkQueryFailed",
    Severity.WARNING,
    grown("gantry_spark_query_failures_total", "10m", "namespace, job, query"),
    0,
    "Query {{ $labels.query }} failed",
    "A run of a streaming query ended with an error in the last 10 minutes.",
    (
        "The brokers could not be reached for longer than the query tries.",
        "Messages were deleted before they were read, and the query may not skip them.",
        "The query's own code failed.",
    ),
    (_LOG,),
    ("Fix the cause and start the query again: it goes on from its checkpoint.",),
)

QUERY_STALLED: Final = Alert(
    "GantrySparkQueryStalled",
    Severity.WARNING,
    "time() - gantry_spark_last_commit_timestamp_seconds > <seconds>"
    " and on (instance, query) gantry_spark_query_active == 1"
    " and on (instance, query) sum by (instance, query) (gantry_spark_topic_lag) > 0",
    60,
    "Query {{ $labels.query }} has completed no micro-batch for {{ $value | humanizeDuration }}",
    "Messages wait for an active query that has completed no micro-batch for 10 minutes.",
    (
        "One task hangs, in the query's code or in what it writes to.",
        "The driver has no executors.",
    ),
    (_LOG, "Spark's page: which stage runs, on which executor?"),
    ("Fix what the task waits for.", "Restart the query: it goes on from its checkpoint."),
    seconds=600,
)

LAG_GROWING: Final = Alert(
    "GantrySparkLagGrowing",
    Severity.WARNING,
    "sum by (namespace, job, query, topic) (gantry_spark_topic_lag) > 10000 and"
    " sum by (namespace, job, query, topic) (deriv(gantry_spark_topic_lag[10m])) > 0",
    900,
    "Query {{ $labels.query }} falls behind on {{ $labels.topic }}",
    "More than 10 000 messages wait for a query, and their number grows.",
    (
        "The query processes fewer rows than arrive.",
        "`maxOffsetsPerTrigger` or the interval of the trigger limits it.",
    ),
    ("Dashboard *Gantry: Spark*: *Row rates* and *Time by phase*.",),
    (
        "Give the query more executors, or shorter triggers.",
        "Make sure that the brokers keep messages for long enough: `fileReservedTime`.",
    ),
)

DATA_LOSS: Final = Alert(
    "GantrySparkDataLoss",
    Severity.CRITICAL,
    grown("gantry_spark_data_loss_total", "10m", "namespace, job, query"),
    0,
    "Query {{ $labels.query }} lost messages",
    "Messages were deleted before a query read them, and it went on without them.",
    ("The query was down, or behind, for longer than the brokers keep messages.",),
    (_LOG, "Dashboard *Gantry: Spark*, *Lost messages* and *Lag*."),
    (
        "Fill the gap from an archive, where there is one: `gantry spark replay`.",
        "Raise `fileReservedTime`.",
    ),
)

GROUP: Final = Group(
    "spark",
    "streaming queries",
    "Queries that failed, hang, fall behind or lost messages.",
    (QUERY_FAILED, QUERY_STALLED, LAG_GROWING, DATA_LOSS),
)
