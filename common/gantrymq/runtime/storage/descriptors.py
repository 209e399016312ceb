"""Manages the file descriptors of this process: the limit, the share of connections, a reserve.

Shells and systemd set a soft limit of 1024 although the system allows more, so a server raises its
soft limit to the hard limit. FILES_RESERVED of the limit is kept for files, and connections get the
rest, so a flood of connections cannot keep the store from opening its files. Connections accepted
in one loop iteration can exceed that for a moment, and other parts of the process open files too.
Hence the reserve: a few descriptors that are released when the log needs a new file, or a table is
saved, and no other descriptor is left.
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
from collections.abc import Callable
from typing import Final, final

from gantrymq.base.errors import ConfigurationError

# The store opens at most 256 queue files, 256 log segments and 16 index files at a time; slaves,
# other brokers, name servers and metrics have connections of their own.
FILES_RESERVED: Final = 1024

# Enough for one new file of the log, its folder, and one table, at the same time.
RESERVED: Final = 8

TOO_MANY: Final = frozenset({errno.EMFILE, errno.ENFILE})


def raise_limit() -> None:
    """Raise the soft limit of open files to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def limit() -> int:
    """How many files the process may have open."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 1 << 30 if soft == resource.RLIM_INFINITY else soft


def connections_allowed(wanted: int, files: int | None = None) -> int:
    """How many of the `wanted` connections a process with a limit of `files` can accept.

    Raises ConfigurationError if it can accept none.
    """
    files = limit() if files is None else files
    allowed = min(wanted, files - min(FILES_RESERVED, files // 2))
    if allowed < 1:
        raise ConfigurationError(f"this process may have {files} files open: {_raise(wanted)}")
    return allowed


def few_files(wanted: int, files: int | None = None) -> list[str]:
    """The warning if the limit of open files is too low for `wanted` connections; else empty."""
    files = limit() if files is None else files
    allowed = connections_allowed(wanted, files)
    if allowed == wanted:
        return []
    warning = (
        f"this process may have {files} files open, so it takes {allowed} connections and not"
        f" maxConnections={wanted}: {_raise(wanted)}"
    )
    return [warning]


def _raise(wanted: int) -> str:
    need = wanted + FILES_RESERVED
    return (
        f"allow {need} (ulimit -n {need}, LimitNOFILE={need} of a systemd unit, or the container"
        " runtime's default)"
    )


@final
class DescriptorReserve:
    """A few open descriptors that are released when a file must be opened and none is left.

    `fill` opens them, first after the process has raised its limit. Threads may share a reserve.
    """

    __slots__ = ("_held", "_size")

    def __init__(self, size: int = RESERVED) -> None:
        self._size = size
        self._held: list[int] = []

    def __len__(self) -> int:
        return len(self._held)

    def fill(self) -> None:
        """Open descriptors up to the size of the reserve, as far as the limit allows."""
        with contextlib.suppress(OSError):
            while len(self._held) < self._size:
                self._held.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))

    def give_up(self) -> None:
        with contextlib.suppress(IndexError):  # another thread has released the last one
            while self._held:
                os.close(self._held.pop())

    def open(self, opens: Callable[[], int]) -> int:
        """The descriptor that `opens` returns.

        If the process has no descriptor left, releases the reserve and calls `opens` again.
        """
        try:
            return opens()
        except OSError as error:
            if error.errno not in TOO_MANY:
                raise
        self.give_up()
        try:
            return opens()
        finally:
            self.fill()


RESERVE: Final = DescriptorReserve()
"""The reserve of this process; `process.run` fills it."""
