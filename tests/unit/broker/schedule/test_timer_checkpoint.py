"""How far timers are, in Java's bytes."""

from __future__ import annotations

import struct

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.schedule.timer_checkpoint import TimerCheckpoint
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.codes import RequestCode


def test_it_is_seven_numbers() -> None:
    checkpoint = TimerCheckpoint(9_000, 5)
    assert checkpoint.encode() == struct.pack(">7q", 9_000, 0, 5, 5, 0, 0, 0)
    assert TimerCheckpoint.decode(checkpoint.encode()) == checkpoint


def test_the_first_four_are_enough() -> None:
    assert TimerCheckpoint.decode(struct.pack(">4q", 1, 2, 3, 4)) == TimerCheckpoint(1, 3)


@pytest.mark.parametrize("body", [b"", b"\0" * 31, struct.pack(">4q", -1, 0, 0, 0)])
def test_others_are_none(body: bytes) -> None:
    with pytest.raises(RemoteError):
        TimerCheckpoint.decode(body)


def test_a_master_that_delivered_nothing_says_zero() -> None:
    answer = OpenedBroker().ask(RequestCode.GET_TIMER_CHECK_POINT)
    assert TimerCheckpoint.decode(answer.body) == TimerCheckpoint(0, 0)
