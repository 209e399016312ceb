"""Defines the dashboard of Spark's streaming queries."""

from __future__ import annotations

from typing import Final

from tools.monitoring.panel import (
    ZERO_IS_GOOD,
    Dashboard,
    Row,
    Variable,
    graph,
    limits,
    number,
)

QUERY: Final = Variable("query", "Query", "gantry_spark_query_active", "query")
_OF: Final = 'query=~"$query"'

_QUESTIONS: Final = Row(
    "Do queries keep up?",
    (
        number(
            "Active queries",
            "Streaming queries that run.",
            f"sum(gantry_spark_query_active{{{_OF}}}) or vector(0)",
            width=6,
        ),
        number(
            "Messages that wait",
            "Messages that wait behind the last micro-batches.",
            f"sum(gantry_spark_topic_lag{{{_OF}}}) or vector(0)",
            width=6,
        ),
        number(
            "Longest without a micro-batch",
            "Time since an active query last completed a micro-batch. A query without new"
            " messages has none.",
            f"max(time() - gantry_spark_last_commit_timestamp_seconds{{{_OF}}}"
            f" and on (instance, query) gantry_spark_query_active{{{_OF}}} == 1) or vector(0)",
            unit="s",
            steps=limits(300, 1800),
            width=6,
        ),
        number(
            "Lost messages",
            "Messages that were deleted before a query read them.",
            f"sum(gantry_spark_data_loss_total{{{_OF}}}) or vector(0)",
            steps=ZERO_IS_GOOD,
            width=6,
        ),
    ),
)

_SPARK: Final = Row(
    "Spark",
    (
        graph(
            "Active queries",
            "1 while a query runs.",
            (f"gantry_spark_query_active{{{_OF}}}", "{{query}}"),
        ),
        graph(
            "Lag",
            "Messages that wait behind the last micro-batch.",
            (f"sum by (query, topic) (gantry_spark_topic_lag{{{_OF}}})", "{{query}} {{topic}}"),
        ),
        graph(
            "Since the last micro-batch",
            "Time since the query last completed a micro-batch.",
            (f"time() - gantry_spark_last_commit_timestamp_seconds{{{_OF}}}", "{{query}}"),
            unit="s",
        ),
        graph(
            "Micro-batches",
            "Micro-batches that are done.",
            (f"rate(gantry_spark_batches_total{{{_OF}}}[<window>])", "{{query}}"),
            unit="ops",
        ),
        graph(
            "Rows",
            "Rows that micro-batches read.",
            (f"rate(gantry_spark_rows_total{{{_OF}}}[<window>])", "{{query}}"),
            unit="rowsps",
        ),
        graph(
            "Row rates",
            "Rows that arrived, and rows that were processed, each second of the last micro-batch."
            " More arrive than are processed: the query falls behind.",
            (f"gantry_spark_input_rows_per_second{{{_OF}}}", "{{query}} arrived"),
            (f"gantry_spark_processed_rows_per_second{{{_OF}}}", "{{query}} processed"),
            unit="rowsps",
        ),
        graph(
            "Time by phase",
            "What micro-batches spend their time on, by Spark's phase.",
            (
                f"sum by (phase) (rate(gantry_spark_batch_phase_seconds_total{{{_OF}}}[<window>]))",
                "{{phase}}",
            ),
            unit="s",
            is_stacked=True,
        ),
        graph(
            "Failures",
            "Runs that ended with an error.",
            (f"increase(gantry_spark_query_failures_total{{{_OF}}}[5m])", "{{query}}"),
        ),
        graph(
            "Lost messages",
            "Messages that were deleted before a query read them.",
            (f"increase(gantry_spark_data_loss_total{{{_OF}}}[5m])", "{{query}}"),
        ),
    ),
)

DASHBOARD: Final = Dashboard(
    "spark",
    "Gantry: Spark",
    "Streaming queries of Spark that read RocketMQ topics.",
    (QUERY,),
    (_QUESTIONS, _SPARK),
)
