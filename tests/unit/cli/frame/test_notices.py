"""Tests that warnings of the client library are shown once, not repeatedly."""

from __future__ import annotations

import io
import logging

from gantrymq.cli.frame.notices import Notices


def test_the_same_warning_is_shown_once_in_30_seconds() -> None:
    stream = io.StringIO()
    moments = iter([0.0, 1.0, 2.0, 40.0])
    notices = Notices(stream, lambda: next(moments))
    notices.begin()
    try:
        log = logging.getLogger("gantrymq.client")
        for text in ("gone", "gone", "other", "gone"):
            log.warning(text)
        log.info("not shown")
    finally:
        notices.end()
    assert stream.getvalue().split() == [
        *("gantry:", "gone", "gantry:", "other", "gantry:", "gone"),
    ]


def test_a_broker_that_is_down_is_reported_once_for_all_its_queues() -> None:
    stream = io.StringIO()
    notices = Notices(stream, lambda: 0.0)
    notices.begin()
    try:
        for queue, seconds in ((0, "0.1"), (1, "0.1"), (0, "12.8")):
            logging.getLogger("gantrymq.client").warning(
                "pull of queue_id=%d failed: b:1 will be tried again in %s s", queue, seconds
            )
    finally:
        notices.end()
    assert len(stream.getvalue().splitlines()) == 1


def test_an_error_is_shown_without_a_stack() -> None:
    stream = io.StringIO()
    notices = Notices(stream)
    notices.begin()
    try:
        logging.getLogger("gantrymq.client").error("it ended", exc_info=ValueError("why"))
    finally:
        notices.end()
    assert stream.getvalue() == "gantry: it ended: why\n"
