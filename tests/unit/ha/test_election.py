"""Who may become master: decided from what one member knows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from gantrymq.ha.election import (
    COURTESY_SECONDS,
    PATIENCE_SECONDS,
    UNCLEAN_SECONDS,
    Sighting,
    Verdict,
    View,
    judge,
)
from gantrymq.ha.epochs import Epoch
from gantrymq.ha.handshake import Standing
from gantrymq.ha.lease import DURATION_SECONDS, NOBODY, Lease, Wishes
from gantrymq.ha.place import Place

ALL = frozenset({1, 2, 3})
LEASE = Lease("7", holder=1, epoch=4, in_sync=ALL)
FREE = replace(LEASE, holder=NOBODY)
CHANGED_AT = 100.0
LATER = CHANGED_AT + 3600.0


def standing(end: int = 500, *, epoch: int = 4, last: int = 4, electable: bool = True) -> Standing:
    return Standing(epoch, (Epoch(last, 0),), 0, end, is_electable=electable)


def verdict(
    lease: Lease | None,
    now: float = LATER,
    *,
    me: int = 2,
    ours: Standing | None = None,
    others: Mapping[int, Standing] | None = None,
    stall: str | None = None,
    trouble: str | None = None,
) -> Verdict:
    sightings = {each: Sighting(said, now) for each, said in (others or {}).items()}
    ours = standing() if ours is None else ours
    return judge(View(me, ALL, ours, lease, CHANGED_AT, sightings, stall, trouble), now)


def test_a_held_lease_is_left_alone_for_its_whole_duration() -> None:
    early = verdict(LEASE, CHANGED_AT + DURATION_SECONDS - 0.01)
    assert early.epoch == 0
    assert early.again_at == CHANGED_AT + DURATION_SECONDS


def test_an_expired_lease_is_sought_with_the_next_epoch() -> None:
    assert verdict(LEASE, others={3: standing()}).epoch == 5


def test_a_lease_that_was_given_away_is_sought_at_once() -> None:
    others = {1: standing(499), 3: standing(499)}
    assert verdict(FREE, CHANGED_AT, others=others).epoch == 5


def test_the_others_of_the_set_are_heard_before() -> None:
    early = verdict(FREE, CHANGED_AT, others={3: standing(499)})
    assert early.epoch == 0
    assert early.again_at == CHANGED_AT + COURTESY_SECONDS
    assert verdict(FREE, early.again_at, others={3: standing(499)}).epoch == 5


def test_and_those_outside_of_it_who_may_know_that_the_lease_is_an_old_one() -> None:
    alone = replace(FREE, in_sync=frozenset({2}))
    early = verdict(alone, CHANGED_AT, others={3: standing(499)})
    assert early.epoch == 0
    assert early.again_at == CHANGED_AT + COURTESY_SECONDS
    assert verdict(alone, early.again_at, others={3: standing(499)}).epoch == 5
    newer = {1: standing(800, epoch=9), 3: standing(499)}
    assert verdict(alone, early.again_at, others=newer).epoch == 0


@pytest.mark.parametrize(
    "better",
    [standing(501), standing(10, epoch=5, last=5)],
    ids=["a longer log", "a log of a later epoch"],
)
def test_who_has_more_goes_first_but_is_not_waited_for_for_good(better: Standing) -> None:
    lease = replace(FREE, epoch=better.epoch)
    ours = standing(epoch=better.epoch)
    others = {1: standing(1), 3: better}
    early = verdict(lease, CHANGED_AT + 1.0, ours=ours, others=others)
    assert early.epoch == 0
    assert "3 has more" in early.reason
    later = CHANGED_AT + PATIENCE_SECONDS
    assert verdict(lease, later, ours=ours, others=others).epoch == lease.epoch + 1


def test_the_preferred_one_goes_first_where_logs_are_equal() -> None:
    lease = replace(FREE, wishes=Wishes(preferred=3))
    others = {1: standing(), 3: standing()}
    assert verdict(lease, CHANGED_AT + 1, others=others).epoch == 0
    assert verdict(lease, CHANGED_AT + 1, me=3, others={1: standing(), 2: standing()}).epoch == 5


def test_without_a_wish_the_lowest_number_goes_first() -> None:
    others = {2: standing(), 3: standing()}
    assert verdict(FREE, CHANGED_AT + 1, me=1, others=others).epoch == 5
    assert verdict(FREE, CHANGED_AT + 1, others={1: standing(), 3: standing()}).epoch == 0


def test_whom_the_last_master_chose_is_left_its_chance() -> None:
    lease = replace(FREE, heir=3)
    others = {1: standing(1), 3: standing(1)}
    assert verdict(lease, CHANGED_AT + 1, others=others).epoch == 0
    assert verdict(lease, CHANGED_AT + 1, me=3, others={1: standing(1), 2: standing(1)}).epoch == 5
    assert verdict(lease, CHANGED_AT + PATIENCE_SECONDS, others=others).epoch == 5


def test_who_leaves_counts_and_is_not_waited_for() -> None:
    chosen = replace(FREE, heir=2, leaver=1)
    assert verdict(chosen, CHANGED_AT).in_sync == {3}
    assert verdict(chosen, me=1).epoch, "where nobody else takes it"
    taken = chosen.taken(Place(2, ALL, "m2:10911", "m2:10912"), 5, frozenset({3}))
    assert (taken.heir, taken.leaver) == (NOBODY, NOBODY)


def test_only_who_is_in_the_set_may() -> None:
    refused = verdict(replace(FREE, in_sync=frozenset({1, 3})))
    assert refused.epoch == 0
    assert "only 1, 3 may" in refused.reason


def test_a_fenced_member_may_not() -> None:
    assert verdict(replace(FREE, fenced=frozenset({2})), others={3: standing(1)}).epoch == 0


def test_a_disk_that_does_not_answer_makes_no_master() -> None:
    assert verdict(FREE, stall="a sync takes long", trouble="a sync takes long").epoch == 0


def test_others_go_before_a_full_disk_but_not_for_good() -> None:
    early = verdict(FREE, CHANGED_AT + 1.0, trouble="it is full")
    assert early.epoch == 0
    assert "it is full" in early.reason
    assert verdict(FREE, early.again_at, trouble="it is full").epoch == 5


def test_whom_the_last_master_chose_goes_though_it_is_full() -> None:
    assert verdict(replace(FREE, heir=2), CHANGED_AT, trouble="it is full").epoch == 5


def test_the_new_set_is_who_is_there_and_whole() -> None:
    others = {1: standing(1, electable=False), 3: standing(499)}
    assert verdict(LEASE, others=others).in_sync == {3}


# ---------------------------------------------------------------------- machines that went down


def test_a_machine_that_went_down_is_no_master_while_another_one_is_whole() -> None:
    ours = standing(900, electable=False)
    others = {1: standing(1), 3: standing(899, electable=False)}
    assert verdict(FREE, ours=ours, others=others).epoch == 0


def test_of_equally_long_logs_the_one_less_in_doubt_is_taken() -> None:
    doubtful, sure = (standing(electable=False)._replace(sure_to=to) for to in (200, 400))
    whole = standing(electable=False)
    for ours, other, is_us in [
        (doubtful, sure, False),
        (sure, doubtful, True),
        (sure, whole, False),
        (whole, sure, True),
    ]:
        for numbers in ({1, 3}, {3}):  # a lower one would be taken, were there no other reason
            others = dict.fromkeys(numbers, other)
            lease = replace(FREE, in_sync=frozenset({2, *numbers}))
            assert (verdict(lease, ours=ours, others=others).epoch == 5) is is_us


def test_one_that_is_fenced_is_not_waited_for_as_it_is_less_in_doubt() -> None:
    ours = standing(electable=False)._replace(sure_to=200)
    lease = replace(FREE, in_sync=frozenset({2, 3}), fenced=frozenset({3}))
    assert verdict(lease, ours=ours, others={3: standing(electable=False)}).epoch == 5


def test_where_all_machines_went_down_the_longest_log_is_taken_once_all_were_heard() -> None:
    ours = standing(900, electable=False)
    shorter = standing(899, electable=False)
    assert verdict(FREE, ours=ours, others={3: shorter}).epoch == 0
    assert verdict(FREE, ours=ours, others={1: shorter, 3: shorter}).epoch == 5


NEW = Standing(4, (), 0, 0, is_electable=False)
"""A disk that has nothing of what its group had."""


def test_where_the_disk_of_the_only_one_of_the_set_is_new_the_longest_log_of_all_is_taken() -> None:
    alone = replace(FREE, in_sync=frozenset({1}))
    others = {2: standing(500), 3: standing(499, electable=False)}
    assert verdict(alone, me=1, ours=NEW, others=others).reason == "member 2 has more"
    assert verdict(alone, me=3, ours=others[3], others={1: NEW, 2: others[2]}).epoch == 0
    chosen = verdict(alone, me=2, ours=others[2], others={1: NEW, 3: others[3]})
    assert (chosen.epoch, chosen.in_sync, chosen.is_unclean) == (5, frozenset(), False)


def test_all_have_to_be_heard_for_that() -> None:
    alone = replace(FREE, in_sync=frozenset({1}))
    assert verdict(alone, me=2, others={1: NEW}).epoch == 0
    assert verdict(alone, me=2, others={3: standing()}).epoch == 0
    assert verdict(alone, me=1, ours=NEW, others={2: standing()}).epoch == 0


def test_while_anybody_of_the_set_has_something_of_the_log_it_is_one_of_them() -> None:
    two = replace(FREE, in_sync=frozenset({1, 3}))
    lost = standing(10, electable=False)
    assert verdict(two, me=2, others={1: NEW, 3: lost}).epoch == 0
    assert verdict(two, me=3, ours=lost, others={1: NEW, 2: standing()}).epoch == 5


def test_a_master_that_comes_back_within_its_lease_goes_on_unless_another_log_is_longer() -> None:
    mine = replace(LEASE, holder=2)
    others = {1: standing(499), 3: standing(500)}
    assert verdict(mine, CHANGED_AT + COURTESY_SECONDS, others=others).epoch == 5
    longer = {1: standing(499), 3: standing(501)}
    assert verdict(mine, CHANGED_AT + PATIENCE_SECONDS, others=longer).epoch == 0


# ---------------------------------------------------------------------- loss that is allowed


def test_an_unclean_election_is_opt_in_and_comes_late() -> None:
    lease = replace(LEASE, in_sync=frozenset({1}), wishes=Wishes(allows_unclean=True))
    free_at = CHANGED_AT + DURATION_SECONDS
    assert verdict(lease, free_at + 1).epoch == 0
    late = verdict(lease, free_at + UNCLEAN_SECONDS)
    assert late.epoch == 5
    assert late.is_unclean
    assert "may be lost" in late.reason
    assert not late.in_sync


def test_no_unclean_election_while_a_member_of_the_set_is_there() -> None:
    lease = replace(LEASE, in_sync=frozenset({1}), wishes=Wishes(allows_unclean=True))
    assert verdict(lease, others={1: standing(1)}).epoch == 0


def test_an_unclean_election_takes_the_log_that_goes_furthest_whole_or_not() -> None:
    lease = replace(FREE, in_sync=frozenset({1}), wishes=Wishes(allows_unclean=True))
    longer, whole = standing(501, electable=False), standing(500)
    assert verdict(lease, ours=longer, others={3: whole}).epoch == 5
    assert verdict(lease, ours=whole, others={3: longer}).epoch == 0
    kept_out = replace(lease, fenced=frozenset({3}))
    assert verdict(kept_out, ours=whole, others={3: longer}).epoch == 5


# ---------------------------------------------------------------------- a lease that was lost


MADE = Lease("8")


def test_where_there_is_no_lease_one_is_made_first() -> None:
    others = {1: standing(1), 3: standing(499)}
    said = verdict(None, others=others)
    assert said.is_missing
    assert said.epoch == 0
    early = verdict(MADE, CHANGED_AT, others=others)
    assert (early.epoch, early.again_at) == (0, CHANGED_AT + DURATION_SECONDS)


@pytest.mark.parametrize("lease", [MADE, replace(FREE, epoch=3)], ids=["lost", "set back"])
def test_without_a_lease_to_go_by_all_members_have_to_be_heard(lease: Lease) -> None:
    assert verdict(lease, others={1: standing(1)}).epoch == 0
    assert verdict(lease, others={1: standing(1), 3: standing(499)}).epoch == 5


def test_without_a_lease_the_log_that_goes_furthest_wins_even_if_it_may_have_lost_something() -> (
    None
):
    ours = standing(900, electable=False)
    assert verdict(MADE, ours=ours, others={1: standing(1), 3: standing(899)}).epoch == 5
    assert verdict(MADE, others={1: standing(1), 3: standing(501)}).epoch == 0


def test_the_next_epoch_is_above_whatever_anybody_has_seen() -> None:
    others = {1: standing(1, epoch=9), 3: standing(1)}
    assert verdict(replace(FREE, epoch=6), others=others).epoch == 10


def test_a_lease_that_was_set_back_and_is_held_is_left_alone_as_any_other() -> None:
    others = {1: standing(1), 3: standing(1)}
    held = replace(LEASE, epoch=3)
    assert verdict(held, CHANGED_AT + 1.0, others=others).epoch == 0
    assert verdict(held, others=others).epoch == 5


def test_what_was_said_long_ago_counts_for_nothing() -> None:
    old = {1: Sighting(standing(1), LATER - 1.0), 3: Sighting(standing(1), LATER)}
    view = View(2, ALL, standing(), None, CHANGED_AT, old)
    assert judge(view, LATER).epoch == 0


def test_a_lease_that_was_set_back_to_our_own_is_waited_for_as_any_other() -> None:
    mine = replace(LEASE, holder=2, epoch=3)
    others = {1: standing(1), 3: standing(1)}
    assert verdict(mine, CHANGED_AT + 1.0, others=others).epoch == 0
    assert verdict(mine, CHANGED_AT + DURATION_SECONDS, others=others).epoch == 5


@pytest.mark.parametrize(
    ("lease", "now"),
    [
        (FREE, CHANGED_AT + COURTESY_SECONDS),
        (replace(FREE, epoch=3), LATER),
        (replace(FREE, in_sync=frozenset({3}), wishes=Wishes(allows_unclean=True)), LATER),
    ],
    ids=["of the set", "set back", "unclean"],
)
def test_who_is_fenced_goes_before_nobody_who_has_as_much(lease: Lease, now: float) -> None:
    is_unclean = lease.wishes.allows_unclean
    others = {1: standing()} if is_unclean else {1: standing(), 3: standing(499)}
    assert verdict(lease, now, others=others).epoch == 0
    assert verdict(replace(lease, fenced=frozenset({1})), now, others=others).epoch == 5


def test_a_member_that_knows_of_no_epoch_counts_for_nothing() -> None:
    new = Standing(0, (), 0, 0, is_electable=True)
    lost = standing(electable=False)
    assert verdict(FREE, others={1: standing(), 3: new}).in_sync == {1}
    longest = standing(501, electable=False)
    assert verdict(FREE, ours=longest, others={1: lost, 3: new}).epoch == 5
