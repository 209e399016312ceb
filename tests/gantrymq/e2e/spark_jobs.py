"""Installs and watches jobs of the chart's spark.jobs on the cluster under test."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final, final

from gantrymq.e2e.kubectl import Json, KubectlError, Namespace, condition, wait_until
from gantrymq.e2e.operator_install import RELEASE, Operator

JOB_SECONDS: Final = 300.0  # a JVM starts in 10 s, alone on a machine
# Rows and different keys of an archive. Folders with an underscore hold no rows.
_COUNT: Final = """\
import json, pathlib, sys
import pyarrow.parquet
files = [file for file in pathlib.Path(sys.argv[1]).glob("topic=*/day=*/**/*.parquet")]
keys = [key for file in files
        for key in pyarrow.parquet.ParquetFile(file).read(["keys"])["keys"].to_pylist()]
print(json.dumps({"rows": len(keys), "keys": len(set(keys))}))
"""


@final
class SparkJobs:
    """What spark.jobs became in one namespace."""

    def __init__(self, operator: Operator, namespace: Namespace, image: str) -> None:
        self._operator = operator
        self._namespace = namespace
        self._image = image

    def install(self, *jobs: Json) -> None:
        """Upgrade the release to these jobs; those of an upgrade before go."""
        placed = [{**job, "namespace": self._namespace.name} for job in jobs]
        self._operator.install(values={"spark": {"jobs": placed, "image": self._image}})

    def pods(self, job: str, **labels: str) -> list[Json]:
        return self._namespace.list("pods", {"gantrymq.dev/spark-job": job, **labels})

    def executors(self, job: str) -> list[Json]:
        return self.pods(job, **{"spark-role": "executor"})

    def wait_for_stream(self, job: str) -> None:
        """Until the driver of a continuous job and an executor of it are ready."""

        def is_running() -> bool:
            pods = [self._namespace.get("pod", f"{RELEASE}-{job}-0"), *self.executors(job)]
            ready = [condition(pod, "Ready").get("status") == "True" for pod in pods]
            return len(ready) > 1 and all(ready)

        wait_until(is_running, f"driver and executors of {job} run", JOB_SECONDS,
                   lambda: self.describe(job))  # fmt: skip

    def run_scheduled(self, job: str) -> Json:
        """Start the CronJob of this job now; the summary that it prints."""
        name = f"{RELEASE}-{job}"
        self._namespace.run("create", "job", f"{name}-now", f"--from=cronjob/{name}")
        return self.summary(job)

    def summary(self, job: str) -> Json:
        """Wait for the Job to complete; the summary that it printed last, as --json has it."""

        def has_ended() -> bool:
            ends = [condition(each, name).get("status") for each in self._jobs(job)
                    for name in ("Complete", "Failed")]  # fmt: skip
            return "True" in ends

        wait_until(has_ended, f"{job} ends", JOB_SECONDS, lambda: self.describe(job))
        [found] = self._jobs(job)
        assert condition(found, "Complete").get("status") == "True", self.describe(job)
        name = found["metadata"]["name"]
        printed = self._namespace.run("logs", f"job/{name}", "--tail=50")
        summary: Json = json.loads(next(x for x in printed.splitlines() if x.startswith("{")))
        return summary

    def _jobs(self, job: str) -> list[Json]:
        return self._namespace.list("jobs", {"gantrymq.dev/spark-job": job})

    def count(self, job: str, path: str) -> tuple[int, int]:
        """Rows and different keys of an archive, read in the driver of a continuous job."""
        pod = f"{RELEASE}-{job}-0"
        told = json.loads(
            self._namespace.run("exec", pod, "--", "python3", "-c", _COUNT, path, seconds=60.0)
        )
        return told["rows"], told["keys"]

    def wait_for_keys(self, job: str, path: str, keys: int) -> tuple[int, int]:
        """Wait until an archive has as many different keys; its rows and keys then."""
        last = (0, 0)

        def has_all() -> bool:
            nonlocal last
            last = self.count(job, path)
            return last[1] >= keys

        wait_until(has_all, f"{keys} keys are archived", JOB_SECONDS,
                   lambda: f"{last} are\n{self.describe(job)}")  # fmt: skip
        return last

    def describe(self, job: str) -> str:
        """Pods, events and the drivers' last words, for a test that failed."""
        shown = [self._namespace.run("get", "pods,jobs,pvc", "-o", "wide")]
        shown.append(self._namespace.run("get", "events", "--sort-by=.lastTimestamp"))
        names = [pod["metadata"]["name"] for pod in self.pods(job)]
        shown += [self._words(["logs", name, "--tail=60"]) for name in names]
        return "\n".join(shown)

    def _words(self, command: Sequence[str]) -> str:
        try:
            return self._namespace.run(*command)
        except KubectlError as error:  # the pod has no container yet
            return str(error)


# A failover takes seconds, in which a send fails.
_SEND: Final = """\
import sys, time
from gantrymq.base.errors import GantryError
from gantrymq.client import Message
from gantrymq.client.blocking import Producer
first, last, failures = int(sys.argv[2]), int(sys.argv[3]), 0
with Producer("e2e-spark", name_servers=sys.argv[1]) as producer:
    number = first
    while number < last:
        try:
            producer.send(Message("Orders", f"order {number}", keys=str(number), tag="paid"))
            number += 1
        except GantryError:
            failures += 1
            if failures > 600:
                raise
            time.sleep(0.1)
"""
_COUNT_TOPIC: Final = """\
import sys
from gantrymq.client.blocking import Admin
with Admin(name_servers=sys.argv[1]) as admin:
    queues = admin.topics.stats(sys.argv[2]).queues.values()
    print(sum(each.max_offset - each.min_offset for each in queues))
"""


def send(namespace: Namespace, pod: str, name_servers: str, first: int, last: int) -> None:
    """Send messages with these numbers as keys, from a pod; each is stored once or more often."""
    namespace.run("exec", pod, "--", "python3", "-c", _SEND, name_servers, str(first), str(last),
                  seconds=300.0)  # fmt: skip


def stored(namespace: Namespace, pod: str, name_servers: str, topic: str) -> int:
    """How many messages a topic has."""
    text = namespace.run("exec", pod, "--", "python3", "-c", _COUNT_TOPIC, name_servers, topic)
    return int(text)


def job(name: str, kind: str, *args: str, **more: Any) -> Json:
    """An item of spark.jobs that is small enough for a test."""
    resources: Json = {
        "driver": {"cores": 1, "cpu": "100m", "memoryMiB": 512, "overheadMiB": 896},
        "executors": {"count": 0, "cores": 1, "cpu": "100m", "memoryMiB": 512, "overheadMiB": 512},
        "scratch": "1Gi",
    }
    resources["executors"]["count"] = more.pop("executors", 0)
    return {"name": name, "job": kind, "args": list(args), "resources": resources, **more}
