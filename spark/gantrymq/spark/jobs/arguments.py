"""Defines the arguments of each job, which are checked before Spark starts.

This module and `command_line` import no part of Spark, so that `--help` and errors are quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SessionArguments:
    """The settings of the session. `master` None leaves it to spark-submit or
    spark-defaults.conf."""

    job: str
    master: str | None = None
    name: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    log_level: str = "ERROR"
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Connection:
    """The options of the format `rocketmq` about the connection, for reads and writes."""

    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LiveSource:
    """Messages that brokers still keep: the options of a read."""

    options: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """Messages that the job `archive` wrote, stored in [from_ms, to_ms)."""

    path: str
    table_format: str
    topics: tuple[str, ...] = ()
    from_ms: int | None = None
    to_ms: int | None = None


Source: TypeAlias = LiveSource | ArchiveSource


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of messages. Empty ones select all messages."""

    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Sending:
    """How messages are sent again. With the same id and messages, brokers store nothing twice."""

    connection: Connection
    replay_id: str
    rate: int | None = None


@dataclass(frozen=True, slots=True)
class ArchiveArguments:
    """Arguments of `archive`. If `every_s` is None, the job ends after the existing messages."""

    path: str
    table_format: str
    source: LiveSource
    checkpoint: str
    every_s: float | None = None
    metrics_port: int | None = None


@dataclass(frozen=True, slots=True)
class CompactArguments:
    """Arguments of `archive --compact`, which makes files of about `target_bytes`."""

    path: str
    table_format: str
    target_bytes: int = 128 * MIB


@dataclass(frozen=True, slots=True)
class ReplayArguments:
    """Arguments of `replay`. If `topic` is None, each message goes to its own topic."""

    source: Source
    filters: Filters
    topic: str | None
    sending: Sending
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class StatsArguments:
    """Arguments of `stats`. If `output` is None, the job only prints its tables."""

    source: Source
    filters: Filters
    bucket: str = "minute"
    top: int = 10
    output: str | None = None
    output_format: str = "parquet"


@dataclass(frozen=True, slots=True)
class DeadLetterArguments:
    """Arguments of `dlq`, about these groups; about all groups if there are none."""

    connection: Connection
    groups: tuple[str, ...]
    kinds: tuple[str, ...]
    filters: Filters
    read_options: Mapping[str, str]
    samples: int = 3
    resend: Sending | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class TraceArguments:
    """Arguments of `trace`. Sends of the last `grace_s` do not count as lost."""

    source: Source
    topics: tuple[str, ...] = ()
    grace_s: int = 60
    samples: int = 10


JobArguments: TypeAlias = (
    ArchiveArguments
    | CompactArguments
    | ReplayArguments
    | StatsArguments
    | DeadLetterArguments
    | TraceArguments
)
