"""The loop of blocking clients, and servers that live on it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gantrymq.client.blocking import loop_thread
from gantrymq.client.blocking.loop_thread import LoopThread
from gantrymq.fakes.servers import Servers, servers


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    joined = loop_thread.join()
    yield joined
    joined.leave()


@pytest.fixture
def running(tmp_path: Path, thread: LoopThread) -> Iterator[Servers]:
    """Servers on the loop of the clients."""
    context = servers(tmp_path)
    yield thread.run(context.__aenter__())
    thread.run(context.__aexit__(None, None, None))
