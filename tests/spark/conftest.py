"""Fixtures of the tests on real Spark sessions: one session a module, one JVM a run.

    spark            a session with two local cores and three attempts of each task; Spark's
                     temporary files go with the test run
    gantry_server    a real broker and name server (gantrymq.testing.plugin), for the whole run

SPARK=0 leaves these tests out. Topics and groups are each test's own; so are checkpoints.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from gantrymq.left_out import leave_out
from gantrymq.spark import configure

HERE = Path(__file__).parent
JVM_MEMORY = "1g"  # of driver and executors together: `local` has one JVM
START_SECONDS = 300  # the JVM's first query compiles, on a machine that runs other stages too


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    if os.environ.get("SPARK") == "0":
        leave_out(config, items, ours, "SPARK=0: {} tests on Spark left out")
        return
    for item in ours:
        if item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(START_SECONDS))


def pytest_report_header(config: pytest.Config) -> str:
    return f"pyspark {pyspark.__version__} in {Path(pyspark.__file__).parent}"


@pytest.fixture(scope="session", autouse=True)
def _local_spark() -> None:
    """Spark's processes use loopback and the Python that runs the tests."""
    assert shutil.which("java"), "Spark needs Java 17: apt-get install openjdk-17-jre-headless"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable


@pytest.fixture(scope="module")
def spark(_local_spark: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The session of one module; the JVM lives on, so the next module's starts in a second."""
    folder = tmp_path_factory.mktemp("spark")
    builder = configure(SparkSession.builder.master("local[2, 3]").appName("gantry-tests"))
    settings = {
        "spark.driver.memory": JVM_MEMORY,
        "spark.driver.extraJavaOptions": f"-Djava.io.tmpdir={folder} -XX:+UseSerialGC",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield session
    finally:
        for query in session.streams.active:
            query.stop()
        session.stop()
