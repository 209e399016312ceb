"""Runs one job: starts the session, prints the summary, and returns the exit code."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # it has no types
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from gantrymq.base.errors import GantryError
from gantrymq.spark.jobs import command_line, dead_letters, replay, stats, traces
from gantrymq.spark.jobs.archiving import archive, compaction
from gantrymq.spark.jobs.archiving.tables import DELTA_SETTINGS
from gantrymq.spark.jobs.arguments import (
    ArchiveArguments,
    ArchiveSource,
    CompactArguments,
    DeadLetterArguments,
    JobArguments,
    ReplayArguments,
    SessionArguments,
    StatsArguments,
)
from gantrymq.spark.jobs.ending import Ending
from gantrymq.spark.jobs.failures import FAILED, JobEndedError
from gantrymq.spark.jobs.job_session import job_session
from gantrymq.spark.jobs.summary import Summary, as_json, as_text

STOP_SECONDS: Final = 20.0  # tasks are cancelled; Kubernetes kills after 30

# A failure of Spark may hold the traces of many tasks; the first lines say what happened.
ERROR_LINES: Final = 12


def run_job(session: SessionArguments, job: JobArguments) -> int:
    """Run the job, and return the exit code. Errors go to standard error."""
    is_stream = isinstance(job, ArchiveArguments)
    try:
        spark = job_session(session, _needed(job))
        try:
            with Ending(is_stream=is_stream) as ending:
                summary = do(spark, job, ending)
        except JobEndedError:
            _stop_from_another_thread(spark)
            raise
        except BaseException:
            spark.stop()
            raise
        spark.stop()
    except JobEndedError as error:
        return _failed(session, error, error.exit_code)
    except (GantryError, OSError) as error:
        return _failed(session, error, FAILED)
    except (PySparkException, Py4JError) as error:
        return _failed(session, _shortened(str(error)), FAILED)
    sys.stdout.write((as_json if session.as_json else as_text)(summary) + "\n")
    return summary.exit_code


def do(spark: SparkSession, job: JobArguments, ending: Ending) -> Summary:
    """Run the job in an existing session."""
    match job:
        case ArchiveArguments():
            return archive.run(spark, job, ending)
        case CompactArguments():
            return compaction.run(spark, job)
        case ReplayArguments():
            return replay.run(spark, job)
        case StatsArguments():
            return stats.run(spark, job)
        case DeadLetterArguments():
            return dead_letters.run(spark, job)
        case _:
            return traces.run(spark, job, _now_ms())


def _stop_from_another_thread(spark: SparkSession) -> None:
    """Stop Spark from another thread, because this thread's connection to the JVM still waits for
    the call that a signal interrupted."""
    stopping = threading.Thread(target=spark.stop, daemon=True)
    stopping.start()
    stopping.join(STOP_SECONDS)


def _needed(job: JobArguments) -> Mapping[str, str]:
    """Return Delta's settings if the job reads or writes a Delta table."""
    if isinstance(job, ArchiveArguments | CompactArguments):
        return DELTA_SETTINGS if job.table_format == "delta" else {}
    source = None if isinstance(job, DeadLetterArguments) else job.source
    if isinstance(source, ArchiveSource) and source.table_format == "delta":
        return DELTA_SETTINGS
    return {}


def _failed(session: SessionArguments, error: object, exit_code: int) -> int:
    sys.stderr.write(f"{command_line.PROGRAM} {session.job}: {error}\n")
    return exit_code


def _shortened(text: str) -> str:
    lines = text.splitlines()
    return "\n".join(lines[:ERROR_LINES])


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
