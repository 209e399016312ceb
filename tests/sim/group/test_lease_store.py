"""Compare-and-set, with outcomes that nobody knows."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import final

from gantrymq.ha.lease import (
    Conflict,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    Unanswered,
    Written,
)
from gantrymq.sim.group_lease_store import NUMBER, Health, LeaseStore
from gantrymq.sim.group_network import Network
from gantrymq.sim.group_world import Life, Place, World

MINE = Lease(holder=1, epoch=1, in_sync=frozenset({1}))


@final
class Desk:
    """One member that asks."""

    def __init__(self) -> None:
        self.world = World(1)
        self.network = Network(self.world, Random(2))
        self.store = LeaseStore(self.world, self.network, Random(3))
        self.place = Place(self.world, 1, "one", Random(4), 0.0)
        self.answers: list[LeaseAnswer] = []

    def read(self) -> LeaseAnswer:
        self.store.read(self.place, Life(), self.answers.append)
        return self._answer()

    def write(self, lease: Lease) -> LeaseAnswer:
        self.store.write(self.place, Life(), lease, self.answers.append)
        return self._answer()

    def _answer(self) -> LeaseAnswer:
        self.world.run(self.world.now + 5.0)
        (answer,) = self.answers
        self.answers.clear()
        return answer


def test_only_the_last_version_is_replaced() -> None:
    desk = Desk()
    assert desk.read() == Missing()
    first = desk.write(MINE)
    assert first == Written("1")
    assert desk.write(MINE) == Conflict()
    assert desk.write(replace(MINE, version="1", epoch=2)) == Written("2")
    assert desk.write(replace(MINE, version="1", epoch=3)) == Conflict()
    assert desk.read() == Found(replace(MINE, version="2", epoch=2))


def test_a_lost_answer_leaves_the_outcome_unknown() -> None:
    desk = Desk()
    desk.store.lost_answers = 1.0
    assert isinstance(desk.write(MINE), Unanswered)
    assert desk.store.lease is not None
    assert desk.world.tally["unknown outcomes, written"] == 1


def test_a_slow_store_may_write_when_nobody_waits_any_more() -> None:
    desk = Desk()
    desk.store.health = Health.SLOW
    answers = [desk.write(replace(MINE, version=_version(desk))) for _ in range(20)]
    assert any(isinstance(each, Unanswered) for each in answers)
    assert any(isinstance(each, Written) for each in answers)
    assert desk.store.lease is not None
    assert desk.store.lease.version == "20"


def test_what_a_late_store_did_others_know_before_who_asked() -> None:
    desk = Desk()
    desk.store.health, desk.store.late_seconds = Health.LATE, (0.5, 0.5)
    desk.store.write(desk.place, Life(), MINE, desk.answers.append)
    desk.world.run(desk.world.now + 0.4)
    assert (desk.store.lease, desk.answers) == (replace(MINE, version="1"), [])
    desk.world.run(desk.world.now + 0.2)
    assert desk.answers == [Written("1")]
    desk.answers.clear()
    desk.store.late_seconds = (1.5, 1.5)
    assert isinstance(desk.write(replace(MINE, version="1", epoch=2)), Unanswered)
    assert desk.store.lease == replace(MINE, version="2", epoch=2)


def test_one_that_is_only_read_refuses_writes() -> None:
    desk = Desk()
    desk.write(MINE)
    desk.store.health = Health.READ_ONLY
    assert isinstance(desk.write(replace(MINE, version="1", epoch=2)), Unanswered)
    assert desk.read() == Found(replace(MINE, version="1"))


def test_one_that_is_down_or_cut_off_is_not_reached() -> None:
    desk = Desk()
    desk.store.health = Health.REFUSED
    assert isinstance(desk.write(MINE), Unanswered)
    desk.store.health = Health.WELL
    desk.network.cut(1, NUMBER)
    assert isinstance(desk.write(MINE), Unanswered)
    assert desk.store.lease is None
    desk.network.heal(1, NUMBER)
    desk.network.cut(NUMBER, 1)
    assert isinstance(desk.write(MINE), Unanswered)
    assert desk.store.lease is not None


def test_the_operator_changes_nothing_but_his_part() -> None:
    desk = Desk()
    desk.write(MINE)
    desk.store.wish(lambda wishes: replace(wishes, preferred=2))
    desk.store.fence(frozenset({3}))
    lease = desk.store.lease
    assert lease is not None
    assert (lease.holder, lease.epoch, lease.in_sync) == (1, 1, frozenset({1}))
    assert (lease.wishes.preferred, lease.fenced) == (2, frozenset({3}))


def test_what_somebody_restored_is_not_the_truth_until_a_new_epoch() -> None:
    desk = Desk()
    desk.write(MINE)
    desk.write(replace(MINE, version="1", epoch=2))
    truths = []
    for below in (1, 2):
        desk.store.restore(below)
        truths.append(desk.store.truth)
    assert [truth is None for truth in truths] == [False, True]
    desk.write(replace(MINE, version=_version(desk), epoch=3))
    assert desk.store.truth is not None


def test_an_earlier_epoch_does_not_get_the_address_back() -> None:
    desk = Desk()
    told: list[bool] = []
    for epoch, address in ((2, "b"), (1, "a"), (3, "c")):
        desk.store.publish(desk.place, Life(), epoch, address, told.append)
        desk.world.run(desk.world.now + 5.0)
    assert told == [True, False, True]
    assert desk.store.endpoint == (3, "c")


def _version(desk: Desk) -> str:
    return "" if desk.store.lease is None else desk.store.lease.version
