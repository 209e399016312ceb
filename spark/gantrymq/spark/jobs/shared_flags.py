"""Defines the flags that several jobs share: cluster, topics, times, archive, filters.

Each `add_…` adds flags to a parser. The other functions turn their values into options of the
format `rocketmq`, and raise ArgumentError or RocketMQOptionError on invalid ones.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from typing import Final

from gantrymq.base.errors import GantryError
from gantrymq.spark.jobs.arguments import ArchiveSource, LiveSource, Source
from gantrymq.spark.options import kinds
from gantrymq.spark.options.read_options import batch_options

ENVIRONMENT: Final = os.environ
DAYS_MS: Final = 86_400_000


class ArgumentError(GantryError):
    """Arguments are missing, invalid, or exclude each other."""


def add_cluster(job: argparse.ArgumentParser) -> None:
    group = job.add_argument_group("cluster")
    group.add_argument("-n", "--name-server", metavar="HOST:PORT", help="several separated by ;")
    group.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="any option of format rocketmq, such as credentialsFile or tls",
    )


def add_topics(job: argparse.ArgumentParser) -> None:
    group = job.add_argument_group("what is read")
    group.add_argument("-t", "--topic", metavar="NAMES", help="several separated by commas")
    group.add_argument("--topic-pattern", metavar="REGEX", help="every topic that matches")


def add_times(job: argparse.ArgumentParser) -> None:
    group = job.add_argument_group("stored when")
    group.add_argument("--from", dest="since", metavar="TIME", help="ISO 8601, or milliseconds")
    group.add_argument("--to", dest="until", metavar="TIME", help="not included")
    group.add_argument("--last", metavar="DURATION", help="such as 30m or 24h, instead of --from")


def add_offsets(job: argparse.ArgumentParser) -> None:
    group = job.add_argument_group("stored where")
    group.add_argument("--offsets", metavar="JSON", help="startingOffsets of the format rocketmq")
    group.add_argument("--ending-offsets", metavar="JSON", help="endingOffsets")


def add_archive(job: argparse.ArgumentParser) -> None:
    group = job.add_argument_group("from an archive instead of brokers")
    group.add_argument("--archive", metavar="URL", help="the --path of the job archive")
    group.add_argument("--archive-format", choices=("parquet", "delta"), default="parquet")


def add_filters(job: argparse.ArgumentParser) -> None:
    group = job.add_argument_group("which messages")
    group.add_argument("--tag", metavar="NAMES", help="several separated by commas")
    group.add_argument("--key", action="append", default=[], help="with this key; may be repeated")
    group.add_argument(
        "--where", metavar="SQL", help="over the columns, such as \"properties['kind'] = 'a'\""
    )


def whole(least: int, most: int) -> Callable[[str], int]:
    """A type for argparse: a whole number within bounds."""

    def parse(text: str) -> int:
        number = int(text)
        if not least <= number <= most:
            raise argparse.ArgumentTypeError(f"{number} is not from {least} to {most}")
        return number

    parse.__name__ = f"whole number from {least} to {most}"
    return parse


def pairs(texts: Iterable[str], flag: str) -> dict[str, str]:
    """NAME=VALUE, as --conf and --option take it."""
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not name.strip() or not equals:
            raise ArgumentError(f"{flag} {text!r} is invalid: give NAME=VALUE")
        found[name.strip()] = value
    return found


def cluster_options(given: argparse.Namespace) -> dict[str, str]:
    options = pairs(given.option, "--option")
    if given.name_server is not None:
        options["nameServer"] = given.name_server
    return options


def topic_options(given: argparse.Namespace) -> dict[str, str]:
    options = {"topic": given.topic, "topicPattern": given.topic_pattern}
    return {name: text for name, text in options.items() if text is not None}


def time_options(given: argparse.Namespace, now_ms: int) -> dict[str, str]:
    from_ms, to_ms = times(given, now_ms)
    options = {"startingTimestamp": from_ms, "endingTimestamp": to_ms}
    return {name: str(moment) for name, moment in options.items() if moment is not None}


def times(given: argparse.Namespace, now_ms: int) -> tuple[int | None, int | None]:
    """Return the first time, and the end that is not included, in milliseconds since 1970."""
    if given.last is not None and given.since is not None:
        raise ArgumentError("--last and --from exclude each other: give one of them")
    from_ms = _moment(given.since, "--from")
    to_ms = _moment(given.until, "--to")
    if given.last is not None:
        kind = kinds.duration(1, 3650 * DAYS_MS)
        try:
            from_ms = now_ms - kind.parse(given.last)
        except ValueError:
            raise ArgumentError(f"--last {given.last}: give {kind.allowed}") from None
    if from_ms is not None and to_ms is not None and from_ms >= to_ms:
        raise ArgumentError("--to is not after --from: there is no message between them")
    return from_ms, to_ms


def source(given: argparse.Namespace, now_ms: int) -> Source:
    """Return the source of the messages: an archive, or the brokers."""
    if given.archive is None:
        return _live(given, now_ms)
    if given.topic_pattern is not None or given.offsets or given.ending_offsets:
        raise ArgumentError(
            "--archive takes --topic, times and filters; select offsets by a column:"
            " --where 'queueOffset >= 100'"
        )
    topics = () if given.topic is None else kinds.NAMES.parse(given.topic)
    from_ms, to_ms = times(given, now_ms)
    return ArchiveSource(given.archive.rstrip("/"), given.archive_format, topics, from_ms, to_ms)


def _live(given: argparse.Namespace, now_ms: int) -> LiveSource:
    offsets = {"startingOffsets": given.offsets, "endingOffsets": given.ending_offsets}
    options = (
        cluster_options(given)
        | topic_options(given)
        | time_options(given, now_ms)
        | {name: text for name, text in offsets.items() if text is not None}
    )
    batch_options(options, ENVIRONMENT)
    return LiveSource(options)


def _moment(text: str | None, flag: str) -> int | None:
    if text is None:
        return None
    try:
        return kinds.MOMENT.parse(text)
    except ValueError as error:
        raise ArgumentError(f"{flag} {text}: {error}; give {kinds.MOMENT.allowed}") from None
