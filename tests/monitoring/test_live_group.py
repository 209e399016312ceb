"""A real Prometheus watches three real members that elect their master: alerts fire and end.

A test brings about what a runbook names as the cause, and mends it as the runbook says.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from gantrymq.crash.member_group import MemberGroup
from gantrymq.fakes.stores.foreign_disk import make_foreign
from gantrymq.interop.ports import free_port
from gantrymq.monitoring.firing import (
    assert_quiet,
    quick_rules,
    wait_until_firing,
    wait_until_over,
)
from gantrymq.monitoring.server import Prometheus

pytestmark = pytest.mark.timeout(240)

MEMBERS = (1, 2, 3)
SETTLE_SECONDS = 30.0
# Members read the Lease once a second, so a limit of half a second would fire all the time.
DIVISORS = {"GantryLeaseStale": 10}


@pytest.fixture(scope="module")
def ports() -> dict[int, int]:
    """The ports of the members' pages of metrics."""
    return {number: free_port() for number in MEMBERS}


@pytest.fixture(scope="module")
def group(ports: dict[int, int], tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemberGroup]:
    def settings(number: int) -> dict[str, str]:
        return {"metricsPort": str(ports[number])}

    with MemberGroup(tmp_path_factory.mktemp("group"), of_member=settings) as group:
        group.start("--guarded")
        yield group


@pytest.fixture(scope="module")
def prometheus(
    group: MemberGroup, ports: dict[int, int], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    targets = {"group": [f"127.0.0.1:{ports[number]}" for number in group.members]}
    with Prometheus(folder, targets, quick_rules(DIVISORS)) as running:
        running.wait_for("sum(gantry_broker_in_sync_members) == 9", SETTLE_SECONDS)
        yield running


@pytest.fixture(autouse=True)
def healthy(group: MemberGroup) -> Iterator[None]:
    """Each test leaves the group as it found it."""
    yield
    for number in MEMBERS:
        group.control(number, fault="none")
    group.wait_until_well()


def test_an_api_that_answers_no_member(group: MemberGroup, prometheus: Prometheus) -> None:
    assert_quiet(prometheus, "GantryLeaseStale")
    for number in MEMBERS:
        group.control(number, fault="refuse")
    wait_until_firing(prometheus, "GantryLeaseStale")
    for number in MEMBERS:
        group.control(number, fault="none")
    wait_until_over(prometheus, "GantryLeaseStale")


def test_a_lease_that_was_edited(group: MemberGroup, prometheus: Prometheus) -> None:
    """The master rewrites the Lease when the API accepts writes again."""
    assert_quiet(prometheus, "GantryLeaseDoubted")
    for number in MEMBERS:
        group.control(number, fault="fail", methods=["PUT"])
    group.annotate_lease(in_sync="1")
    wait_until_firing(prometheus, "GantryLeaseDoubted")
    for number in MEMBERS:
        group.control(number, fault="none")
    wait_until_over(prometheus, "GantryLeaseDoubted")


def test_a_member_with_a_disk_of_another_group(group: MemberGroup, prometheus: Prometheus) -> None:
    raised = ("GantryDiskForeign", "GantryReplicaOutOfSync")
    assert_quiet(prometheus, *raised)
    follower = next(each for each in group.members.values() if each is not group.master)
    store, own = follower.folder / "store", follower.folder / "own"
    follower.kill()
    shutil.copytree(store, own)
    make_foreign(store)
    follower.start("--guarded")
    wait_until_firing(prometheus, *raised)
    follower.kill()
    shutil.rmtree(store)
    own.rename(store)
    follower.start("--guarded")
    wait_until_over(prometheus, *raised)


def test_a_second_process_in_the_place_of_a_member(
    group: MemberGroup, prometheus: Prometheus
) -> None:
    assert_quiet(prometheus, "GantrySeatConflict")
    follower = next(each for each in group.members.values() if each is not group.master)
    twin = group.twin(follower.number)
    twin.start()
    try:
        wait_until_firing(prometheus, "GantrySeatConflict")
    finally:
        twin.kill()
    wait_until_over(prometheus, "GantrySeatConflict")


def test_a_new_master_that_may_not_write_its_endpoint_slice(
    group: MemberGroup, prometheus: Prometheus
) -> None:
    raised = ("GantryFailover", "GantryServiceNotLed")
    assert_quiet(prometheus, *raised)
    for number in MEMBERS:
        methods, plurals = ["POST", "PUT", "PATCH"], ["endpointslices"]
        group.control(number, fault="forbid", methods=methods, plurals=plurals)
    old = group.master
    old.kill_guarded()
    group.wait_until_led(not_by=old.number)
    wait_until_firing(prometheus, *raised)
    for number in MEMBERS:
        group.control(number, fault="none")
    old.start("--guarded")
    wait_until_over(prometheus, *raised)
