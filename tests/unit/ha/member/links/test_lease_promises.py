"""Tests since when a master holds promises of its followers."""

from __future__ import annotations

from gantrymq.ha.member.links.lease_promises import LeasePromises


def test_promises_hold_since_the_last_question_that_all_members_answered() -> None:
    promises = LeasePromises()
    promises.ask(1, 10.0)
    promises.ask(2, 10.5)
    promises.answer(2, 2)
    assert promises.since({2, 3}) is None
    promises.answer(3, 1)
    assert promises.since({2, 3}) == 10.0
    promises.answer(3, 2)
    assert promises.since({2, 3}) == 10.5


def test_older_answer_does_not_replace_a_newer_one() -> None:
    promises = LeasePromises()
    promises.ask(1, 10.0)
    promises.ask(2, 10.5)
    promises.answer(2, 2)
    promises.answer(2, 1)
    assert promises.since({2}) == 10.5


def test_master_without_followers_needs_no_answer() -> None:
    promises = LeasePromises()
    assert promises.since(frozenset()) is None, "it has not asked yet"
    promises.ask(1, 10.0)
    assert promises.since(frozenset()) == 10.0
