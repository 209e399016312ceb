"""Parses the options of a read, and checks them against each other before any request."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gantrymq.client.core.group.subscriptions import (
    Expression,
    Sql,
    SubscriptionError,
    subscription,
)
from gantrymq.client.core.message.message import GROUP_CHARACTERS_MAX, name_fault
from gantrymq.spark.options import table
from gantrymq.spark.options.assignment import EARLIEST, LATEST, QueueKey, QueueValues
from gantrymq.spark.options.connection import ConnectionOptions, connection_options
from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.options.values import OptionValues


@dataclass(frozen=True, slots=True)
class Selection:
    """The selection of a read: topics by name or by pattern, or queues."""

    topics: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None
    queues: frozenset[QueueKey] = frozenset()


@dataclass(frozen=True, slots=True)
class ByOffset:
    """A position in each queue: one for all queues, or one for each named queue."""

    everywhere: int = EARLIEST
    named: QueueValues | None = None


@dataclass(frozen=True, slots=True)
class ByGroup:
    """The committed offsets of a consumer group."""

    group: str


@dataclass(frozen=True, slots=True)
class ByTimestamp:
    """The first message stored at or after a time: one time for all, or one for each queue."""

    everywhere_ms: int | None = None
    named_ms: QueueValues | None = None
    must_exist: bool = False


Place: TypeAlias = ByOffset | ByGroup | ByTimestamp


@dataclass(frozen=True, slots=True)
class TriggerLimits:
    """The limits of a micro-batch."""

    rows_max: int | None = None
    bytes_max: int | None = None
    rows_min: int | None = None
    delay_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SplitLimits:
    """The limits of splitting a batch into tasks."""

    partitions_min: int | None = None
    records_max: int | None = None


@dataclass(frozen=True, slots=True)
class PullLimits:
    """The limits of a task's pulls."""

    bytes_max: int
    depth: int
    timeout_s: float


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """The options that batch and stream have in common."""

    connection: ConnectionOptions
    selection: Selection
    expression: Expression
    splits: SplitLimits
    pull: PullLimits
    fail_on_data_loss: bool
    group: str | None


