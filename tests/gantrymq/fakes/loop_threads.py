"""A loop's thread that does nothing else for a while: what a test asks of it comes all at once."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from gantrymq.client.blocking.loop_thread import LoopThread


@contextmanager
def held(thread: LoopThread) -> Iterator[None]:
    """It looks at nothing meanwhile."""
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
