"""Runs the process behind the mount, which serves the kernel and the test.

    python -m gantrymq.powercut.server MOUNTPOINT

The test writes one JSON object a line on standard input and reads one from standard output:

    {"do": "cut", "choices": C}         the power goes and comes back; C: see `chooser`
    {"do": "crash_at", "operation": N}  it goes at the N-th change or sync since the mount
    {"do": "fail", "operation": "sync", "failure": "BROKEN", "path": "", "times": 1}
    {"do": "slow", "seconds": S}        each sync is answered so much later; 0: at once
    {"do": "resize", "total_bytes": N}  the size of the partition
    {"do": "operations"}                how many changes and syncs since the mount

The end of standard input is the end of the mount.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import select
import sys
import time
from collections import deque
from typing import Final, final

from gantrymq.base.disk import DiskFailure
from gantrymq.powercut import protocol
from gantrymq.powercut.filesystem import FileSystem, RefusedError
from gantrymq.testing.faulty_disk import FaultyDisk, PowerCut
from gantrymq.testing.unsynced import Chooser, keep_all, lose_all

MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
LIBC: Final = ctypes.CDLL(None, use_errno=True)


def chooser(choices: str) -> Chooser:
    """The decision about unsynced data: `keep_all`, `lose_all`, or a seed."""
    named = {"keep_all": keep_all, "lose_all": lose_all}
    return named.get(choices) or random.Random(choices).randrange


@final
class Server:
    """The server of one mountpoint, which is mounted again after each power cut."""

    def __init__(self, mountpoint: str) -> None:
        self._mountpoint = mountpoint
        self._buffer = bytearray(protocol.REQUEST_BYTES_MAX)
        self._slow_seconds = 0.0
        # The requests that a slow disk holds back, each with the time at which it is answered.
        self._waiting: deque[tuple[float, bytes]] = deque()
        self._mount(FaultyDisk())

    def run(self) -> None:
        """Serve until the test closes standard input."""
        while True:
            watched = [0] if self._device < 0 else [0, self._device]
            ready = select.select(watched, [], [], self._due_in())[0]
            self._answer_waiting()
            if self._device in ready:
                self._take_request()
            elif 0 in ready:
                line = sys.stdin.buffer.readline()
                if not line:
                    break
                write_line(self._obey(json.loads(line)))
        self._unmount()

    def _mount(self, disk: FaultyDisk) -> None:
        self._disk = disk
        self._files = FileSystem(disk)
        self._device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._device},rootmode=40000,user_id=0,group_id=0,allow_other"
        flags = MS_NOSUID | MS_NODEV
        target = self._mountpoint.encode()
        if LIBC.mount(b"gantry-powercut", target, b"fuse", flags, options.encode()):
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number), self._mountpoint)

    def _due_in(self) -> float | None:
        """Seconds until the first waiting request is due; None if none waits."""
        return max(0.0, self._waiting[0][0] - time.monotonic()) if self._waiting else None

    def _power_off(self) -> None:
        """End the mount: every call of a process on it fails from now on."""
        self._waiting.clear()
        if self._device >= 0:
            os.close(self._device)
            self._device = -1

    def _unmount(self) -> None:
        self._power_off()
        LIBC.umount2(self._mountpoint.encode(), MNT_DETACH)

    def _take_request(self) -> None:
        """Answer the kernel's request, at once or after the delay of a slow disk."""
        size = os.readv(self._device, [self._buffer])
        request = bytes(memoryview(self._buffer)[:size])
        opcode = protocol.REQUEST.unpack_from(request)[1]
        if self._slow_seconds and opcode == protocol.Opcode.FSYNC:
            self._waiting.append((time.monotonic() + self._slow_seconds, request))
        elif opcode not in protocol.SILENT:
            self._answer_kernel(request)

    def _answer_waiting(self) -> None:
        now = time.monotonic()
        while self._waiting and self._waiting[0][0] <= now:
            self._answer_kernel(self._waiting.popleft()[1])

    def _answer_kernel(self, request: bytes) -> None:
        _, opcode, unique, node, *_ = protocol.REQUEST.unpack_from(request)
        self._disk.memory.now_ms = time.time_ns() // 1_000_000
        number, answer = 0, b""
        try:
            answer = self._files.answer(opcode, node, request[protocol.REQUEST.size :])
        except RefusedError as refused:
            number = refused.number
        except PowerCut:
            self._power_off()
            return
        head = protocol.ANSWER.pack(protocol.ANSWER.size + len(answer), -number, unique)
        os.writev(self._device, [head, answer])

    def _obey(self, order: dict[str, str]) -> dict[str, int]:
        if order["do"] == "cut":
            operations = self._disk.operations
            self._unmount()
            self._disk.choose = chooser(order["choices"])
            survivor = self._disk.crash()
            # Choices while it runs: a refused write writes nothing, a failed sync loses its pages.
            survivor.choose = keep_all
            self._mount(survivor)
            return {"operations": operations}
        if order["do"] == "crash_at":
            self._disk.crash_at = int(order["operation"])
        if order["do"] == "fail":
            failure = DiskFailure[order["failure"]]
            self._disk.fail(
                order["operation"], failure, path=order["path"], times=int(order["times"])
            )
        if order["do"] == "slow":
            self._slow_seconds = float(order["seconds"])
        if order["do"] == "resize":
            self._disk.memory.total_bytes = int(order["total_bytes"])
        return {"operations": self._disk.operations}


def write_line(answer: dict[str, int] | dict[str, str]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


def main() -> None:
    try:
        server = Server(sys.argv[1])
    except OSError as error:
        write_line({"error": str(error)})
        return
    write_line({"operations": 0})
    server.run()


if __name__ == "__main__":
    main()
