"""Makes memory available before a round begins.

The host of a virtual machine takes back memory that its guest has freed, and provides it again page
by page, which takes 10 us or more each on a slow host. A log that grows pays this for every page,
in each implementation. So before a round, as many free pages as it needs are touched.
"""

from __future__ import annotations

import multiprocessing
from typing import Final

NEEDED_BYTES: Final = 768 << 20
PAGE_BYTES: Final = 4096


def touch(size: int = NEEDED_BYTES) -> None:
    """Allocate and touch so much memory in a child process, which frees it when it ends."""
    process = multiprocessing.get_context("fork").Process(target=_fill, args=(size,))
    process.start()
    process.join()
    if process.exitcode:
        raise MemoryError(f"a round needs {size >> 20} MiB of free memory")


def _fill(size: int) -> None:
    memory = bytearray(size)
    for at in range(0, size, PAGE_BYTES):
        memory[at] = 1
