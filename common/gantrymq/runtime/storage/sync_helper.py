"""Runs fdatasync in a process of its own, so that a busy event loop does not delay it.

    request  ticket (8 bytes, little endian) 0 (4 bytes), and the file's descriptor beside it
    answer   ticket (8 bytes) the system's error number, 0 for none (4 bytes)

over a SOCK_SEQPACKET pair whose descriptor is the only argument. A thread of the broker would need
the interpreter lock twice a sync, and a busy loop releases it late.

The module is run by its path, isolated, and imports the standard library alone: it starts in some
20 ms and takes 11 MiB, half of them shared. It ends when the other side of the pair is closed,
which the system does for a broker that was killed. Signals that end the broker's process group are
blocked in it, because it has to sync until the broker is done. Any unexpected error ends it too,
and the broker treats that as failed syncs.
"""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import sys
import threading
from typing import Final

MESSAGE: Final = struct.Struct("<qi")
THREADS: Final = 4  # so that a sync of the log overtakes those of queue files


def serve(channel: socket.socket) -> None:
    """Serve sync requests until the other side closes, then end the process."""
    status = 70
    try:
        while True:
            message, descriptors, _, _ = socket.recv_fds(channel, MESSAGE.size, 1)
            if not message:
                status = 0
                return
            ticket, _ = MESSAGE.unpack(message)
            channel.send(MESSAGE.pack(ticket, sync(descriptors[0])))
    finally:
        os._exit(status)


def sync(descriptor: int) -> int:
    """Run fdatasync and close the descriptor; returns the error number, 0 for success."""
    try:
        os.fdatasync(descriptor)
    except OSError as error:
        return error.errno or -1
    finally:
        with contextlib.suppress(OSError):  # close() releases the descriptor even if it fails
            os.close(descriptor)
    return 0


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    for _ in range(THREADS - 1):
        threading.Thread(target=serve, args=(channel,), daemon=True).start()
    serve(channel)


if __name__ == "__main__":
    main()
