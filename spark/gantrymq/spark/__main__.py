"""Runs a job: `python -m gantrymq.spark JOB …`, which `gantry spark JOB …` starts.

spark-submit takes this file as its application. Arguments are checked before Spark is imported.
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from typing import Final

from gantrymq.spark.jobs import command_line

NOT_INSTALLED: Final = 78  # the exit code of `gantry operator` without its package


def main() -> int:
    session, job = command_line.parse(sys.argv[1:], time.time_ns() // 1_000_000)
    if find_spec("pyspark") is None:
        sys.stderr.write(
            "gantry spark: PySpark is not installed, and jobs need it; install it with"
            " pip install 'gantrymq[spark]'\n"
        )
        return NOT_INSTALLED
    from gantrymq.spark.jobs.runner import run_job  # noqa: PLC0415 - imports PySpark

    return run_job(session, job)


if __name__ == "__main__":
    sys.exit(main())
