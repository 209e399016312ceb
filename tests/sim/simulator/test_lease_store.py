"""Tests compare-and-set of the lease store, with unknown outcomes."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import final

from gantrymq.ha.lease.lease import (
    Conflict,
    Found,
    Lease,
    LeaseAnswer,
    Missing,
    Unanswered,
    Written,
)
from gantrymq.sim.group.group_world import Life, Place, World
from gantrymq.sim.nodes.group_api import NUMBER, Health, Latency
from gantrymq.sim.nodes.group_lease_store import LeaseStore
from gantrymq.sim.nodes.group_network import Network

MINE = Lease(
    holder=1,
    address="10.0.0.1:10911",
    ha_address="10.0.0.1:10912",
    epoch=1,
    in_sync=frozenset({1}),
    group="0123456789abcdef" * 2,
)


@final
class Desk:
    """One member that asks."""

    def __init__(self) -> None:
        self.world = World(1)
        self.network = Network(self.world, Random(2))
        self.store = LeaseStore(self.world, self.network, Random(3))
        self.place = Place(self.world, 1, "one", Random(4), 0.0)
        self.life = Life()
        self.answers: list[LeaseAnswer] = []

    def read(self) -> LeaseAnswer:
        self.store.read(self.place, self.life, self.answers.append)
        return self._answer()

    def write(self, lease: Lease) -> LeaseAnswer:
        self.store.write(self.place, self.life, lease, self.answers.append)
        return self._answer()

    def _answer(self) -> LeaseAnswer:
        self.world.run(self.world.now + 5.0)
        (answer,) = self.answers
        self.answers.clear()
        return answer


def test_only_the_last_version_is_replaced() -> None:
    lease_state = Desk()
    assert lease_state.read() == Missing()
    first = lease_state.write(MINE)
    assert first == Written("1")
    assert lease_state.write(MINE) == Conflict()
    assert lease_state.write(replace(MINE, version="1", epoch=2)) == Written("2")
    assert lease_state.write(replace(MINE, version="1", epoch=3)) == Conflict()
    assert lease_state.read() == Found(replace(MINE, version="2", epoch=2))


def test_a_lost_answer_leaves_the_outcome_unknown() -> None:
    lease_state = Desk()
    lease_state.store.api.lost_answers = 1.0
    assert isinstance(lease_state.write(MINE), Unanswered)
    assert lease_state.store.lease is not None
    assert lease_state.world.tally["unknown outcomes, written"] == 1


def test_slow_store_may_write_when_no_caller_waits_any_more() -> None:
    lease_state = Desk()
    lease_state.store.api.health = Health.SLOW
    answers = []
    for _ in range(20):
        answers.append(lease_state.write(replace(MINE, version=_version(lease_state))))
        lease_state.read()
    assert any(isinstance(each, Unanswered) for each in answers)
    assert any(isinstance(each, Written) for each in answers)
    assert lease_state.world.tally["unknown outcomes, written"] > 0


def test_write_of_a_late_store_is_seen_before_its_answer() -> None:
    lease_state = Desk()
    lease_state.store.api.health, lease_state.store.api.late_seconds = Health.LATE, (0.5, 0.5)
    lease_state.store.write(lease_state.place, lease_state.life, MINE, lease_state.answers.append)
    lease_state.world.run(lease_state.world.now + 0.4)
    assert (lease_state.store.lease, lease_state.answers) == (replace(MINE, version="1"), [])
    lease_state.world.run(lease_state.world.now + 0.2)
    assert lease_state.answers == [Written("1")]
    lease_state.answers.clear()
    lease_state.store.api.late_seconds = (1.5, 1.5)
    assert isinstance(lease_state.write(replace(MINE, version="1", epoch=2)), Unanswered)
    assert lease_state.store.lease == replace(MINE, version="2", epoch=2)


def test_one_that_is_only_read_refuses_writes() -> None:
    lease_state = Desk()
    lease_state.write(MINE)
    lease_state.store.api.health = Health.READ_ONLY
    assert isinstance(lease_state.write(replace(MINE, version="1", epoch=2)), Unanswered)
    assert lease_state.read() == Found(replace(MINE, version="1"))


def test_one_that_is_down_or_cut_off_is_not_reached() -> None:
    lease_state = Desk()
    lease_state.store.api.health = Health.REFUSED
    assert isinstance(lease_state.write(MINE), Unanswered)
    lease_state.store.api.health = Health.WELL
    lease_state.network.cut(1, NUMBER)
    assert isinstance(lease_state.write(MINE), Unanswered)
    assert lease_state.store.lease is None
    lease_state.network.heal(1, NUMBER)
    lease_state.network.cut(NUMBER, 1)
    assert isinstance(lease_state.write(MINE), Unanswered)
    assert lease_state.store.lease is not None


def test_the_operator_changes_nothing_but_his_part() -> None:
    lease_state = Desk()
    lease_state.write(MINE)
    lease_state.store.change_requests(
        lambda operator_requests: replace(operator_requests, preferred=2)
    )
    lease_state.store.fence(frozenset({3}))
    lease = lease_state.store.lease
    assert lease is not None
    assert (lease.holder, lease.epoch, lease.in_sync) == (1, 1, frozenset({1}))
    assert (lease.operator_requests.preferred, lease.fenced) == (2, frozenset({3}))


def test_restored_lease_does_not_count_until_a_member_writes_again() -> None:
    for epoch in (1, 2):
        lease_state = Desk()
        lease_state.write(MINE)
        lease_state.write(replace(MINE, version="1", epoch=2, renewals=1))
        first, second = lease_state.store.past
        lease_state.store.restore(first if epoch == 1 else second)
        assert lease_state.store.truth is None
        lease_state.read()
        lease_state.write(replace(MINE, version=_version(lease_state), epoch=1))
        assert lease_state.store.truth is None
        lease_state.write(replace(MINE, version=_version(lease_state), epoch=2))
        assert lease_state.store.truth is not None


def test_an_edit_leaves_a_broken_seal_and_a_touch_does_not() -> None:
    lease_state = Desk()
    lease_state.write(MINE)
    lease_state.store.touch()
    lease = lease_state.store.lease
    assert lease is not None
    assert (lease.version, lease.untrusted_reason, lease_state.store.truth) == ("2", None, lease)
    lease_state.store.edit({"in-sync": "2"})
    lease = lease_state.store.lease
    assert lease is not None
    assert lease.untrusted_reason is not None
    assert lease_state.store.truth is None


def test_a_slow_api_is_waited_for_as_long_as_the_product_does() -> None:
    lease_state = Desk()
    lease_state.write(MINE)
    lease_state.store.api.latency = Latency(constant=1.0, p99=1.0)
    assert isinstance(lease_state.read(), Unanswered)
    assert isinstance(lease_state.read(), Found)


def test_an_earlier_epoch_does_not_get_the_address_back() -> None:
    lease_state = Desk()
    told: list[bool] = []
    for epoch, address in ((2, "b"), (1, "a"), (3, "c")):
        lease_state.store.publish(lease_state.place, Life(), epoch, address, told.append)
        lease_state.world.run(lease_state.world.now + 5.0)
    assert told == [True, False, True]
    assert lease_state.store.endpoint == (3, "c")


def _version(lease_state: Desk) -> str:
    return "" if lease_state.store.lease is None else lease_state.store.lease.version
