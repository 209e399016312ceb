"""Builds the image with RocketMQ's own Java clients, and runs them under load in a pod.

The clients record their results in files of the pod, as the failover tests have them
(gantrymq.cycles.records): times are of the machine's monotonic clock.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final, final

from gantrymq.cycles.records import Record, RecordReader
from gantrymq.e2e.kubectl import Json, Namespace, condition, wait_until
from gantrymq.interop.servers import OPENED_PACKAGES
from gantrymq.interop.toolchain import JarSet, cache_folder, release
from images.engine import engine_from_environment

ROOT: Final = Path(__file__).resolve().parents[3]
SOURCES: Final = ROOT / "tests" / "e2e" / "java_client"
JAVA_RELEASE: Final = "5.3.3"
IMAGE: Final = "gantrymq-test/java-client:5.3.3"
STREAMS: Final = ("java-sync", "java-async", "java-push")
# What RocketMQ's client needs of Java; all of it would be five times as large.
MODULES: Final = (
    "java.base,java.desktop,java.logging,java.management,java.naming,java.security.jgss,java.sql,"
    "jdk.crypto.ec,jdk.unsupported,jdk.zipfs"
)
STOP_SECONDS: Final = 60.0
START_SECONDS: Final = 60.0
STARTS_MAX: Final = 3

_RUN: Final = """\
mkfifo /records/input
exec 3<>/records/input
exec /opt/jre/bin/java -Xms64m -Xmx192m -XX:+UseSerialGC \
  -XX:TieredStopAtLevel=1 {opens} -Duser.home=/records -Djava.io.tmpdir=/records \
  -Drocketmq.client.logRoot=/records -cp '/opt/rocketmq/lib/*:/opt/rocketmq/driver' CycleDriver \
  "$NAME_SERVERS" "$TOPIC" /records "$SYNC" "$ASYNC" <&3 >/records/output 2>/records/errors
"""


def build_image() -> str:
    """Build the image where it does not exist yet, and put it on every node; its name."""
    archive = cache_folder() / "java-client-5.3.3.tar"
    if not archive.exists():
        with tempfile.TemporaryDirectory(prefix="gantry-java-client-") as folder:
            _fill(Path(folder))
            _build(Path(folder), archive)
    subprocess.run(
        [sys.executable, "-m", "cluster", "load", str(archive)], cwd=ROOT, check=True,
        stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return IMAGE


def _fill(folder: Path) -> None:
    java = release(JarSet.CYCLES, JAVA_RELEASE)
    jars, driver = java.class_path.split(":")
    shutil.copytree(Path(jars).parent, folder / "lib")
    shutil.copytree(driver, folder / "driver")
    shutil.copy(SOURCES / "Dockerfile", folder)
    subprocess.run(
        ["jlink", "--add-modules", MODULES, "--strip-debug", "--no-header-files", "--no-man-pages",
         "--output", str(folder / "jre")],
        check=True,
    )  # fmt: skip


def _build(folder: Path, archive: Path) -> None:
    builder = engine_from_environment()
    builder.ensure_base(builder.default_base)
    builder.build(folder / "Dockerfile", folder, IMAGE, {"BASE": builder.default_base})
    archive.parent.mkdir(parents=True, exist_ok=True)
    builder.save(IMAGE, archive)


@final
class JavaLoad:
    """Java's producers and a push consumer in one pod."""

    def __init__(self, namespace: Namespace, name: str = "java-clients") -> None:
        self._namespace = namespace
        self._name = name
        self._folder = Path(tempfile.mkdtemp(prefix="gantry-e2e-records-"))
        self._files = {each: RecordReader(self._folder / f"{each}.records") for each in STREAMS}

    def start(self, name_servers: str, topic: str, sync: int, asynchronous: int) -> None:
        """Messages a second of the producer that waits, and of the one with callbacks.

        On a busy machine Java's client may give up its start after 3 s: it is started again.
        """
        pod = _pod(self._name, name_servers, topic, sync, asynchronous)
        for _ in range(STARTS_MAX):
            self._namespace.apply(pod)
            wait_until(self._is_ready, f"the pod {self._name} runs", START_SECONDS)
            wait_until(lambda: self.size("java-sync") > 0 or self._has_given_up(),
                       "Java's clients send or give up", START_SECONDS, self.words)  # fmt: skip
            if not self._has_given_up():
                return
            self._delete()
        raise AssertionError(f"Java's clients gave up their start {STARTS_MAX} times")

    def _is_ready(self) -> bool:
        pod = self._namespace.get("pod", self._name)
        return condition(pod, "Ready").get("status") == "True"

    def _has_given_up(self) -> bool:
        return 'Exception in thread "main"' in self.words()

    def fetch(self) -> None:
        """Copy the results that the clients have recorded so far."""
        for stream in STREAMS:
            file = f"{stream}.records"
            self._namespace.run("cp", f"{self._name}:/records/{file}", str(self._folder / file))

    def take(self, stream: str) -> Iterator[Record]:
        """What a stream brought since it was asked last, as far as it was fetched."""
        return self._files[stream].take()

    def size(self, stream: str) -> int:
        """Bytes that a stream has written; 24 a record."""
        shell = f"stat -c %s /records/{stream}.records 2>/dev/null || echo 0"
        return int(self._namespace.run("exec", self._name, "--", "sh", "-c", shell))

    def stop_sending(self) -> None:
        """Consumers go on."""
        self._shell("echo > /records/input")
        wait_until(
            lambda: "stopped" in self._shell("cat /records/output"), "the sends end", STOP_SECONDS
        )

    def stop(self) -> None:
        self._delete()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _delete(self) -> None:
        self._namespace.run("delete", "pod", self._name, "--force", "--grace-period=0",
                            "--ignore-not-found")  # fmt: skip

    def node(self) -> str:
        """Where the clients run."""
        return self._namespace.run("get", "pod", self._name, "-o=jsonpath={.spec.nodeName}")

    def words(self) -> str:
        """What the clients wrote about sends that failed."""
        return self._shell("tail -c 4000 /records/errors")

    def _shell(self, command: str) -> str:
        return self._namespace.run("exec", self._name, "--", "sh", "-c", command)


def _pod(name: str, name_servers: str, topic: str, sync: int, asynchronous: int) -> Json:
    opens = " ".join(f"--add-opens={package}=ALL-UNNAMED" for package in OPENED_PACKAGES)
    settings = {
        "NAME_SERVERS": name_servers, "TOPIC": topic, "SYNC": str(sync), "ASYNC": str(asynchronous),
    }  # fmt: skip
    container = {
        "name": "java",
        "image": IMAGE,
        "command": ["sh", "-c", _RUN.format(opens=opens)],
        "env": [{"name": key, "value": value} for key, value in settings.items()],
        "volumeMounts": [{"name": "records", "mountPath": "/records"}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 2,
            "automountServiceAccountToken": False,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 10911,
                "fsGroup": 10911,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [container],
            "volumes": [{"name": "records", "emptyDir": {}}],
        },
    }
