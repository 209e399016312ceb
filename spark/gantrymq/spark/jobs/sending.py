"""Sends messages again: decides the content and the order of the copies.

The messages of one queue stay in one task, in the order of their offsets. They go to one queue of
the target; messages that have a sharding key go to the queue of their key, and stay in order of it.
Tasks and order depend on the messages alone, so that the same replay, run again, makes the same
sends, and the sink's `idempotent` delivery stores none of them twice.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark's documents

from gantrymq.spark.jobs.archiving.rows import FORMAT
from gantrymq.spark.jobs.arguments import Sending
from gantrymq.wire.message import property_names

REPLAY_ID: Final = "REPLAY_ID"

# The number of tasks is part of what makes a replay repeatable, so it does not follow the cluster.
TASKS: Final = 16

_QUEUE: Final = ("topic", "brokerName", "queueId")

# Properties that clients and brokers set: the copy gets its own. The sink leaves out more.
NOT_COPIED: Final = tuple(
    sorted(
        {
            *property_names.RESERVED,
            property_names.SHARDING_KEY,
            property_names.TRACE_CONTEXT,
            property_names.TRANSACTION_ID,
            property_names.TRANSACTION_CHECK_TIMES,
            property_names.INNER_NUM,
            property_names.INNER_BASE,
            property_names.PRODUCER_SESSION,
            REPLAY_ID,
        }
    )
)


def sendable(rows: DataFrame, target: Column, replay_id: str) -> DataFrame:
    """Return the sink's columns of a copy of each message; `target` evaluates to its topic."""
    names = F.array(*map(F.lit, NOT_COPIED))
    own = F.map_filter(
        F.coalesce("properties", F.create_map().cast("map<string,string>")),
        lambda name, _: ~F.array_contains(names, name),
    )
    key = F.coalesce(F.col("properties")[property_names.SHARDING_KEY], F.concat_ws(" ", *_QUEUE))
    marked = F.map_concat(own, F.create_map(F.lit(REPLAY_ID), F.lit(replay_id)))
    ordered = rows.repartition(TASKS, *_QUEUE).sortWithinPartitions(*_QUEUE, "queueOffset")
    return ordered.select(
        "body",
        target.alias("topic"),
        "tags",
        "keys",
        marked.alias("properties"),
        key.alias("shardingKey"),
        "flag",
    )


def sink_id(replay_id: str) -> str:
    """Return the id by which brokers remember the sends, so that a batch is `idempotent`."""
    return f"replay-{replay_id}"


def send(messages: DataFrame, sending: Sending) -> None:
    """Send all messages through the sink of the format."""
    options = {**sending.connection.options, "sinkId": sink_id(sending.replay_id)}
    if sending.rate is not None:
        # The sink limits a task. At most the default parallelism of tasks runs at once.
        running = min(TASKS, messages.sparkSession.sparkContext.defaultParallelism)
        options["rateLimit"] = str(max(1, sending.rate // running))
    messages.write.format(FORMAT).mode("append").options(**options).save()
