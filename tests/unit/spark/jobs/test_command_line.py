"""Arguments become what the jobs are asked to do; wrong ones are told in one line, at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gantrymq.spark.jobs import command_line
from gantrymq.spark.jobs.arguments import (
    ArchiveArguments,
    ArchiveSource,
    CompactArguments,
    DeadLetterArguments,
    JobArguments,
    LiveSource,
    ReplayArguments,
    StatsArguments,
    TraceArguments,
)

NOW_MS = 1_800_000_000_000
SERVER = ("-n", "localhost:9876")


def parse(*argv: str) -> JobArguments:
    return command_line.parse(argv, NOW_MS)[1]


def refusal(capsys: pytest.CaptureFixture[str], *argv: str) -> str:
    with pytest.raises(SystemExit) as ended:
        command_line.parse(argv, NOW_MS)
    assert ended.value.code == 2
    return capsys.readouterr().err


def test_an_archive_ends_at_the_latest_message_and_keeps_its_checkpoint_beside_its_rows() -> None:
    job = parse("archive", *SERVER, "-t", "orders,bills", "--path", "/data/archive/")
    assert isinstance(job, ArchiveArguments)
    assert job.path == "/data/archive"
    assert job.checkpoint == "/data/archive/_checkpoint"
    assert job.every_s is None
    assert job.source.options == {"nameServer": "localhost:9876", "topic": "orders,bills"}


def test_a_continuous_archive_has_a_default_interval() -> None:
    bare = parse("archive", *SERVER, "-t", "orders", "--path", "a", "--continuous")
    given = parse("archive", *SERVER, "-t", "orders", "--path", "a", "--continuous", "2m")
    assert isinstance(bare, ArchiveArguments)
    assert isinstance(given, ArchiveArguments)
    assert (bare.every_s, given.every_s) == (10.0, 120.0)


def test_compacting_needs_no_topic() -> None:
    job = parse("archive", "--path", "a", "--compact", "--target-size", "16m")
    assert job == CompactArguments("a", "parquet", 16 << 20)


def test_the_last_hours_are_counted_from_now() -> None:
    job = parse("stats", *SERVER, "-t", "orders", "--last", "2h")
    assert isinstance(job, StatsArguments)
    assert isinstance(job.source, LiveSource)
    assert job.source.options["startingTimestamp"] == str(NOW_MS - 7_200_000)


def test_an_archive_is_read_by_topic_and_time() -> None:
    job = parse(
        *("replay", *SERVER, "--archive", "a", "-t", "orders", "--same-topic"),
        *("--from", "2026-11-28T00:00:00Z", "--to", "2026-11-29T00:00:00Z"),
    )
    assert isinstance(job, ReplayArguments)
    assert job.topic is None
    assert job.source == ArchiveSource(
        "a", "parquet", ("orders",), 1_795_824_000_000, 1_795_910_400_000
    )


def test_every_replay_has_an_id_and_a_given_one_is_kept() -> None:
    flags = ("replay", *SERVER, "-t", "orders", "--to-topic", "again")
    first, second, named = parse(*flags), parse(*flags), parse(*flags, "--id", "fix-42")
    assert isinstance(first, ReplayArguments)
    assert isinstance(second, ReplayArguments)
    assert isinstance(named, ReplayArguments)
    assert first.sending.replay_id != second.sending.replay_id
    assert named.sending.replay_id == "fix-42"


def test_only_dead_letters_are_sent_again() -> None:
    job = parse("dlq", *SERVER, "-g", "payments", "--resend", "--id", "again")
    assert isinstance(job, DeadLetterArguments)
    assert job.kinds == ("DLQ",)
    assert job.resend is not None
    shown = parse("dlq", *SERVER)
    assert isinstance(shown, DeadLetterArguments)
    assert (shown.kinds, shown.groups, shown.resend) == (("DLQ", "RETRY"), (), None)


def test_traces_are_read_from_their_topic_and_told_of_others() -> None:
    job = parse("trace", *SERVER, "-t", "orders", "--grace", "5s")
    assert isinstance(job, TraceArguments)
    assert isinstance(job.source, LiveSource)
    assert job.source.options["topic"] == "RMQ_SYS_TRACE_TOPIC"
    assert (job.topics, job.grace_s) == (("orders",), 5)


def test_spark_settings_have_the_syntax_of_spark_submit() -> None:
    flags = ("--master", "local[3]", "--conf", "spark.a=b=c", "--conf", "spark.d=e", "--json")
    session, _ = command_line.parse(["dlq", *SERVER, *flags], NOW_MS)
    assert session.master == "local[3]"
    assert session.conf == {"spark.a": "b=c", "spark.d": "e"}
    assert session.as_json


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (("archive", *SERVER, "--path", "a"), "topic, topicPattern and assign"),
        (("archive", *SERVER, "-t", "o", "--path", "/"), "not a folder"),
        (("archive", *SERVER, "-t", "o", "--path", "a", "--continuous", "soon"), "--continuous"),
        (("archive", *SERVER, "-t", "o", "--path", "a", "--max-messages", "0"), "maxOffsets"),
        (("archive", "--path", "a", "--compact", "--target-size", "1"), "--target-size"),
        (("replay", *SERVER, "-t", "o"), "--to-topic"),
        (("replay", *SERVER, "-t", "o", "--to-topic", "p", "--id", "a b"), "--id"),
        (("replay", *SERVER, "-t", "o", "--to-topic", "p", "--rate", "0"), "--rate"),
        (("replay", *SERVER, "-t", "o", "--to-topic", "p", "--offsets", "{"), "startingOffsets"),
        (("replay", *SERVER, "--archive", "a", "--same-topic", "--offsets", "{}"), "queueOffset"),
        (("stats", *SERVER, "-t", "o", "--from", "yesterday"), "--from yesterday"),
        (("stats", *SERVER, "-t", "o", "--from", "5", "--to", "5"), "--to is not after --from"),
        (("stats", *SERVER, "-t", "o", "--from", "5", "--last", "1h"), "exclude each other"),
        (("stats", *SERVER, "-t", "o", "--top", "many"), "--top"),
        (("dlq", *SERVER, "--option", "tls"), "NAME=VALUE"),
        (("dlq", *SERVER, "--option", "secretKey=x"), "credentialsFile"),
        (("dlq", *SERVER, "--conf", "driver.memory=1g"), "spark."),
        (("dlq", "-n", "nowhere"), "nameServer"),
        (("trace", *SERVER, "--grace", "-1"), "--grace"),
        (("copy",), "invalid choice"),
        ((), "JOB"),
    ],
)
def test_invalid_arguments_are_refused(
    capsys: pytest.CaptureFixture[str], argv: tuple[str, ...], words: str
) -> None:
    told = refusal(capsys, *argv)
    assert words in told
    assert len(told.strip().splitlines()) <= 2 or not argv or argv == ("copy",)


def test_arguments_are_checked_before_spark_is_imported() -> None:
    code = (
        "import sys; from gantrymq.spark.jobs import command_line;"
        "command_line.parse(['dlq', '-n', 'a:1', '--resend'], 0);"
        "sys.exit(any(name in sys.modules for name in ('pyspark', 'pyarrow', 'numpy')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
