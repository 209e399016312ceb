"""Runs background work of the real disk: reads and long jobs in threads, fsyncs in a process.

    background = DiskBackground(disk)
    loop.add_reader(background.fileno(), on_completions)    # or poll take_completions() each turn

Measured with a loop that is never idle (2 busy cores, ext4, medians of six alternating runs): with
turns of 60 us a thread ended 1 530 syncs a second, half of them within 0.16 ms, and the process
1 780, within 0.11 ms; with turns of 200 us 1 090 within 0.37 ms and 1 550 within 0.24 ms. A thread
must get the interpreter lock before and after each fdatasync, and a busy loop is slow to release
it. Cold reads and long jobs still use threads: no acknowledgement waits for them.

The process stays in the broker's session on purpose: the scheduler may group tasks by session, and
a helper in a group of its own waited for the loop's time slice, 4 ms a sync.

While no work is in progress there are no system calls: the loop takes completions each turn, and
most turns have none to expect. An idle helper is not watched either, so its death does not wake the
loop; the next sync notices it.

Every ticket completes while the device responds: when the helper process dies, its tickets, and
every later sync, complete as BROKEN. The tickets of a device that never responds stay in progress;
their owner decides how long to wait.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Final, TypeAlias, final

from gantrymq.base.disk import Completion, DiskError, DiskFailure, File
from gantrymq.base.errors import LocalError
from gantrymq.runtime.storage import sync_helper
from gantrymq.runtime.storage.disk import FolderDisk, FolderFile
from gantrymq.runtime.storage.disk_errors import disk_error

READ_THREADS: Final = 4  # disk arrays could serve more, but a broker has few cold readers
JOBS_MAX: Final = 1024  # in progress at once: each read holds a descriptor
SYNCS_MAX: Final = 128  # in progress at once: about half of what the socket's buffer holds
GROUP_SIGNALS: Final = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
STOP_SECONDS: Final = 5.0  # how long `close` waits for a job in progress

Job: TypeAlias = "tuple[int, str, str, Callable[[], bytes]]"  # ticket, operation, path, work
Jobs: TypeAlias = "SimpleQueue[Job | None]"


@final
class DiskBackground:
    """The `Background` of a `FolderDisk`. Only the event loop's thread calls it."""

    __slots__ = (
        "_chores",
        "_disk",
        "_finished",
        "_helper",
        "_is_helper_watched",
        "_last_ticket",
        "_reads",
        "_ready",
        "_threads",
        "_under_way",
        "_wake",
        "_wakes_owed",
    )

    def __init__(self, disk: FolderDisk) -> None:
        self._disk = disk
        self._last_ticket = 0
        self._under_way = 0
        self._finished: deque[Completion] = deque()
        self._wake = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._wakes_owed = 0  # wake-ups that threads have yet to write, or the loop to read
        self._helper = _SyncHelper()
        self._is_helper_watched = False
        self._ready = select.epoll()
        self._ready.register(self._wake, select.EPOLLIN)
        self._reads: Jobs = SimpleQueue()
        self._chores: Jobs = SimpleQueue()
        queues = [self._reads] * READ_THREADS + [self._chores]
        self._threads = [
            # Daemons: a thread that is stuck in the device does not keep the process alive.
            threading.Thread(target=self._work, args=(queue,), name="disk", daemon=True)
            for queue in queues
        ]
        for thread in self._threads:
            thread.start()

    def fileno(self) -> int:
        """The descriptor that is readable while there are completions to take."""
        return self._ready.fileno()

    @property
    def helper_process(self) -> int:
        """The id of the process that syncs."""
        return self._helper.process

    def sync(self, file: File) -> int:
        ticket = self._next_ticket()
        failure = self._helper.ask(ticket, _own(file))
        if failure is not None:
            self._finish(Completion(ticket, error=failure))
        elif not self._is_helper_watched:
            self._ready.register(self._helper.fileno(), select.EPOLLIN)
            self._is_helper_watched = True
        return ticket

    def read(self, file: File, position: int, size: int) -> int:
        handle = _own(file).duplicate()
        return self._ask(self._reads, "read", file.path, lambda: _read(handle, position, size))

    def allocate(self, file: File, position: int, size: int) -> int:
        handle = _own(file).duplicate()
        return self._ask(
            self._chores, "allocate", file.path, lambda: _allocate(handle, position, size)
        )

    def remove(self, path: str) -> int:
        return self._ask(self._chores, "remove", path, lambda: _remove(self._disk, path))

    def wait(self, seconds: float) -> None:
        self._ready.poll(seconds)

    def take_completions(self) -> Sequence[Completion]:
        if not self._wakes_owed and not self._is_helper_watched:
            return ()
        ended: list[Completion] = []
        ready = self._ready.poll(0)
        for descriptor, _ in ready:
            if descriptor == self._wake:
                self._wakes_owed -= os.eventfd_read(self._wake)
            else:
                ended.extend(self._helper.take())
                if self._helper.is_dead:
                    self._unwatch_helper()
        if not ready and self._is_helper_watched and not self._helper.is_busy:
            self._unwatch_helper()  # only after an idle turn: usually the next sync follows soon
        while self._finished:
            ended.append(self._finished.popleft())
            self._under_way -= 1
        return ended

    def _unwatch_helper(self) -> None:
        self._ready.unregister(self._helper.fileno())
        self._is_helper_watched = False

    def close(self, stop_seconds: float = STOP_SECONDS) -> None:
        """Stop. Work in progress has `stop_seconds` to end; then it is abandoned."""
        for queue in [self._reads] * READ_THREADS + [self._chores]:
            queue.put(None)
        deadline = time.monotonic() + stop_seconds
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
        self._ready.close()
        self._helper.close(stop_seconds)
        if not any(thread.is_alive() for thread in self._threads):
            os.close(self._wake)

    def _next_ticket(self) -> int:
        self._last_ticket += 1
        return self._last_ticket

    def _ask(self, queue: Jobs, operation: str, path: str, work: Callable[[], bytes]) -> int:
        if self._under_way >= JOBS_MAX:
            raise LocalError(f"more than {JOBS_MAX} jobs of the disk under way")
        self._under_way += 1
        self._wakes_owed += 1
        ticket = self._next_ticket()
        queue.put((ticket, operation, path, work))
        return ticket

    def _finish(self, completion: Completion) -> None:
        self._under_way += 1
        self._wakes_owed += 1
        self._finished.append(completion)
        os.eventfd_write(self._wake, 1)

    def _work(self, queue: Jobs) -> None:
        while (job := queue.get()) is not None:
            self._finished.append(_completion(*job))
            os.eventfd_write(self._wake, 1)


