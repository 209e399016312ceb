"""Drives a member's view of the Lease through each row of its table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.ha.election.lease_client_state import LeaseClientState
from gantrymq.ha.election.lease_view import DISTRUST, FAIL, LEASE_VIEWS, TRUST, LeaseView
from gantrymq.ha.lease.lease import Found, Lease, LeaseAnswer, Unanswered

LEASE = Lease("7", holder=1, address="m1:1", ha_address="m1:2", epoch=4, group="ab" * 16)
ANSWERS: dict[str, LeaseAnswer] = {
    TRUST: Found(LEASE),
    DISTRUST: Found(replace(LEASE, version="8", untrusted_reason="its seal is broken")),
    FAIL: Unanswered("timed out"),
}
EVENTS_BEFORE: dict[LeaseView, tuple[str, ...]] = {
    LeaseView.UNREAD: (),
    LeaseView.CURRENT: (TRUST,),
    LeaseView.UNTRUSTED: (TRUST, DISTRUST),
    LeaseView.STALE: (TRUST, FAIL),
}


@pytest.mark.parametrize("row", LEASE_VIEWS.rows, ids=lambda row: f"{row.source.name}, {row.event}")
def test_answer_leads_to_the_view_of_the_table(row: tuple[LeaseView, str, LeaseView, str]) -> None:
    source, event, target, _ = row
    lease_state = LeaseClientState(0.0)
    for now, each in enumerate(EVENTS_BEFORE[source]):
        answer(lease_state, each, float(now))
    assert lease_state.view is source
    answer(lease_state, event, 9.0)
    assert lease_state.view is target


def answer(lease_state: LeaseClientState, event: str, now: float) -> None:
    lease_state.read(now)
    (asked,) = lease_state.take_actions()
    lease_state.answered(asked.number, ANSWERS[event], now)


def test_table_has_each_event_in_each_view() -> None:
    rows = {(row.source, row.event) for row in LEASE_VIEWS.rows}
    assert rows == {(view, event) for view in LeaseView for event in ANSWERS}
