"""Parses the command line of all jobs: `gantry spark JOB …` and `python -m gantrymq.spark JOB …`.

`parse` returns the arguments of the job, or exits with one error. It imports no part of Spark.
"""

from __future__ import annotations

import argparse
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from gantrymq.spark.jobs import shared_flags
from gantrymq.spark.jobs.arguments import (
    MIB,
    ArchiveArguments,
    CompactArguments,
    Connection,
    DeadLetterArguments,
    Filters,
    JobArguments,
    LiveSource,
    ReplayArguments,
    Sending,
    SessionArguments,
    StatsArguments,
    TraceArguments,
)
from gantrymq.spark.options import kinds
from gantrymq.spark.options.connection import connection_options
from gantrymq.spark.options.errors import RocketMQOptionError
from gantrymq.spark.options.read_options import batch_options, stream_options
from gantrymq.spark.options.values import OptionValues

PROGRAM: Final = "gantry spark"
# A part of the sink's id, which is a part of every message that is sent.
_REPLAY_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,50}")

TRACE_TOPIC: Final = "RMQ_SYS_TRACE_TOPIC"
_EPILOG: Final = """\
--master and --conf are spark-submit's. Name servers: -n, or NAMESRV_ADDR. Keys of access control:
--option credentialsFile=PATH, or GANTRY_ACCESS_KEY and GANTRY_SECRET_KEY.
Exit codes: 0 done, 1 failed, 2 wrong arguments, 130 Ctrl-C, 143 SIGTERM.
"""


def parse(argv: Sequence[str], now_ms: int) -> tuple[SessionArguments, JobArguments]:
    """Parse the arguments. Raises SystemExit after an error message, or after --help."""
    parser, jobs = _parsers()
    namespace = parser.parse_args(argv)
    job_parser: argparse.ArgumentParser = jobs[namespace.job]
    try:
        return _session(namespace), _MAKERS[namespace.job](namespace, now_ms)
    except (RocketMQOptionError, shared_flags.ArgumentError) as error:
        job_parser.error(str(error))


def _session(given: argparse.Namespace) -> SessionArguments:
    conf = shared_flags.pairs(given.conf, "--conf")
    wrong = [name for name in conf if not name.startswith("spark.")]
    if wrong:
        raise shared_flags.ArgumentError(
            f"--conf {wrong[0]}: names of Spark's settings begin with spark."
        )
    return SessionArguments(
        given.job, given.master, given.name, conf, given.log_level, as_json=given.json
    )


def _archive(given: argparse.Namespace, now_ms: int) -> ArchiveArguments | CompactArguments:
    path = _folder(given.path)
    if given.compact:
        target = _parsed(kinds.size(MIB, 1 << 34), given.target_size, "--target-size")
        return CompactArguments(path, given.format, target)
    del now_ms  # a stream begins at an offset, never at a time ago
    options = shared_flags.cluster_options(given) | shared_flags.topic_options(given)
    if given.max_messages is not None:
        options["maxOffsetsPerTrigger"] = given.max_messages
    stream_options(options)
    every_ms = None
    if given.continuous is not None:
        every_ms = _parsed(kinds.duration(1, 86_400_000), given.continuous, "--continuous")
    return ArchiveArguments(
        path,
        given.format,
        LiveSource(options),
        given.checkpoint or f"{path}/_checkpoint",
        None if every_ms is None else every_ms / 1000,
        given.metrics_port,
    )


def _replay(given: argparse.Namespace, now_ms: int) -> ReplayArguments:
    source = shared_flags.source(given, now_ms)
    if not given.to_topic and not given.same_topic:
        raise shared_flags.ArgumentError(
            "give --to-topic, or --same-topic to send each message to the topic that it came from"
        )
    return ReplayArguments(
        source, _filters(given), given.to_topic, _sending(given), dry_run=given.dry_run
    )


