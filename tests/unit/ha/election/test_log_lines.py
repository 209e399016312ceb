"""Tests the log lines of a leader elector."""

from __future__ import annotations

from gantrymq.ha.election.actions import WriteLogLine
from gantrymq.ha.election.log_lines import LogLines, member_list, other_master
from gantrymq.ha.lease.lease import Lease


def test_line_that_repeats_the_previous_one_is_not_written() -> None:
    log = LogLines()
    log.say("waiting")
    log.say("waiting")
    log.say("lost", is_warning=True)
    assert log.take() == [WriteLogLine("waiting"), WriteLogLine("lost", is_warning=True)]
    log.say("lost", is_warning=True)
    assert log.take() == [], "it was written already"
    log.say("waiting")
    assert log.take() == [WriteLogLine("waiting")]


def test_member_numbers_are_sorted() -> None:
    assert member_list(frozenset({3, 1, 2})) == "[1,2,3]"
    assert member_list(frozenset()) == "[]"


def test_text_names_the_process_that_is_master_instead() -> None:
    assert other_master(None, 1) == "the lease was deleted"
    assert other_master(Lease("1", 1, epoch=4), 1) == (
        "another process of member 1 is master in epoch 4"
    )
    assert other_master(Lease("1", 2, epoch=4), 1) == "member 2 is master in epoch 4"
    assert other_master(Lease("1", epoch=4), 1) == "no member is master in epoch 4"
