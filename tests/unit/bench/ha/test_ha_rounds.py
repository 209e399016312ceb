"""Tests the rounds of a benchmark of groups: their order, and which of them count."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import pytest

from bench import memory, turns
from bench.broker.broker_paces import QUICK
from bench.broker.broker_sends import CPU_SUFFIX
from bench.broker.load_clients import Sent
from bench.ha import ha
from bench.namesrv.servers import GANTRY, JAVA

COUNTED = QUICK.rounds


class FakeGroup:
    """Accepts sends at a microsecond a message. Some messages are in its queues only when it is
    asked a second time, or never; the work until then takes a millisecond."""

    def __init__(self, name: str, *, late: int = 0, lost: int = 0) -> None:
        self.name = name
        self.port = 0
        self._late = late
        self._lost = lost
        self._queued = self._more = 0
        self._cpu = 0.0

    def take(self, messages: int) -> None:
        self._cpu += messages * 1e-6
        self._queued += messages - self._late - self._lost
        self._more = self._late

    def process_ids(self) -> Sequence[int]:
        return ()

    def settle(self) -> None:
        """The group is always settled."""

    def stored(self) -> int:
        seen = self._queued
        if self._more:
            self._cpu += 1e-3
        self._queued, self._more = self._queued + self._more, 0
        return seen

    def wait_for_followers(self) -> float:
        return 0.0

    def cpu_seconds(self) -> tuple[float, float]:
        return self._cpu, 0.0

    def end_round(self) -> None:
        """The group keeps its messages."""


class Sends:
    """One kind of send in a log of all kinds; some fail on request."""

    def __init__(self, what: str, log: list[tuple[str, str, float]], *, fails: int = 0) -> None:
        self._what = what
        self._log = log
        self._fails = fails

    def __call__(self, group: ha.Measured, seconds: float) -> Sent:
        if self._fails:
            self._fails -= 1
            raise RuntimeError("the master is gone")
        self._log.append((self._what, group.name, seconds))
        cast("FakeGroup", group).take(100)
        return Sent(100, 0, 1.0, 0.0, 0.0, 0.0)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "touch", lambda: None)
    monkeypatch.setattr(turns, "CATCH_UP_SECONDS", 0.0)


def groups(late: int = 0, lost: int = 0) -> dict[str, ha.Measured]:
    fakes = {JAVA: FakeGroup(JAVA, late=late, lost=lost), GANTRY: FakeGroup(GANTRY)}
    return cast("dict[str, ha.Measured]", fakes)


def test_rounds_of_all_other_kinds_come_between_two_of_one_kind() -> None:
    log: list[tuple[str, str, float]] = []
    ha._rounds(groups(), {what: Sends(what, log) for what in "abc"}, QUICK)
    there, back = (JAVA, GANTRY), (GANTRY, JAVA)
    names = [there if number % 2 else back for number in range(1 + COUNTED)]
    expected = [(what, name) for both in names for what in "abc" for name in both]
    assert [(what, name) for what, name, _ in log] == expected


def test_the_first_of_each_does_not_count_and_is_longer_for_java() -> None:
    log: list[tuple[str, str, float]] = []
    rows = ha._rounds(groups(), {what: Sends(what, log) for what in "ab"}, QUICK)
    seconds = [seconds for _, name, seconds in log if name == JAVA]
    usual, first = QUICK.round_seconds * ha.SHARE, QUICK.warm_up_seconds * ha.SHARE
    assert seconds == [first] * 2 + [usual] * 2 * COUNTED
    assert {seconds for _, name, seconds in log if name == GANTRY} == {usual}
    assert {figure.rounds for row in rows for figure in row.figures.values()} == {COUNTED}
    assert [row.what for row in rows if row.unit == "messages/s"] == ["a", "b"]
    assert list(rows[0].figures) == [JAVA, GANTRY]


def test_a_round_ends_when_the_queues_have_what_was_answered() -> None:
    made = ha._rounds(groups(late=60), {"a": Sends("a", [])}, QUICK)
    figures = {row.what: row.figures for row in made}["a" + CPU_SUFFIX]
    assert {name: figure.median for name, figure in figures.items()} == {JAVA: 11.0, GANTRY: 1.0}
    assert not [row.what for row in made if row.what.endswith(ha.MISSING_SUFFIX)]


def test_messages_missing_in_queues_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ha, "QUEUES_SECONDS", 0.01)
    made = ha._rounds(groups(lost=60), {"a": Sends("a", [])}, QUICK)
    missing = {row.what: row.figures for row in made}["a" + ha.MISSING_SUFFIX]
    assert {name: figure.median for name, figure in missing.items()} == {JAVA: 60.0}


def test_broken_round_is_repeated_and_reported() -> None:
    send = Sends("a", [], fails=2 * 1 * ha.ATTEMPTS + 2)  # all of the first pass, then two
    rows = {row.what: row.figures for row in ha._rounds(groups(), {"a": send}, QUICK)}
    assert sum(figure.rounds for figure in rows["a" + ha.BROKEN_SUFFIX].values()) == 2
    assert {figure.rounds for figure in rows["a"].values()} == {COUNTED}
