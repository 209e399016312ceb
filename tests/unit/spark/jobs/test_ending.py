"""Signals end jobs: a stream at a good moment, anything else at once."""

from __future__ import annotations

import os
import signal

import pytest

from gantrymq.spark.jobs.ending import Ending
from gantrymq.spark.jobs.failures import INTERRUPTED, TERMINATED, JobEndedError


def test_a_bounded_job_is_broken_off() -> None:
    with pytest.raises(JobEndedError) as ended, Ending(is_stream=False):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.exit_code == TERMINATED


def test_a_stream_is_asked_first_and_broken_off_by_the_second_signal() -> None:
    with Ending(is_stream=True) as ending:
        os.kill(os.getpid(), signal.SIGINT)
        assert ending.exit_code == INTERRUPTED
        with pytest.raises(JobEndedError):
            os.kill(os.getpid(), signal.SIGTERM)
    assert ending.exit_code == TERMINATED


def test_handlers_are_put_back() -> None:
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
