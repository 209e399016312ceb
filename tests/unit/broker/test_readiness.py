"""When a member of a group is ready, and what is said where it is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.readiness import DISPATCH_BEHIND_BYTES_MAX, MemberView, reason
from gantrymq.ha.lease.lease import NO_MEMBER, Lease

LEASE = Lease("7", 1, "10.0.0.1:10911", "10.0.0.1:10912", 5, frozenset({1, 2, 3}))

FOLLOWER = MemberView(
    number=2,
    min_in_sync=2,
    lease=LEASE,
    epoch=0,
    seen_epoch=5,
    may_acknowledge=False,
    is_handing_over=False,
    is_lease_fresh=True,
    follows_master=True,
    behind_bytes=0,
    dispatch_behind=0,
    trouble=None,
    last_log_line="",
)
MASTER = replace(FOLLOWER, number=1, epoch=5, may_acknowledge=True, follows_master=False)


def in_sync(*members: int) -> Lease:
    return replace(LEASE, in_sync=frozenset(members))


def test_a_master_that_may_acknowledge_is_ready() -> None:
    assert reason(MASTER) is None


def test_a_group_of_one_is_ready_when_its_member_leads() -> None:
    assert reason(replace(MASTER, min_in_sync=1, lease=in_sync(1))) is None


def test_a_follower_that_is_in_sync_is_ready() -> None:
    assert reason(FOLLOWER) is None


def test_a_follower_is_ready_while_the_api_is_away_and_it_hears_the_master() -> None:
    assert reason(replace(FOLLOWER, is_lease_fresh=False)) is None


def test_a_follower_with_another_disk_than_the_set_names_is_not_ready() -> None:
    lease = replace(LEASE, disks={2: "2" * 32})
    view = replace(FOLLOWER, lease=lease, disk="2" * 32, follows_master=False)
    assert reason(view) is None
    assert "is not connected to the master" in str(reason(replace(view, disk="9" * 32)))


def test_follower_refused_by_the_master_shows_the_masters_reason() -> None:
    view = replace(FOLLOWER, lease=in_sync(1), follows_master=False, refusal="two processes")
    assert reason(view) == "the master, member 1, refuses this member: two processes"


@pytest.mark.parametrize(
    ("view", "told"),
    [
        (replace(MASTER, may_acknowledge=False), "did not renew the Lease in time"),
        (replace(MASTER, is_handing_over=True), "is handing its group over"),
        (replace(MASTER, lease=in_sync(1)), "too few members are in sync: 1 (1) of minInSync"),
        (replace(MASTER, trouble="no space left"), "accepts no messages: no space left"),
        (replace(FOLLOWER, trouble="no space left"), "accepts no messages: no space left"),
        (
            replace(FOLLOWER, dispatch_behind=DISPATCH_BEHIND_BYTES_MAX + 1),
            "queues and index are 67108865 bytes behind",
        ),
        (
            replace(FOLLOWER, lease=None),
            "the member has not read the group's Lease, or there is none",
        ),
        (
            replace(FOLLOWER, lease=None, last_log_line="lease request failed cause=403"),
            "; lease request failed cause=403",
        ),
        (replace(FOLLOWER, lease=replace(LEASE, fenced=frozenset({2}))), "the member is fenced"),
        (
            replace(FOLLOWER, foreign_reason="its disk is of another group"),
            "its disk is of another group",
        ),
        (
            replace(
                FOLLOWER, lease=replace(LEASE, untrusted_reason="it is older"), follows_master=False
            ),
            "the group's Lease is not trusted: it is older",
        ),
        (replace(FOLLOWER, seen_epoch=6), "epoch 6 has begun"),
        (replace(FOLLOWER, lease=in_sync(1), behind_bytes=77), "it lacks 77 bytes of the log"),
        (replace(FOLLOWER, lease=in_sync(1, 3)), "has not added it to the in-sync set yet"),
        (
            replace(FOLLOWER, lease=in_sync(1, 3), follows_master=False),
            "not connected to the master, member 1 at 10.0.0.1:10912",
        ),
    ],
)
def test_a_member_that_is_not_ready_says_why(view: MemberView, told: str) -> None:
    said = reason(view)
    assert said is not None
    assert told in said


@pytest.mark.parametrize(
    ("lease", "told"),
    [
        (LEASE, "member 1 did not renew the Lease of epoch 5"),
        (replace(LEASE, holder=NO_MEMBER), "the master of epoch 5 released the Lease"),
        (Lease("1"), "it has had no master yet"),
    ],
)
def test_group_without_a_master_shows_its_reason_to_wait(lease: Lease, told: str) -> None:
    words = "not seeking lease reason=all members must report first, missing members 3"
    view = replace(
        FOLLOWER, lease=lease, is_lease_fresh=False, follows_master=False, last_log_line=words
    )
    assert reason(view) == f"the group has no master: {told}; {words}"


def test_a_member_that_comes_back_to_its_own_lease_has_no_master_yet() -> None:
    said = reason(replace(FOLLOWER, number=1, follows_master=False))
    assert said is not None
    assert said.startswith("the group has no master")
