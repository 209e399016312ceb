"""Tests that conditions keep their time while their status stays."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.operator.resources.encoding import to_json
from gantrymq.operator.resources.reasons.condition_list import (
    MESSAGE_CHARACTERS_MAX,
    Condition,
    find_condition,
    read_conditions,
    set_condition,
    shortened,
)
from gantrymq.operator.resources.reasons.conditions import ConditionType, Kind, Reason

EARLY = "2026-01-31T12:00:00Z"
LATE = "2026-01-31T12:05:00Z"


def set_ready(
    conditions: tuple[Condition, ...], reason: Reason, *, now: str, message: str = "words"
) -> tuple[Condition, ...]:
    return set_condition(
        conditions,
        Kind.BROKER_CLUSTER,
        ConditionType.READY,
        reason,
        message,
        now=now,
        generation=3,
    )


def test_a_new_condition_has_the_status_declared_for_its_reason() -> None:
    (ready,) = set_ready((), Reason.ALL_READY, now=EARLY)
    assert ready == Condition("Ready", "True", "AllReady", "words", EARLY, 3)


def test_the_time_stays_while_the_status_stays() -> None:
    before = set_ready((), Reason.NO_MASTER, now=EARLY)
    (ready,) = set_ready(before, Reason.POD_FAILING, now=LATE, message="other words")
    assert (ready.status, ready.reason, ready.message) == ("False", "PodFailing", "other words")
    assert ready.last_transition_time == EARLY


def test_the_time_moves_when_the_status_changes() -> None:
    before = set_ready((), Reason.NO_MASTER, now=EARLY)
    (ready,) = set_ready(before, Reason.ALL_READY, now=LATE)
    assert ready.last_transition_time == LATE


def test_other_conditions_and_their_order_stay() -> None:
    kept = Condition("Paused", "False", "NotPaused", "", EARLY, 1)
    before = set_ready((kept,), Reason.NO_MASTER, now=EARLY)
    after = set_ready((*before, Condition("Foreign", "True", "Any", "", EARLY, 1)),
                      Reason.ALL_READY, now=LATE)  # fmt: skip
    assert [each.type for each in after] == ["Paused", "Ready", "Foreign"]
    assert after[0] == kept


def test_a_reason_that_is_not_declared_for_the_condition_is_a_local_error() -> None:
    with pytest.raises(LocalError, match="not in the table"):
        set_ready((), Reason.WELL_SPREAD, now=EARLY)


def test_a_time_in_a_message_is_a_local_error() -> None:
    with pytest.raises(LocalError, match="must not have a time"):
        set_ready((), Reason.NO_MASTER, now=EARLY, message=f"since {EARLY}")


def test_a_long_message_is_cut() -> None:
    (ready,) = set_ready((), Reason.NO_MASTER, now=EARLY, message="x" * 5000)
    assert len(ready.message) == MESSAGE_CHARACTERS_MAX
    assert ready.message.endswith("x ...")
    assert shortened("x" * MESSAGE_CHARACTERS_MAX) == "x" * MESSAGE_CHARACTERS_MAX


def test_conditions_are_read_as_they_were_written() -> None:
    written = set_ready((), Reason.NO_MASTER, now=EARLY)
    resource = {"status": {"conditions": to_json(written)}}
    assert read_conditions(resource) == written
    assert find_condition(written, "Ready") == written[0]
    assert find_condition(written, "Available") is None


@pytest.mark.parametrize(
    "status", [None, {}, {"conditions": None}, {"conditions": ["odd", {}, {"status": "True"}]}]
)
def test_a_malformed_condition_is_dropped(status: object) -> None:
    assert read_conditions({"status": status}) == ()
