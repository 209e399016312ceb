"""Tests what a switchover writes to the Lease, and when it is done."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.ctl.switchover import (
    SwitchoverError,
    is_done,
    is_given_up,
    member_number,
    read_lease,
    request,
)


def lease(**annotations: str) -> dict[str, Any]:
    holder = annotations.pop("holder", "1")
    return {
        "metadata": {
            "resourceVersion": "77",
            "annotations": {
                f"gantrymq.dev/{key.replace('_', '-')}": value for key, value in annotations.items()
            },
        },
        "spec": {"holderIdentity": holder},
    }


def test_the_lowest_other_member_in_sync_is_chosen() -> None:
    wanted = request(read_lease(lease(in_sync="1,2,3", epoch="4")), "broker-0", None)
    assert wanted.target == 2
    assert wanted.body == {
        "metadata": {
            "resourceVersion": "77",
            "annotations": {"gantrymq.dev/switch-to": "2", "gantrymq.dev/switch-number": "1"},
        }
    }


def test_a_number_that_members_ignore_is_not_counted_on_from() -> None:
    found = read_lease(lease(in_sync="1,2", switch_number="9000000000", granted="6"))
    assert request(found, "broker-0", 2).number == 7


def test_the_number_of_a_request_is_above_all_earlier_ones() -> None:
    found = read_lease(lease(in_sync="1,2", switch_number="4", granted="6"))
    assert request(found, "broker-0", 2).number == 7


@pytest.mark.parametrize(
    ("annotations", "target", "words"),
    [
        ({"in_sync": "1,2"}, 1, "is the master already"),
        ({"in_sync": "1,2"}, 3, "is not in sync (in sync: 1, 2)"),
        ({"in_sync": "1"}, None, "no other member of broker-0 is in sync"),
        ({"in_sync": "1,2", "holder": ""}, 2, "has no master now"),
    ],
)
def test_impossible_switchovers_are_refused_with_the_reason(
    annotations: dict[str, str], target: int | None, words: str
) -> None:
    with pytest.raises(SwitchoverError, match="broker-0") as raised:
        request(read_lease(lease(**annotations)), "broker-0", target)
    assert words in str(raised.value)


def test_it_is_done_when_the_wanted_member_leads() -> None:
    wanted = request(read_lease(lease(in_sync="1,2")), "broker-0", 2)
    assert not is_done(read_lease(lease(in_sync="1,2")), wanted)
    assert is_done(read_lease(lease(in_sync="1,2", holder="2")), wanted)


def test_it_is_given_up_when_it_was_granted_and_another_member_leads() -> None:
    wanted = request(read_lease(lease(in_sync="1,2")), "broker-0", 2)
    assert not is_given_up(read_lease(lease(in_sync="1,2", holder="")), wanted)
    assert not is_given_up(read_lease(lease(in_sync="1,2", granted="1", holder="")), wanted)
    assert is_given_up(read_lease(lease(in_sync="1,2", granted="1", holder="3")), wanted)
    assert is_given_up(read_lease(lease(in_sync="1,2", switch_number="2")), wanted)


def test_invalid_annotations_count_as_absent() -> None:
    found = read_lease(lease(in_sync="1,x,2", epoch="minus one", holder="another program"))
    assert (found.holder, found.epoch, found.in_sync) == (0, 0, frozenset({1, 2}))


def test_a_member_is_named_by_number_or_pod() -> None:
    assert member_number("2", "broker-0") == 2
    assert member_number("orders-broker-0-1", "broker-0") == 2
    with pytest.raises(SwitchoverError, match="names no member of broker-0"):
        member_number("orders", "broker-0")
