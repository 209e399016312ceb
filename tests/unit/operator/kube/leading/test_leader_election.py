"""Tests the rules of leader election without I/O."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.operator.kube.leading.leader_election import (
    DEADLINE_SECONDS,
    DURATION_SECONDS,
    Claim,
    LeaderElection,
    LeaseRecord,
)


def test_a_lease_that_does_not_exist_is_created() -> None:
    election = LeaderElection("a")
    election.observe(None, 0)

    assert election.claim(0) == Claim("", 0, "")


def test_a_released_lease_is_taken_at_once() -> None:
    election = LeaderElection("a")
    election.observe(LeaseRecord("", "5", transitions=3), 0)

    assert election.claim(0) == Claim("5", 4, "")


def test_a_held_lease_is_taken_only_after_it_did_not_change_for_its_duration() -> None:
    election = LeaderElection("a")
    election.observe(LeaseRecord("b", "5"), 100)

    assert election.claim(100 + DURATION_SECONDS - 0.1) is None
    assert election.claim(100 + DURATION_SECONDS) == Claim("5", 1, "")


def test_each_renewal_of_another_holder_restarts_the_wait() -> None:
    election = LeaderElection("a")
    election.observe(LeaseRecord("b", "5"), 0)
    election.observe(LeaseRecord("b", "6"), 14)
    election.observe(LeaseRecord("b", "6"), 16)

    assert election.claim(28) is None
    assert election.claim(29) is not None


def test_a_leader_renews_with_its_own_acquire_time() -> None:
    election = LeaderElection("a")
    election.observe(None, 0)
    election.claimed(LeaseRecord("a", "7", transitions=0, acquire_time="then"), 1)

    assert election.is_leader
    assert election.claim(3) == Claim("7", 0, "then")


def test_a_leader_that_cannot_renew_has_lost_before_another_may_lead() -> None:
    election = LeaderElection("a")
    election.observe(None, 0)
    election.claimed(LeaseRecord("a", "7"), sent_at=1)

    assert not election.has_lost(1 + DEADLINE_SECONDS - 0.1)
    assert election.has_lost(1 + DEADLINE_SECONDS)


def test_a_leader_that_sees_another_holder_has_lost() -> None:
    election = LeaderElection("a")
    election.observe(None, 0)
    election.claimed(LeaseRecord("a", "7"), 1)

    election.observe(LeaseRecord("b", "8"), 2)

    assert election.has_lost(2)


def test_a_process_that_never_led_cannot_lose() -> None:
    election = LeaderElection("a")
    election.observe(LeaseRecord("b", "8"), 2)

    assert not election.has_lost(1000)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["a", "b"]),
            st.floats(0.1, 20),
            st.booleans(),
        ),
        max_size=40,
    )
)
def test_two_candidates_never_lead_at_once(steps: list[tuple[str, float, bool]]) -> None:
    """Each step: a candidate, the pause before it looks, and whether the answer to its write is
    lost."""
    elections = {name: LeaderElection(name) for name in "ab"}
    stored: LeaseRecord | None = None
    now, version = 0.0, 0
    for name, pause, is_lost in steps:
        now += pause
        election = elections[name]
        if not (election.is_leader and election.has_lost(now)):
            election.observe(stored, now)
            claim = election.claim(now)
            if claim is not None and claim.version == (stored.version if stored else ""):
                version += 1
                stored = LeaseRecord(name, str(version), transitions=claim.transitions)
                if not is_lost:
                    election.claimed(stored, now)
        leading = [each for each in elections.values() if each.is_leader and not each.has_lost(now)]
        assert len(leading) <= 1
