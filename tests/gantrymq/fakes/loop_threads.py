"""Blocks a client's event loop thread for a while, so that calls of a test arrive together."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gantrymq.client.blocking.loop_thread import LoopThread


@contextmanager
def held(thread: LoopThread) -> Iterator[None]:
    """Block the thread in this block."""
    begun, may_go_on = threading.Event(), threading.Event()

    def hold() -> None:
        begun.set()
        may_go_on.wait(10.0)

    thread.post(hold)
    assert begun.wait(10.0), "the loop's thread does not come to it"
    try:
        yield
    finally:
        may_go_on.set()
