"""Drives one leader elector in virtual time, with the answers of its member set by the test."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import final

from gantrymq.fakes.groups.lease_store import LeaseStore
from gantrymq.ha.disk.epochs import Epoch
from gantrymq.ha.election.actions import ReadLease, WriteLease
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.election.leader_elector import LeaderElector
from gantrymq.ha.election.phase import Phase
from gantrymq.ha.election.verdict import ReceivedReport
from gantrymq.ha.lease.lease import NO_MEMBER, Lease, LeaseAnswer, OperatorRequests
from gantrymq.ha.lease.member_id import MemberId
from gantrymq.ha.protocol.handshake import MemberReport
from gantrymq.ha.protocol.member_frames import Report

ALL = frozenset({1, 2, 3})
STEP = 0.05
BEHIND = MemberReport(4, (Epoch(4, 0),), 0, 400, is_electable=True)
MEMBER_ID = MemberId(1, ALL, "m1:10911", "m1:10912", process="71" * 16)
ALONE = Lease("1", holder=NO_MEMBER, epoch=4, in_sync=frozenset({1}))


@final
class FakeContext:
    """What a leader elector asks of its member, set by the test."""

    def __init__(self, *, end: int = 500) -> None:
        self.end = end
        self.full: str | None = None
        self.successors: set[int] = set()
        self.is_following = False
        self.is_on_disk = True
        self.asked_for_disk = 0
        self.others: dict[int, MemberReport] = {2: BEHIND, 3: BEHIND}
        self.promised: float | None = None
        self.seen_epoch = 4
        self.stuck: str | None = None
        self.able: set[int] = set()
        self.now = 0.0

    def member_report(self) -> MemberReport:
        return MemberReport(self.seen_epoch, (Epoch(4, 0),), 0, self.end, is_electable=True)

    def new_id(self) -> str:
        return "d" * 32

    def foreign_reason(self) -> str | None:
        return None

    def received_reports(self) -> Mapping[int, ReceivedReport]:
        return {each: ReceivedReport(said, self.now) for each, said in self.others.items()}

    def stall(self, now: float) -> str | None:
        return self.stuck

    def trouble(self, now: float) -> str | None:
        return self.stuck or self.full

    def flush_acknowledged(self, now: float) -> bool:
        self.asked_for_disk += 1
        return self.is_on_disk

    def has_able_successor(self) -> bool:
        return bool(self.able)

    def follows_master(self) -> bool:
        return self.is_following

    def promised_since(self) -> float | None:
        return self.promised

    def successor(self, chosen: int, now: float) -> int:
        if chosen:
            return chosen if chosen in self.successors else NO_MEMBER
        return min(self.successors, default=NO_MEMBER)


@final
class ElectorDriver:
    """Drives one leader elector: a turn each STEP."""

    def __init__(
        self,
        store: LeaseStore,
        context: FakeContext,
        *,
        is_new: bool = False,
        place: MemberId = MEMBER_ID,
    ) -> None:
        self.elector = LeaderElector(place, 0.0, is_new=is_new)
        self.context = context
        self.delay = 0.0
        self.now = 0.0
        self.store = store
        self._answers: list[tuple[float, int, LeaseAnswer]] = []

    def run(self, seconds: float) -> None:
        until = self.now + seconds - 1e-9
        while self.now < until:
            self.now = round(self.now + STEP, 6)
            self.turn()

    def turn(self) -> None:
        self.context.now = self.now
        due = [each for each in self._answers if each[0] <= self.now]
        self._answers = [each for each in self._answers if each[0] > self.now]
        for _, number, answer in due:
            self.elector.lease_answered(number, answer, self.now)
        for _ in range(4):
            self._decide()

    def _decide(self) -> None:
        elector = self.elector
        elector.decide(self.context, self.now)
        if elector.epoch and elector.in_sync is None and elector.lease is not None:
            elector.in_sync = InSyncReplicas(1, elector.lease.in_sync, self.now, flushes=False)
        if not elector.epoch:
            elector.in_sync = None
        for action in elector.take_actions():
            if isinstance(action, (ReadLease, WriteLease)):
                answer = self.store.carry_out(action)
                if self.delay:
                    self._answers.append((self.now + self.delay, action.number, answer))
                else:
                    elector.lease_answered(action.number, answer, self.now)

    def is_in(self, phase: Phase) -> bool:
        return self.elector.phase is phase

    @property
    def promisers(self) -> frozenset[int]:
        """The members that have to promise."""
        members = self.elector.must_promise()
        assert members is not None
        return members

    @property
    def may_acknowledge(self) -> bool:
        return self.now < self.elector.lease_deadline(self.context, self.now)


def leading(lease: Lease = ALONE) -> ElectorDriver:
    """A master."""
    driver = ElectorDriver(LeaseStore(lease), FakeContext())
    driver.run(1.0)
    assert driver.is_in(Phase.LEADING)
    return driver


def pair() -> ElectorDriver:
    """A master whose set has member 2 as well."""
    driver = leading()
    joined(driver, 2)
    driver.run(STEP)
    return driver


def switch(driver: ElectorDriver, member: int, number: int = 1) -> None:
    lease = driver.store.lease
    assert lease is not None
    driver.store.edit(
        replace(lease, operator_requests=OperatorRequests(switch_to=member, number=number))
    )


def joined(driver: ElectorDriver, member: int) -> None:
    in_sync = driver.elector.in_sync
    assert in_sync is not None
    in_sync.reported(member, Report(500, 500), 500, driver.now)


def runs_beside_2(driver: ElectorDriver, seconds: float) -> None:
    """Member 2 has everything all the time."""
    for _ in range(round(seconds / STEP)):
        if driver.elector.in_sync is not None:
            joined(driver, 2)
        driver.run(STEP)


def by_promises(driver: ElectorDriver, seconds: float) -> None:
    for _ in range(int(seconds / STEP)):
        driver.context.promised = driver.now
        runs_beside_2(driver, STEP)
