"""Drives the leader elector through each row of the table of a member's roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from gantrymq.base.transitions import TransitionError
from gantrymq.fakes.groups.electors import (
    ALONE,
    PLACE,
    FakeContext,
    Life,
    leading,
    pair,
    runs_beside_2,
    switch,
)
from gantrymq.fakes.groups.lease_store import LeaseStore
from gantrymq.ha.election import phase
from gantrymq.ha.election.leader_elector import HANDOVER_SECONDS
from gantrymq.ha.election.phase import PHASES, Phase

HELD = replace(ALONE, holder=2, address="m2:10911", ha_address="m2:10912")


def watching() -> Life:
    """A member that watches another master's Lease."""
    life = Life(LeaseStore(HELD), FakeContext())
    life.run(1.0)
    return life


def seeking() -> Life:
    """A member whose write of the Lease is not answered yet."""
    life = Life(LeaseStore(ALONE), FakeContext())
    life.delay = 0.5
    life.run(0.6)
    return life


def beaten() -> Life:
    """A member that seeks the Lease after another process has acquired it."""
    life = Life(LeaseStore(ALONE), FakeContext())
    life.delay = 0.1
    life.run(0.05)
    twin = replace(PLACE, process="72" * 16)
    life.store.edit(ALONE.acquired(twin, 5, frozenset({1}), {1: "02" * 16}))
    life.run(0.15)
    return life


def unanswered() -> Life:
    """A member whose write of the Lease was carried out, and not answered."""
    life = Life(LeaseStore(ALONE), FakeContext())
    life.store.is_forgetful = True
    life.run(0.1)
    life.store.is_forgetful = False
    return life


def handing_over() -> Life:
    life = pair()
    switch(life, 2)
    while not life.is_in(Phase.HANDING_OVER):
        runs_beside_2(life, 0.05)
    return life


def released() -> Life:
    life = watching()
    leave(life)
    return life


def handed_over() -> Life:
    """A former master whose release of the Lease is not answered yet."""
    life = handing_over()
    life.context.successors = {2}
    life.delay = 0.2
    while not life.is_in(Phase.WATCHING):
        runs_beside_2(life, 0.05)
    return life


def leave(life: Life) -> None:
    life.elector.leave(life.now)
    life.run(1.5)


def step_down(life: Life) -> None:
    life.elector.saw(99, life.now)


def wait(life: Life) -> None:
    life.run(0.6)


def wait_for_handover(life: Life) -> None:
    runs_beside_2(life, HANDOVER_SECONDS + 0.1)


def seek(life: Life) -> None:
    life.delay = 0.5
    life.store.edit(replace(ALONE, epoch=4))
    while life.is_in(Phase.WATCHING):
        life.run(0.05)


SCENES: Mapping[tuple[Phase, str], tuple[Callable[[], Life], Callable[[Life], None]]] = {
    (Phase.WATCHING, phase.SEEK): (watching, seek),
    (Phase.SEEKING, phase.WIN): (seeking, wait),
    (Phase.SEEKING, phase.LOSE): (beaten, wait),
    (Phase.SEEKING, phase.STEP_DOWN): (seeking, step_down),
    (Phase.LEADING, phase.HAND_OVER): (leading, lambda life: life.elector.leave(life.now)),
    (Phase.LEADING, phase.STEP_DOWN): (leading, step_down),
    (Phase.HANDING_OVER, phase.GIVE_UP): (handing_over, wait_for_handover),
    (Phase.HANDING_OVER, phase.STEP_DOWN): (handing_over, step_down),
    (Phase.WATCHING, phase.FREE): (handed_over, lambda life: life.run(0.25)),
    (Phase.WATCHING, phase.STEP_DOWN): (watching, step_down),
    (Phase.WATCHING, phase.LEAVE): (watching, leave),
    (Phase.SEEKING, phase.LEAVE): (unanswered, leave),
    (Phase.RELEASED, phase.STEP_DOWN): (released, step_down),
}


def test_each_row_of_the_table_has_a_scene() -> None:
    assert {(row.source, row.event) for row in PHASES.rows} == set(SCENES)


@pytest.mark.parametrize("row", PHASES.rows, ids=lambda row: f"{row.source.value}, {row.event}")
def test_event_leads_to_the_phase_of_the_table(row: tuple[Phase, str, Phase, str]) -> None:
    source, event, target, _ = row
    prepare, act = SCENES[source, event]
    life = prepare()
    assert life.elector.phase is source
    act(life)
    assert life.elector.phase is target


def test_event_that_the_table_lacks_is_an_error() -> None:
    with pytest.raises(TransitionError, match="member role"):
        PHASES.next(Phase.WATCHING, phase.WIN)
