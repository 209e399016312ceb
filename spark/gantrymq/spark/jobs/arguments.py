"""What each job is asked to do: values that are checked before Spark starts.

This module and `command_line` import no part of Spark, so that a wrong argument and `--help` are
answered at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SessionArguments:
    """How the session is made. `master` None: what spark-submit or spark-defaults.conf says."""

    job: str
    master: str | None = None
    name: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    log_level: str = "ERROR"
    as_json: bool = False


@dataclass(frozen=True, slots=True)
class Connection:
    """The options of the format `rocketmq` that reach the cluster, for reads and writes alike."""

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
    """Which of the messages count; empty: all of them."""

    tags: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    where: str | None = None


@dataclass(frozen=True, slots=True)
class Sending:
    """How messages are sent again. The same id with the same messages stores nothing twice."""

    connection: Connection
    replay_id: str
    rate: int | None = None


@dataclass(frozen=True, slots=True)
class ArchiveArguments:
    """Topics into files. `every_s` None: what is there now, then the job ends."""

    path: str
    table_format: str
    source: LiveSource
    checkpoint: str
    every_s: float | None = None
    metrics_port: int | None = None


@dataclass(frozen=True, slots=True)
class CompactArguments:
    """The small files of an archive into files of about `target_bytes`."""

    path: str
    table_format: str
    target_bytes: int = 128 * MIB


@dataclass(frozen=True, slots=True)
class ReplayArguments:
    """Messages sent again to `topic`; None: each to the topic that it came from."""

    source: Source
    filters: Filters
    topic: str | None
    sending: Sending
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class StatsArguments:
    """Counts and sizes by topic, tag and time. `output` None: on the screen only."""

    source: Source
    filters: Filters
    bucket: str = "minute"
    top: int = 10
    output: str | None = None
    output_format: str = "parquet"


@dataclass(frozen=True, slots=True)
class DeadLetterArguments:
    """Dead letters and retries of these groups; of all groups without one."""

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
    """What the message traces tell. Sends of the last `grace_s` are not missed yet."""

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
