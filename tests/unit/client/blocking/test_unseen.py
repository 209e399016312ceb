"""Failures that nobody looks at."""

from __future__ import annotations

import pytest

from gantrymq.client.blocking.unseen import PAUSE_S, SoonFuture, Unseen
from gantrymq.runtime.clock import VirtualClock


def test_a_second_has_one_line_that_counts_all(caplog: pytest.LogCaptureFixture) -> None:
    clock = VirtualClock()
    unseen = Unseen(clock)
    unseen.add(1, ValueError("first"))
    for _ in range(1_000):
        unseen.add(2, ValueError("more"))
    clock.advance(PAUSE_S)
    unseen.add(3, ValueError("later"))
    unseen.add(4, ValueError("last"))
    unseen.tell()
    unseen.tell()
    told = [record.getMessage() for record in caplog.records]
    assert [(int(text.split()[0]), text.rsplit(": ", 1)[1]) for text in told] == [
        (1, "first"),
        (2003, "later"),
        (4, "last"),
    ]


def test_who_asks_a_future_watches_it() -> None:
    for ask in (SoonFuture.result, SoonFuture.exception):
        future = SoonFuture[int]()
        assert not future.is_watched
        future.set_result(1)
        ask(future, 0)
        assert future.is_watched
    called = SoonFuture[int]()
    called.add_done_callback(lambda _: None)
    assert called.is_watched