@final
class _SyncHelper:
    """The process of `sync_helper`, and its tickets in progress."""

    __slots__ = ("_channel", "_paths", "_process", "is_dead")

    def __init__(self) -> None:
        self._paths: dict[int, str] = {}
        self.is_dead = False
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.setblocking(False)
        with theirs, _signals_held_back():
            command = [sys.executable, "-I", "-S", str(Path(sync_helper.__file__).resolve())]
            self._process = subprocess.Popen(  # noqa: S603 - our own file
                [*command, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )

    @property
    def process(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        return self._channel.fileno()

    @property
    def is_busy(self) -> bool:
        """Whether a sync is in progress."""
        return bool(self._paths)

    def ask(self, ticket: int, file: FolderFile) -> DiskError | None:
        """Start a sync; returns an error if the process is dead."""
        if len(self._paths) >= SYNCS_MAX:
            raise LocalError(f"more than {SYNCS_MAX} syncs under way")
        request = sync_helper.MESSAGE.pack(ticket, 0)
        if self.is_dead:
            return self._dead(file.path)
        try:
            socket.send_fds(self._channel, [request], [file.fileno()])
        except (BrokenPipeError, ConnectionResetError):
            return self._dead(file.path)  # tickets in progress complete at the next `take`
        except OSError as error:
            return disk_error(error, "sync", file.path)
        self._paths[ticket] = file.path
        return None

    def take(self) -> Sequence[Completion]:
        """The completed syncs. If the process is dead, all of its tickets complete."""
        ended: list[Completion] = []
        size = sync_helper.MESSAGE.size
        # BlockingIOError: no more answers now. An empty answer: none will come any more.
        with contextlib.suppress(BlockingIOError):
            try:
                while answer := self._channel.recv(size):
                    ended.append(self._completion(*sync_helper.MESSAGE.unpack(answer)))
            except ConnectionResetError:
                pass  # it died before it read all requests
            self.is_dead = True
            ended.extend(Completion(t, error=self._dead(path)) for t, path in self._paths.items())
            self._paths.clear()
        return ended

    def close(self, stop_seconds: float) -> None:
        self._channel.close()
        try:
            self._process.wait(stop_seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            # A process stuck in the device cannot die yet; init reaps it later.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(stop_seconds)

    def _completion(self, ticket: int, number: int) -> Completion:
        path = self._paths.pop(ticket)
        if not number:
            return Completion(ticket)
        return Completion(
            ticket, error=disk_error(OSError(number, os.strerror(number)), "sync", path)
        )

    def _dead(self, path: str) -> DiskError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(
                0.1
            )  # its end of the socket is closed a moment before it is a zombie
        cause = f"the process that syncs ended (status {self._process.poll()})"
        return DiskError(DiskFailure.BROKEN, "sync", path, cause)


@contextlib.contextmanager
def _signals_held_back() -> Iterator[None]:
    """Block the signals of the process group while a child starts: it inherits the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, GROUP_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _completion(ticket: int, operation: str, path: str, work: Callable[[], bytes]) -> Completion:
    try:
        return Completion(ticket, data=work())
    except DiskError as error:
        return Completion(ticket, error=error)
    except (MemoryError, LocalError) as error:
        failure = DiskError(DiskFailure.BROKEN, operation, path, str(error) or repr(error))
        return Completion(ticket, error=failure)


def _own(file: File) -> FolderFile:
    if not isinstance(file, FolderFile):
        raise LocalError(f"{file.path} is not a file of this disk")
    return file


def _read(handle: FolderFile, position: int, size: int) -> bytes:
    try:
        return handle.read(position, size)
    finally:
        handle.close()


def _allocate(handle: FolderFile, position: int, size: int) -> bytes:
    try:
        handle.allocate(position, size)
    finally:
        handle.close()
    return b""


def _remove(disk: FolderDisk, path: str) -> bytes:
    disk.remove_gradually(path)
    return b""
