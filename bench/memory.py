"""Memory that is there before a round begins.

A virtual machine's host takes memory back that its guest has freed, and hands it out page by page
again, 10 us and more each where it is slow: a log that grows pays for that with each page it fills,
whoever writes it. So a round begins with as many free pages as it will need, touched just before.
"""

from __future__ import annotations

import multiprocessing
from typing import Final

NEEDED_BYTES: Final = 768 << 20
PAGE_BYTES: Final = 4096


def touch(size: int = NEEDED_BYTES) -> None:
    """Have so much, and free it again, by a process that ends."""
    process = multiprocessing.get_context("fork").Process(target=_fill, args=(size,))
    process.start()
    process.join()
    if process.exitcode:
        raise MemoryError(f"a round needs {size >> 20} MiB of memory that nobody uses")


def _fill(size: int) -> None:
    memory = bytearray(size)
    for at in range(0, size, PAGE_BYTES):
        memory[at] = 1
