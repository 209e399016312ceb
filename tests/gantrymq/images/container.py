"""Runs a container of an image with its user, a read-only root file system and a PID namespace.

    image = Image.open("gantrymq/broker:1")
    with Container(image, ["broker"]) as container:
        container.wait_for_line("boot success")
        assert container.stop() == 0

The container has no capabilities and gains none; only its home folder and /dev/shm are writable. It
shares the network of the test, so a test reaches it on loopback. Needs root and buildah.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from cluster.base_image import buildah

USER = "10911:10911"
START_SECONDS = 60.0  # two seconds on an idle machine
STOP_SECONDS = 30.0  # the default grace period of Kubernetes before it kills
POLL_SECONDS = 0.01
NAMESPACES = ("--mount", "--pid", "--ipc", "--uts", "--fork")
# Runs in new namespaces, as root: $1 is the root filesystem, $2 the user, $3 the home folder.
SCRIPT = """
set -e
root=$1 user=$2 home=$3
shift 3
mount --bind "$root" "$root"
mount -o remount,bind,ro "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
for device in null zero random urandom; do
    touch "$root/dev/$device"
    mount --bind "/dev/$device" "$root/dev/$device"
done
ln -s /proc/self/fd "$root/dev/fd"
mkdir "$root/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t tmpfs -o uid=${user%:*},gid=${user#*:},mode=750 tmpfs "$root$home"
exec setpriv --no-new-privs chroot --userspec="$user" "$root" /usr/bin/env -i -C "$home" "$@"
"""


@dataclass(frozen=True)
class Image:
    """A mounted image and its configuration."""

    reference: str
    working_container: str
    root: Path
    configuration: dict[str, Any]  # the image's own JSON

    @classmethod
    def open(cls, reference: str) -> Self:
        inspected = json.loads(buildah("inspect", "--type", "image", reference))
        # Named, because a run that is killed leaves the container behind; the next run removes it.
        working_container = "test-of-" + reference.rpartition(":")[0].replace("/", "-")
        if working_container in buildah("containers", "--format", "{{.ContainerName}}").split():
            buildah("rm", working_container)
        buildah("from", "-q", "--pull-never", "--name", working_container, reference)
        root = Path(buildah("mount", working_container).strip())
        return cls(reference, working_container, root, inspected["OCIv1"]["config"])

    def close(self) -> None:
        buildah("rm", self.working_container)

    @property
    def command(self) -> list[str]:
        """The command that runs unless arguments replace it."""
        return list(self.configuration["Cmd"])


class Container:
    """A running container; `with` starts and ends it."""

    def __init__(self, image: Image, arguments: Sequence[str], entrypoint: str = "") -> None:
        self._image = image
        self._command = [
            *([entrypoint] if entrypoint else image.configuration["Entrypoint"]),
            *arguments,
        ]
        self._lines: list[str] = []
        self._has_ended = threading.Event()
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        settings = self._image.configuration
        environment = [*settings["Env"], f"HOME={settings['WorkingDir']}"]
        where = (str(self._image.root), settings["User"], settings["WorkingDir"])
        self._process = subprocess.Popen(
            ["unshare", *NAMESPACES, "sh", "-c", SCRIPT, "sh", *where, *environment,
             *self._command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip
        threading.Thread(target=self._read, args=[self._process], daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            for process in children_of(self._process.pid):  # empty if it has just ended
                # the kernel then ends the other processes of its namespace
                os.kill(process, signal.SIGKILL)
        self.wait()

    def _read(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._lines.append(line)
        process.stdout.close()
        self._has_ended.set()

    @property
    def output(self) -> str:
        return "".join(self._lines)

    def wait_for_line(self, text: str) -> None:
        """Return when the output contains this text."""
        self.wait_until(lambda: text in self.output, f"it prints {text!r}")

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not condition():
            # read before the condition is checked for the last time
            has_ended = self._has_ended.is_set()
            assert not has_ended or condition(), f"it ended before {what}:\n{self.output}"
            assert time.monotonic() < deadline, f"not {what} in time:\n{self.output}"
            time.sleep(POLL_SECONDS)

    @property
    def process_1(self) -> int:
        """The process id on the host of the container's process 1."""
        assert self._process is not None
        (number,) = children_of(self._process.pid)
        return number

    def stop(self) -> int:
        """Send SIGTERM to process 1, as the kubelet does; returns its exit code."""
        os.kill(self.process_1, signal.SIGTERM)
        return self.wait()

    def wait(self, seconds: float = STOP_SECONDS) -> int:
        assert self._process is not None
        code = self._process.wait(seconds)
        self._has_ended.wait(seconds)
        return code


def children_of(process: int) -> list[int]:
    return [
        int(word) for word in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def output_of(image: Image, *arguments: str, entrypoint: str = "") -> str:
    """The output of a container that must succeed."""
    with Container(image, arguments, entrypoint) as container:
        code = container.wait()
        assert code == 0, container.output
        return container.output
