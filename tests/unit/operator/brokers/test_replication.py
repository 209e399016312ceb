"""Tests the reports of masters about their followers."""

from __future__ import annotations

import pytest

from gantrymq.operator.brokers.replication import (
    ReplicationReader,
    host_of,
    is_of_member,
    members_by_host,
    reports,
)
from gantrymq.operator.plan.snapshot import MemberReport
from gantrymq.wire.bodies.ha_status import HaStatus, SlaveStatus

PODS = [
    {"metadata": {"name": "orders-broker-0-0"}, "status": {"podIP": "10.0.0.1"}},
    {"metadata": {"name": "orders-broker-0-1"}, "status": {"podIP": "10.0.0.2"}},
    {"metadata": {"name": "orders-broker-0-2"}},
]


def slave(address: str, behind: int, *, in_sync: bool = True) -> SlaveStatus:
    return SlaveStatus(
        address=address, behind_bytes=behind, is_in_sync=in_sync, acknowledged=0, sends_from=0
    )


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("10.0.0.2:40812", "10.0.0.2"),
        ("[fd00::2]:40812", "fd00::2"),
        ("orders-broker-0-1.orders-broker-0-members.one.svc:10912", "orders-broker-0-1"),
        ("orders-broker-0-1:10912", "orders-broker-0-1"),
    ],
)
def test_an_address_leads_to_its_pod(address: str, host: str) -> None:
    assert host_of(address) == host


@pytest.mark.parametrize(
    ("address", "is_the_masters"),
    [
        ("10.0.0.1:10911", True),
        ("10.0.0.2:10911", False),
        ("169.254.169.254:80", False),
        ("orders-broker-0-0.elsewhere.example:10911", False),
        ("", False),
    ],
)
def test_only_the_address_of_the_masters_pod_is_used(address: str, is_the_masters: bool) -> None:
    assert is_of_member(address, 1, PODS) is is_the_masters


def test_members_are_found_by_pod_name_and_by_pod_address() -> None:
    assert members_by_host(PODS) == {
        "orders-broker-0-0": 1,
        "10.0.0.1": 1,
        "orders-broker-0-1": 2,
        "10.0.0.2": 2,
        "orders-broker-0-2": 3,
    }


def test_a_master_reports_itself_and_its_followers() -> None:
    slaves = (
        slave("10.0.0.2:40812", 0),
        slave("orders-broker-0-2.members.one.svc:10912", 70, in_sync=False),
    )
    status = HaStatus(is_master=True, log_end=100, slaves=slaves)

    assert reports(status, 1, members_by_host(PODS)) == (
        MemberReport(1, is_in_sync=True, lag_bytes=0),
        MemberReport(2, is_in_sync=True, lag_bytes=0),
        MemberReport(3, is_in_sync=False, lag_bytes=70),
    )


def test_followers_that_are_no_pods_are_left_out() -> None:
    status = HaStatus(is_master=True, log_end=100, slaves=(slave("192.0.2.9:1", 5),))

    assert reports(status, 2, members_by_host(PODS)) == (
        MemberReport(2, is_in_sync=True, lag_bytes=0),
    )


def test_a_broker_that_is_not_master_gives_no_report() -> None:
    assert reports(HaStatus(is_master=False, log_end=0), 1, {}) is None


async def test_a_master_that_does_not_answer_gives_no_report() -> None:
    reader = ReplicationReader()
    try:
        assert await reader.ask("127.0.0.1:1", 1, {}) is None
    finally:
        await reader.close()