def _stats(given: argparse.Namespace, now_ms: int) -> StatsArguments:
    return StatsArguments(
        shared_flags.source(given, now_ms),
        _filters(given),
        given.bucket,
        given.top,
        None if given.output is None else _folder(given.output),
        given.output_format,
    )


def _dead_letters(given: argparse.Namespace, now_ms: int) -> DeadLetterArguments:
    options = shared_flags.cluster_options(given)
    read = options | shared_flags.time_options(given, now_ms)
    batch_options({**read, "topic": "any"})
    kinds_wanted = ("DLQ", "RETRY") if given.kind == "both" else (given.kind.upper(),)
    if given.resend:
        kinds_wanted = ("DLQ",)  # a message that is retried comes again by itself
    return DeadLetterArguments(
        Connection(options),
        _names(given.group),
        kinds_wanted,
        _filters(given),
        read,
        given.samples,
        _sending(given) if given.resend else None,
        dry_run=given.dry_run,
    )


def _trace(given: argparse.Namespace, now_ms: int) -> TraceArguments:
    read_topics = _names(given.topic)
    given.topic, given.topic_pattern = given.trace_topic, None
    grace_ms = _parsed(kinds.duration(0, 86_400_000), given.grace, "--grace")
    return TraceArguments(
        shared_flags.source(given, now_ms), read_topics, grace_ms // 1000, given.samples
    )


def _filters(given: argparse.Namespace) -> Filters:
    return Filters(_names(given.tag), tuple(given.key), given.where)


def _sending(given: argparse.Namespace) -> Sending:
    options = shared_flags.cluster_options(given)
    replay_id = given.id or uuid.uuid4().hex[:12]
    if not _REPLAY_ID.fullmatch(replay_id):
        raise shared_flags.ArgumentError(
            f"--id {replay_id!r}: give up to 50 letters, digits, dots, hyphens and underscores"
        )
    connection_options(OptionValues(options), shared_flags.ENVIRONMENT)
    return Sending(Connection(options), replay_id, given.rate)


def _names(text: str | None) -> tuple[str, ...]:
    return () if text is None else kinds.NAMES.parse(text)


def _folder(text: str) -> str:
    if not text.strip("/ "):
        raise shared_flags.ArgumentError(f"{text!r} is not a folder that can be written to")
    return text.rstrip("/")


def _parsed(kind: kinds.Kind[int], text: str, flag: str) -> int:
    try:
        return kind.parse(text)
    except ValueError:
        raise shared_flags.ArgumentError(f"{flag} {text}: give {kind.allowed}") from None


# Any: each function returns its own class of arguments.
_MAKERS: Final[Mapping[str, Any]] = {
    "archive": _archive,
    "replay": _replay,
    "stats": _stats,
    "dlq": _dead_letters,
    "trace": _trace,
}


