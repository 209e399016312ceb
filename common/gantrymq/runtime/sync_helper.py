"""The process that waits for fdatasync, so that a busy event loop does not hold it up.

    request  ticket (8 bytes, little endian) 0 (4 bytes), and the file's descriptor beside it
    answer   ticket (8 bytes) the system's error number, 0 for none (4 bytes)

over a SOCK_SEQPACKET pair whose descriptor is the only argument. A thread of the broker would need
the interpreter lock twice a sync, and the loop gives it away late when it is busy.

It is run by its path, isolated, and imports the standard library alone: it starts in some 20 ms
and takes 11 MiB, half of them shared. It ends when the other side of the pair is closed, which the
system does for a broker that was killed; signals that end the broker's group are held back from it,
for it has to sync until the broker is done. Anything unexpected ends it too, and the broker takes
that for failed syncs.
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
THREADS: Final = 4  # so that a sync of the log passes those of queue files


def serve(channel: socket.socket) -> None:
    """Sync what arrives until the other side is gone, then end the process."""
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
    """The error number of fdatasync, 0 when all is on disk; the descriptor is closed."""
    try:
        os.fdatasync(descriptor)
    except OSError as error:
        return error.errno or -1
    finally:
        with contextlib.suppress(OSError):  # it is gone whatever the answer is
            os.close(descriptor)
    return 0


def main() -> None:
    channel = socket.socket(fileno=int(sys.argv[1]))
    for _ in range(THREADS - 1):
        threading.Thread(target=serve, args=(channel,), daemon=True).start()
    serve(channel)


if __name__ == "__main__":
    main()
