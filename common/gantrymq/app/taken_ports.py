"""Finds the processes that listen on a port, as far as this user may see them.

The kernel lists listening sockets by inode in /proc/net, and the folders of the processes link to
their sockets. A user sees the links of its own processes, and root sees all of them.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

_PROC: Final = Path("/proc")
_LISTENING: Final = "0A"


def why_taken(host: str, port: int) -> str | None:
    """Why a server cannot listen there now; None if it can."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen(
                1
            )  # a port that is bound but does not listen can be bound, but not listened on
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return error.strerror or str(error)
        holder = holder_of(port)
        return f"taken by {holder}" if holder else "taken by another process"
    return None


def holder_of(port: int) -> str:
    """The processes that listen on this port: `name (process 123)`, separated by commas; empty if
    this user cannot see them."""
    inodes = {f"socket:[{inode}]" for inode in _listening(port)}
    return ", ".join(processes_with(inodes)) if inodes else ""


def processes_with(targets: set[str]) -> Iterator[str]:
    """The processes that have one of these files open: a path, or `socket:[inode]`."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit() and not targets.isdisjoint(_open_in(folder)):
            with contextlib.suppress(OSError):
                name = (folder / "comm").read_text().strip()
                yield f"{name} (process {folder.name})"


def _open_in(process: Path) -> Iterator[str]:
    """The open files of a process; none if this user may not see them, or if it has just ended."""
    with contextlib.suppress(OSError):
        for link in (process / "fd").iterdir():
            with contextlib.suppress(OSError):
                yield str(link.readlink())


def _listening(port: int) -> Iterator[str]:
    """The inodes of the sockets that listen on the port."""
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (_PROC / "net" / table).read_text().splitlines()[1:]:
                _, local, _, state, *rest = line.split()
                if state == _LISTENING and int(local.rpartition(":")[2], 16) == port:
                    yield rest[5]
