"""Tests the image of Spark as pods run it: a job, and the commands of Spark's scheduler.

Runs only with SPARK=1 or GANTRY_E2E_LONG=1, since it is built from half a gigabyte of packages.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from gantrymq.client import Message
from gantrymq.client.blocking import Producer
from gantrymq.images import spark_image
from gantrymq.images.container import Container, Image, output_of
from gantrymq.testing.server import StandaloneServer
from images import build
from images.components import wanted
from images.engine import Buildah
from images.spark_payload import JARS

pytestmark = [
    pytest.mark.skipif(not spark_image.IS_WANTED, reason=spark_image.REASON),
    pytest.mark.timeout(1800),  # the first test may build the image, on a slow network
]
HOME = "/opt/spark/work-dir"
LIBRARY = "opt/gantry/lib"
JOB_SECONDS = 180.0  # half a minute, alone on a machine
MESSAGES = 300
# A pod has a name for its address and a /tmp, which this container lacks.
ENVIRONMENT = (
    *("env", "SPARK_LOCAL_IP=127.0.0.1", f"TMPDIR={HOME}"),
    f"JAVA_TOOL_OPTIONS=-Djava.io.tmpdir={HOME}",
)


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    release, _ = build.build(Buildah(), wanted({"SPARK": "1"}))
    opened = Image.open(release.reference("spark"))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def topic(gantry_server: StandaloneServer) -> str:
    with Producer("spark-image", name_servers=gantry_server.name_servers) as producer:
        for number in range(MESSAGES):
            producer.send(Message("SparkImage", str(number)))
    return "SparkImage"


def test_labels_and_user_of_the_image(image: Image) -> None:
    assert image.configuration["Labels"]["org.opencontainers.image.title"] == "gantry-spark"
    assert image.configuration["User"] == "185:185"
    script = "import getpass, os; print(getpass.getuser(), os.getuid(), os.path.expanduser('~'))"
    assert output_of(image, "python3", "-c", script) == f"spark 185 {HOME}\n"


def test_the_compiled_modules_run(image: Image) -> None:
    assert "hot modules compiled" in output_of(image, "gantry", "--version")


def test_every_source_has_bytecode_or_a_library(image: Image) -> None:
    """Each Python process of a driver would compile modules without bytecode at every start."""
    installed = image.root / LIBRARY
    sources = list(installed.rglob("*.py"))
    assert len(sources) > 1000
    slow = [
        path.relative_to(installed)
        for path in sources
        if not (path.parent / "__pycache__" / f"{path.stem}.cpython-311.pyc").exists()
        and not list(path.parent.glob(f"{path.stem}.*.so"))
    ]
    assert slow == []
    assert not (installed / "pyspark/python/lib/pyspark.zip").exists(), "it would win, uncompiled"


def test_the_jars_of_delta_are_among_sparks(image: Image) -> None:
    jars = {path.name for path in (image.root / LIBRARY / "pyspark" / "jars").iterdir()}
    assert {jar.file for jar in JARS} <= jars


def test_executor_without_its_driver_names_the_missing_variable(image: Image) -> None:
    with Container(image, ["executor"]) as container:
        assert container.wait() == 78, container.output
        assert "SPARK_EXECUTOR_MEMORY is missing" in container.output


def test_wrong_arguments_end_a_job_before_spark_starts(image: Image) -> None:
    with Container(image, ["gantry", "spark", "archive", "--continuous"]) as container:
        assert container.wait() == 2, container.output
        assert "--path" in container.output


@pytest.mark.parametrize("table", ["parquet", "delta"])
def test_a_job_archives_a_topic(
    image: Image, gantry_server: StandaloneServer, topic: str, table: str
) -> None:
    job = (
        *("gantry", "spark", "archive", "-n", gantry_server.name_servers, "-t", topic, "--json"),
        *("--path", f"{HOME}/archive", "--format", table, "--master", "local[2]"),
        *("--conf", "spark.driver.memory=512m"),
    )
    with Container(image, [*ENVIRONMENT, *job]) as container:
        assert container.wait(JOB_SECONDS) == 0, container.output
        summary = json.loads(container.output.splitlines()[-1])
        assert summary["rows"] == MESSAGES, container.output
