"""Threads until the program's end."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from gantrymq.client.blocking.last_thread import LastingPool


def test_one_thread_takes_what_the_pool_no_longer_does(monkeypatch: pytest.MonkeyPatch) -> None:
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
