"""Drives the leader elector through each row of the table of a member's roles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest

from gantrymq.base.transitions import TransitionError
from gantrymq.fakes.groups.electors import (
    ALONE,
    MEMBER_ID,
    ElectorDriver,
    FakeContext,
    leading,
    pair,
    runs_beside_2,
    switch,
)
from gantrymq.fakes.groups.lease_store import LeaseStore
from gantrymq.ha.election import phase
from gantrymq.ha.election.leading.handover import HANDOVER_SECONDS
from gantrymq.ha.election.phase import PHASES, Phase

HELD = replace(ALONE, holder=2, address="m2:10911", ha_address="m2:10912")


def watching() -> ElectorDriver:
    """A member that watches another master's Lease."""
    driver = ElectorDriver(LeaseStore(HELD), FakeContext())
    driver.run(1.0)
    return driver


def seeking() -> ElectorDriver:
    """A member whose write of the Lease is not answered yet."""
    driver = ElectorDriver(LeaseStore(ALONE), FakeContext())
    driver.delay = 0.5
    driver.run(0.6)
    return driver


def beaten() -> ElectorDriver:
    """A member that seeks the Lease after another process has acquired it."""
    driver = ElectorDriver(LeaseStore(ALONE), FakeContext())
    driver.delay = 0.1
    driver.run(0.05)
    twin = replace(MEMBER_ID, process="72" * 16)
    driver.store.edit(ALONE.acquired(twin, 5, frozenset({1}), {1: "02" * 16}))
    driver.run(0.15)
    return driver


def unanswered() -> ElectorDriver:
    """A member whose write of the Lease was carried out, and not answered."""
    driver = ElectorDriver(LeaseStore(ALONE), FakeContext())
    driver.store.is_forgetful = True
    driver.run(0.1)
    driver.store.is_forgetful = False
    return driver


def handing_over() -> ElectorDriver:
    driver = pair()
    switch(driver, 2)
    while not driver.is_in(Phase.HANDING_OVER):
        runs_beside_2(driver, 0.05)
    return driver


def released() -> ElectorDriver:
    driver = watching()
    leave(driver)
    return driver


def handed_over() -> ElectorDriver:
    """A former master whose release of the Lease is not answered yet."""
    driver = handing_over()
    driver.context.successors = {2}
    driver.delay = 0.2
    while not driver.is_in(Phase.WATCHING):
        runs_beside_2(driver, 0.05)
    return driver


def leave(driver: ElectorDriver) -> None:
    driver.elector.leave(driver.now)
    driver.run(1.5)


def step_down(driver: ElectorDriver) -> None:
    driver.elector.saw(99, driver.now)


def wait(driver: ElectorDriver) -> None:
    driver.run(0.6)


def wait_for_handover(driver: ElectorDriver) -> None:
    runs_beside_2(driver, HANDOVER_SECONDS + 0.1)


def seek(driver: ElectorDriver) -> None:
    driver.delay = 0.5
    driver.store.edit(replace(ALONE, epoch=4))
    while driver.is_in(Phase.WATCHING):
        driver.run(0.05)


SCENES: Mapping[
    tuple[Phase, str], tuple[Callable[[], ElectorDriver], Callable[[ElectorDriver], None]]
] = {
    (Phase.WATCHING, phase.SEEK): (watching, seek),
    (Phase.SEEKING, phase.WIN): (seeking, wait),
    (Phase.SEEKING, phase.LOSE): (beaten, wait),
    (Phase.SEEKING, phase.STEP_DOWN): (seeking, step_down),
    (Phase.LEADING, phase.HAND_OVER): (leading, lambda driver: driver.elector.leave(driver.now)),
    (Phase.LEADING, phase.STEP_DOWN): (leading, step_down),
    (Phase.HANDING_OVER, phase.GIVE_UP): (handing_over, wait_for_handover),
    (Phase.HANDING_OVER, phase.STEP_DOWN): (handing_over, step_down),
    (Phase.WATCHING, phase.FREE): (handed_over, lambda driver: driver.run(0.25)),
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
    driver = prepare()
    assert driver.elector.phase is source
    act(driver)
    assert driver.elector.phase is target


def test_event_that_the_table_lacks_is_an_error() -> None:
    with pytest.raises(TransitionError, match="member role"):
        PHASES.next(Phase.WATCHING, phase.WIN)
