"""Checks that a follower changes its state only as the table of its states says."""

from __future__ import annotations

import random

from gantrymq.ha.election.follower_state import (
    DISCONNECT,
    FALL_BEHIND,
    FOLLOWER_STATES,
    KEEP_UP,
    NAMED,
    NOT_NAMED,
    PROPOSE_WITH,
    PROPOSE_WITHOUT,
    FollowerState,
)
from gantrymq.ha.election.in_sync_replicas import InSyncReplicas
from gantrymq.ha.protocol.member_frames import Report

ME = 1
OTHERS = (2, 3, 4)
STEPS = 20_000


class Observer:
    """Drives the in-sync set of one master at random, and records each change of a follower."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.replicas = InSyncReplicas(ME, {1, 2}, 0.0, flushes=False)
        self.rows: set[tuple[FollowerState, str, FollowerState]] = set()
        self._end, self._now = 0, 0.0
        self._proposed: frozenset[int] | None = None
        self._received = dict.fromkeys(OTHERS, 0)

    def step(self) -> None:
        self._now += self.random.choice([0.01, 0.1, 1.0])
        self._end += self.random.randrange(3)
        before = {each: self.replicas.state(each) for each in OTHERS}
        reports = [self._report] * 3
        steps = [*reports, self._turn, self._lose, self._propose, self._confirm]
        events = self.random.choice(steps)()
        for member, source in before.items():
            target = self.replicas.state(member)
            if target is not source:
                self.rows.add((source, events[member], target))

    def _report(self) -> dict[int, str]:
        member = self.random.choice(OTHERS)
        self._received[member] = self.random.choice([self._received[member], self._end])
        received = self._received[member]
        report = Report(received, received, is_leaving=self.random.random() < 0.1)
        self.replicas.reported(member, report, self._end, self._now)
        return dict.fromkeys(OTHERS, KEEP_UP)

    def _turn(self) -> dict[int, str]:
        self.replicas.turn(self._now)
        return dict.fromkeys(OTHERS, FALL_BEHIND)

    def _lose(self) -> dict[int, str]:
        self.replicas.lost(self.random.choice(OTHERS))
        return dict.fromkeys(OTHERS, DISCONNECT)

    def _propose(self) -> dict[int, str]:
        wanted = self.replicas.wanted(self._now)
        if wanted is not None:
            self.replicas.propose(wanted)
            self._proposed = wanted
        named = wanted or frozenset()
        return {each: PROPOSE_WITH if each in named else PROPOSE_WITHOUT for each in OTHERS}

    def _confirm(self) -> dict[int, str]:
        """The Lease has the old set, the proposed one, or one of another program."""
        sets = [self.replicas.persisted, self._proposed or self.replicas.persisted]
        written = frozenset({ME, *self.random.sample(OTHERS, self.random.randrange(4))})
        named = self.random.choice([*sets, written])
        self.replicas.confirmed(named)
        self._proposed = None
        return {each: NAMED if each in named else NOT_NAMED for each in OTHERS}


def test_observed_changes_of_followers_are_the_rows_of_the_table() -> None:
    observer = Observer(seed=1)
    for _ in range(STEPS):
        observer.step()
    assert observer.rows == {(row.source, row.event, row.target) for row in FOLLOWER_STATES.rows}
