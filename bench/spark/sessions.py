"""Drives the Spark sessions under measurement, each in a process of its own with its children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, final

from bench.spark import processes
from bench.spark.brokers import JARS, LARGE_DISK
from gantrymq.interop.toolchain import jars_of

ROOT: Final = Path(__file__).resolve().parent.parent.parent
GANTRY, KAFKA = "Gantry", "Kafka"


@final
class SparkProcess:
    """A running bench.spark.worker, and the pipes to it."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._answer()

    def process_ids(self) -> Sequence[int]:
        """The processes to stop while the other side has its turn."""
        return processes.tree(self._process.pid)

    def order(self, do: str, topic: str, **more: object) -> dict[str, Any]:  # Any: values of JSON
        """Send an order; returns its result."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, "topic": topic, **more}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def cpu_seconds(self) -> float:
        return processes.cpu_seconds(self._process.pid)

    def memory_mib(self) -> float:
        return processes.memory_mib(self._process.pid)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the Spark session ended with {self._process.wait()}")
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def session(side: str, address: str) -> Iterator[SparkProcess]:
    """A session with two cores that reads from the broker at `address`."""
    with tempfile.TemporaryDirectory(prefix="bench-spark-", dir=LARGE_DISK) as folder:
        jars = _connector() if side == KAFKA else []
        command = [sys.executable, "-m", "bench.spark.worker", side.lower(), address, folder, *jars]
        with (Path(folder) / "worker.log").open("w") as log:
            process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            yield SparkProcess(process)
        except BaseException:
            sys.stderr.write((Path(folder) / "worker.log").read_text()[-4000:])
            raise
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait()


def _connector() -> list[str]:
    folder = Path(jars_of(JARS / "kafka-connector.xml")).parent
    return [str(path) for path in sorted(folder.glob("*.jar"))]