@dataclass(frozen=True, slots=True)
class BatchOptions:
    """The options of a batch read: it reads from `starting` up to `ending`."""

    read: ReadOptions
    starting: Place
    ending: Place
    filter_pushdown: bool


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The options of a stream: `starting` counts for a new query alone."""

    read: ReadOptions
    starting: Place
    limits: TriggerLimits
    commit_progress: bool
    allow_shared_group: bool
    poll_wait_s: float
    discovery_s: float


def batch_options(
    texts: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> BatchOptions:
    """Raises RocketMQOptionError."""
    values = OptionValues(texts)
    read = _read_options(values, environment)
    starting = _starting(values, "earliest")
    ending = _ending(values)
    if isinstance(starting, ByOffset):
        if starting.everywhere == LATEST:
            raise _no_latest_start("latest")
        if LATEST in (starting.named or {}).values():
            raise _no_latest_start(LATEST)
    return BatchOptions(read, starting, ending, values.get(table.FILTER_PUSHDOWN))


def stream_options(
    texts: Mapping[str, str], environment: Mapping[str, str] = os.environ
) -> StreamOptions:
    """Raises RocketMQOptionError."""
    values = OptionValues(texts)
    limits = TriggerLimits(
        values.find(table.MAX_OFFSETS_PER_TRIGGER),
        values.find(table.MAX_BYTES_PER_TRIGGER),
        values.find(table.MIN_OFFSETS_PER_TRIGGER),
        values.get(table.MAX_TRIGGER_DELAY) / 1000,
    )
    if limits.rows_max is not None and (limits.rows_min or 0) > limits.rows_max:
        raise RocketMQOptionError(
            f"minOffsetsPerTrigger={limits.rows_min} is above maxOffsetsPerTrigger="
            f"{limits.rows_max}: no micro-batch could have both; lower the first"
        )
    return StreamOptions(
        _read_options(values, environment),
        _starting(values, "latest"),
        limits,
        values.get(table.COMMIT_PROGRESS),
        values.get(table.ALLOW_SHARED_GROUP),
        values.get(table.POLL_WAIT) / 1000,
        values.get(table.DISCOVERY_INTERVAL) / 1000,
    )


def column_names(texts: Mapping[str, str]) -> tuple[str, ...] | None:
    """The option `columns`; None: all."""
    return OptionValues(texts).find(table.COLUMNS)


def properties_are_json(texts: Mapping[str, str]) -> bool:
    """The option `propertiesFormat`."""
    return OptionValues(texts).get(table.PROPERTIES_FORMAT) == "json"


def _read_options(values: OptionValues, environment: Mapping[str, str]) -> ReadOptions:
    values.find(table.PULL_BATCH_SIZE)  # without effect, but a wrong one is refused all the same
    return ReadOptions(
        connection_options(values, environment),
        _selection(values),
        _expression(values),
        SplitLimits(
            values.find(table.MIN_PARTITIONS), values.find(table.MAX_RECORDS_PER_PARTITION)
        ),
        PullLimits(
            values.get(table.PULL_BYTES),
            values.get(table.PULL_DEPTH),
            values.get(table.PULL_TIMEOUT) / 1000,
        ),
        values.get(table.FAIL_ON_DATA_LOSS),
        _group(values),
    )


def _group(values: OptionValues) -> str | None:
    group = values.find(table.GROUP)
    fault = None if group is None else name_fault("group", group, GROUP_CHARACTERS_MAX)
    if fault is not None:
        raise RocketMQOptionError(f"option group={group!r} cannot be used: {fault}")
    return group


def _selection(values: OptionValues) -> Selection:
    values.at_most_one(table.TOPIC, table.TOPIC_PATTERN, table.ASSIGN)
    topics = values.find(table.TOPIC)
    pattern = values.find(table.TOPIC_PATTERN)
    queues = values.find(table.ASSIGN)
    if topics is None and pattern is None and queues is None:
        raise RocketMQOptionError(
            "nothing says what to read: give one of the options topic, topicPattern and assign"
        )
    return Selection(topics or (), pattern, queues or frozenset())


def _expression(values: OptionValues) -> Expression:
    text = values.get(table.SUB_EXPRESSION)
    is_sql = values.get(table.SUB_EXPRESSION_TYPE) == "SQL92"
    expression = Sql(text) if is_sql else text
    try:
        subscription("topic", expression, 0)
    except SubscriptionError as error:
        raise RocketMQOptionError(
            f"option subExpression={text!r} cannot be used: {error}"
        ) from None
    return expression


def _starting(values: OptionValues, default: str) -> Place:
    values.at_most_one(
        table.STARTING_OFFSETS, table.STARTING_TIMESTAMP, table.STARTING_OFFSETS_BY_TIMESTAMP
    )
    must_exist = values.get(table.STARTING_TIMESTAMP_STRATEGY) == "error"
    moment_ms = values.find(table.STARTING_TIMESTAMP)
    named_ms = values.find(table.STARTING_OFFSETS_BY_TIMESTAMP)
    if moment_ms is not None or named_ms is not None:
        return ByTimestamp(moment_ms, named_ms, must_exist)
    offsets = values.find(table.STARTING_OFFSETS)
    if offsets is None:
        offsets = default
    if offsets == "group":
        group = values.find(table.GROUP)
        if group is None:
            raise RocketMQOptionError(
                "option startingOffsets=group needs the option group: the consumer group to go on"
                " from"
            )
        return ByGroup(group)
    if isinstance(offsets, str):
        return ByOffset(_WORDS[offsets])
    return ByOffset(EARLIEST, offsets)


def _ending(values: OptionValues) -> Place:
    values.at_most_one(
        table.ENDING_OFFSETS, table.ENDING_TIMESTAMP, table.ENDING_OFFSETS_BY_TIMESTAMP
    )
    moment_ms = values.find(table.ENDING_TIMESTAMP)
    named_ms = values.find(table.ENDING_OFFSETS_BY_TIMESTAMP)
    if moment_ms is not None or named_ms is not None:
        return ByTimestamp(moment_ms, named_ms)
    offsets = values.get(table.ENDING_OFFSETS)
    if offsets == "latest":
        return ByOffset(LATEST)
    if isinstance(offsets, str) or EARLIEST in offsets.values():
        raise RocketMQOptionError.of(
            table.ENDING_OFFSETS.name,
            offsets if isinstance(offsets, str) else EARLIEST,
            "latest, or offsets that are -1 (latest) or not negative",
        )
    return ByOffset(LATEST, offsets)


def _no_latest_start(value: object) -> RocketMQOptionError:
    return RocketMQOptionError.of(
        table.STARTING_OFFSETS.name,
        value,
        "earliest, group or offsets to a batch: from the latest offset on it would read nothing",
    )


_WORDS: Final = {"earliest": EARLIEST, "latest": LATEST}