# ---------------------------------------------------------------- the parsers
def _parsers() -> tuple[argparse.ArgumentParser, Mapping[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Run a job over whole topics in Spark.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="job", required=True, metavar="JOB")

    def job(name: str, about: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(
            name,
            help=about,
            description=about,
            usage=f"{PROGRAM} {name} [OPTIONS]",
            epilog=_EPILOG,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        _add_session(made)
        shared_flags.add_cluster(made)
        return made

    jobs = {
        "archive": job("archive", "write topics to Parquet or Delta, each message once"),
        "replay": job("replay", "send messages of an archive or of a time range again"),
        "stats": job("stats", "count messages and bytes by topic, tag and time"),
        "dlq": job("dlq", "show dead letters and retries by group; send dead letters again"),
        "trace": job("trace", "show latencies, losses and slow consumers from message traces"),
    }
    _add_archive(jobs["archive"])
    _add_replay(jobs["replay"])
    _add_stats(jobs["stats"])
    _add_dead_letters(jobs["dlq"])
    _add_trace(jobs["trace"])
    return parser, jobs


def _add_session(job: argparse.ArgumentParser) -> None:
    group = job.add_argument_group("Spark and output")
    group.add_argument("--master", metavar="URL", help="local[4], k8s://…; as spark-submit's")
    group.add_argument("--name", help="of the application; default: gantry-JOB")
    group.add_argument("--conf", action="append", default=[], metavar="NAME=VALUE")
    group.add_argument(
        "--log-level", choices=("ERROR", "WARN", "INFO"), default="ERROR", help="of Spark itself"
    )
    group.add_argument("--json", action="store_true", help="print the summary as one JSON object")


def _add_archive(job: argparse.ArgumentParser) -> None:
    shared_flags.add_topics(job)
    job.add_argument("--path", required=True, metavar="URL", help="the folder of the archive")
    job.add_argument("--format", choices=("parquet", "delta"), default="parquet")
    job.add_argument("--checkpoint", metavar="URL", help="default: PATH/_checkpoint")
    job.add_argument("--max-messages", metavar="N", help="the most messages of a micro-batch")
    job.add_argument(
        "--continuous",
        nargs="?",
        const="10s",
        metavar="EVERY",
        help="continue until SIGTERM, with a micro-batch every 10s or EVERY",
    )
    job.add_argument("--metrics-port", type=int, metavar="PORT", help="serve Prometheus' metrics")
    job.add_argument("--compact", action="store_true", help="only rewrite small files into larger")
    job.add_argument("--target-size", default="128m", metavar="BYTES", help="of compacted files")


def _add_replay(job: argparse.ArgumentParser) -> None:
    shared_flags.add_topics(job)
    shared_flags.add_times(job)
    shared_flags.add_offsets(job)
    shared_flags.add_archive(job)
    shared_flags.add_filters(job)
    target = job.add_mutually_exclusive_group()
    target.add_argument("--to-topic", metavar="TOPIC", help="where the messages are sent to")
    target.add_argument("--same-topic", action="store_true", help="each to where it came from")
    _add_sending(job)


def _add_stats(job: argparse.ArgumentParser) -> None:
    shared_flags.add_topics(job)
    shared_flags.add_times(job)
    shared_flags.add_offsets(job)
    shared_flags.add_archive(job)
    shared_flags.add_filters(job)
    job.add_argument("--bucket", choices=("minute", "hour", "day"), default="minute")
    job.add_argument("--top", type=shared_flags.whole(0, 1000), default=10, metavar="N")
    job.add_argument("--output", metavar="URL", help="a folder for the whole table")
    job.add_argument("--output-format", choices=("parquet", "json"), default="parquet")


def _add_dead_letters(job: argparse.ArgumentParser) -> None:
    job.add_argument("-g", "--group", metavar="NAMES", help="default: all groups")
    job.add_argument("--kind", choices=("dlq", "retry", "both"), default="both")
    job.add_argument("--samples", type=shared_flags.whole(0, 100), default=3, metavar="N")
    shared_flags.add_times(job)
    shared_flags.add_filters(job)
    job.add_argument(
        "--resend", action="store_true", help="send dead letters to the topic they were for"
    )
    _add_sending(job)


def _add_trace(job: argparse.ArgumentParser) -> None:
    job.add_argument("-t", "--topic", metavar="NAMES", help="only of messages of these topics")
    job.add_argument("--trace-topic", default=TRACE_TOPIC, metavar="TOPIC")
    job.add_argument(
        "--grace", default="60s", metavar="TIME", help="younger sends do not count as lost"
    )
    job.add_argument("--samples", type=shared_flags.whole(0, 1000), default=10, metavar="N")
    shared_flags.add_times(job)
    shared_flags.add_offsets(job)
    shared_flags.add_archive(job)


def _add_sending(job: argparse.ArgumentParser) -> None:
    group = job.add_argument_group("sending")
    group.add_argument("--id", help="of the replay: the same id again stores nothing twice")
    group.add_argument("--rate", type=shared_flags.whole(1, 10_000_000), metavar="PER_SECOND")
    group.add_argument("--dry-run", action="store_true", help="count, and send nothing")
