"""Defines the metrics of the streaming queries of one Spark driver."""

from __future__ import annotations

from typing import Final

from gantrymq.metrics.family import Table

TABLE: Final = Table("Spark driver", "Streaming queries of Spark", base_labels=("query",))

ACTIVE: Final = TABLE.gauge(
    "gantry_spark_query_active",
    "1 while the query runs",
    panel="Spark: Active queries",
)
FAILURES: Final = TABLE.counter(
    "gantry_spark_query_failures_total",
    "Runs of the query that ended with an error",
    panel="Spark: Failures",
    alert="GantrySparkQueryFailed",
)
BATCHES: Final = TABLE.counter(
    "gantry_spark_batches_total", "Micro-batches done", panel="Spark: Micro-batches"
)
ROWS: Final = TABLE.counter(
    "gantry_spark_rows_total",
    "Rows read by micro-batches that are done",
    unit="rows",
    panel="Spark: Rows",
)
INPUT_RATE: Final = TABLE.gauge(
    "gantry_spark_input_rows_per_second",
    "Rows that arrived each second, last micro-batch",
    unit="rows per second",
    panel="Spark: Row rates",
)
PROCESSED_RATE: Final = TABLE.gauge(
    "gantry_spark_processed_rows_per_second",
    "Rows processed each second, last micro-batch",
    unit="rows per second",
    panel="Spark: Row rates",
)
PHASE_SECONDS: Final = TABLE.counter(
    "gantry_spark_batch_phase_seconds_total",
    "Time of micro-batches by Spark's phase",
    ("phase",),
    unit="seconds",
    panel="Spark: Time by phase",
)
LAST_PHASE_SECONDS: Final = TABLE.gauge(
    "gantry_spark_last_batch_phase_seconds",
    "Time of the last micro-batch by phase",
    ("phase",),
    unit="seconds",
)
LAST_COMMIT: Final = TABLE.gauge(
    "gantry_spark_last_commit_timestamp_seconds",
    "When the last micro-batch was done",
    unit="seconds",
    panel="Spark: Since the last micro-batch",
    alert="GantrySparkQueryStalled",
)
TOPIC_LAG: Final = TABLE.gauge(
    "gantry_spark_topic_lag",
    "Messages of a topic that wait behind the end of the last micro-batch",
    ("topic",),
    unit="messages",
    panel="Spark: Lag",
    alert="GantrySparkLagGrowing",
)
QUEUE_LAG: Final = TABLE.gauge(
    "gantry_spark_queue_lag",
    "Messages of a queue that wait behind the end of the last micro-batch",
    ("topic", "broker", "queue"),
    unit="messages",
)
DATA_LOSS: Final = TABLE.counter(
    "gantry_spark_data_loss_total",
    "Messages that were deleted before the query read them",
    unit="messages",
    panel="Spark: Lost messages",
    alert="GantrySparkDataLoss",
)
