"""A warm process that forks writers: a life begins in milliseconds, with everything imported.

    request     a job, and beside it the pipe to report to     answer: the writer's process id
                a process id                                   answer: its status, once it has ended

It has one thread, for what is forked has no other. Writers are its children, so that a process id
stays theirs until the test has asked what became of them. It ends with the test.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Final, final

from gantrymq.crash.writer import Job, run

REQUEST_BYTES_MAX: Final = 1 << 16
ANSWER_SECONDS: Final = 30.0
TESTS_ROOT: Final = Path(__file__).resolve().parent.parent.parent
DEFECT: Final = 1


@final
class Nursery:
    """The test's side."""

    def __init__(self) -> None:
        self._channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._channel.settimeout(ANSWER_SECONDS)
        paths = [str(TESTS_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "gantrymq.crash.nursery", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            )

    def __enter__(self) -> Nursery:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._channel.close()
        self._process.wait(ANSWER_SECONDS)

    def start(self, job: Job) -> tuple[int, int]:
        """The writer's process id, and the pipe its report comes from."""
        reports, pipe = os.pipe()
        socket.send_fds(self._channel, [job.encode()], [pipe])
        os.close(pipe)
        return self._answer(), reports

    def wait(self, process: int) -> int:
        """The exit status, or the negated signal, of a writer that was told to end."""
        self._channel.send(str(process).encode())
        return os.waitstatus_to_exitcode(self._answer())

    def _answer(self) -> int:
        return int(self._channel.recv(REQUEST_BYTES_MAX))


def serve(channel: socket.socket) -> None:
    """Until the test is gone."""
    while True:
        request, pipes, _, _ = socket.recv_fds(channel, REQUEST_BYTES_MAX, 1)
        if not request:
            return
        if pipes:
            process = os.fork()
            if not process:
                channel.close()
                _live(request, pipes[0])
            os.close(pipes[0])
            channel.send(str(process).encode())
        else:
            channel.send(str(os.waitpid(int(request), 0)[1]).encode())


def _live(request: bytes, pipe: int) -> None:
    """In the child; it never comes back."""
    status = DEFECT
    try:
        status = run(Job.decode(request), pipe)
    except BaseException:  # told, and told by the status too
        text = " | ".join(traceback.format_exc().splitlines())
        os.write(pipe, f"\nlast {text}\n".encode())
    finally:
        os._exit(status)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the test ends us when it ends
    serve(socket.socket(fileno=int(sys.argv[1])))
