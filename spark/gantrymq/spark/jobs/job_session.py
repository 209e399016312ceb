"""Creates the Spark session of a job, as spark-submit does in client mode."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from pyspark.sql import SparkSession

from gantrymq.spark.jobs.arguments import SessionArguments
from gantrymq.spark.session import configure


def job_session(arguments: SessionArguments, needed: Mapping[str, str]) -> SparkSession:
    """Create the session. --conf overrides the settings that the job needs, except the time zone.

    Days of an archive and minutes of statistics are in UTC, wherever a job runs.
    """
    _use_this_python(arguments)
    builder = configure(SparkSession.builder.appName(arguments.name or f"gantry-{arguments.job}"))
    if arguments.master is not None:
        builder = builder.master(arguments.master)
    settings = {**needed, **arguments.conf, "spark.sql.session.timeZone": "UTC"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel(arguments.log_level)
    return session


def _use_this_python(arguments: SessionArguments) -> None:
    """Let local workers use this Python, because Spark's default, `python3`, may lack gantrymq.

    Executors of a cluster have the Python of their image, and PYSPARK_PYTHON names it.
    """
    if any(name.startswith("spark.pyspark.") for name in arguments.conf):
        return
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if arguments.master is None or arguments.master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
