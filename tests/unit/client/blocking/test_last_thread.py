"""Tests the threads that work until the end of the program."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gantrymq.client.blocking.last_thread import LastingPool


def test_the_last_thread_runs_jobs_that_the_pool_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    pool = LastingPool()
    monkeypatch.setattr(ThreadPoolExecutor, "submit", refuse)
    assert pool.submit(threading.current_thread).result(10.0).name == "gantrymq-last"
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 1, 0).result(10.0)
    pool.shutdown()
    with pytest.raises(RuntimeError):
        pool.submit(threading.current_thread)
