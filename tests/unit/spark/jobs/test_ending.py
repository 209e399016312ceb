"""Signals end jobs: a stream at a good moment, anything else at once."""

from __future__ import annotations

import os
import signal

import pytest

from gantrymq.spark.jobs.ending import Ending
from gantrymq.spark.jobs.failures import INTERRUPTED, TERMINATED, JobEndedError


def test_a_bounded_job_is_interrupted_at_once() -> None:
    with pytest.raises(JobEndedError) as ended, Ending(is_stream=False):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.exit_code == TERMINATED


def test_the_first_signal_asks_a_stream_to_stop_and_the_second_interrupts_it() -> None:
    with Ending(is_stream=True) as ending:
        os.kill(os.getpid(), signal.SIGINT)
        assert ending.exit_code == INTERRUPTED
        with pytest.raises(JobEndedError):
            os.kill(os.getpid(), signal.SIGTERM)
    assert ending.exit_code == TERMINATED


def test_previous_signal_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with Ending(is_stream=True):
        assert signal.getsignal(signal.SIGTERM) != before[0]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_a_job_that_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Ending(is_stream=False):
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
