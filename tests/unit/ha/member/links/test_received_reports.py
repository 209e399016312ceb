"""Tests which report counts if two processes use one member number."""

from __future__ import annotations

from gantrymq.ha.election.election import FRESH_SECONDS, UNCLEAN_SECONDS
from gantrymq.ha.lease.lease import Lease
from gantrymq.ha.member.links.received_reports import ReceivedReports
from gantrymq.ha.protocol.handshake import MemberReport

EMPTY = MemberReport(0, (), 0, 0, is_electable=True, disk="e" * 32)
FULL = EMPTY._replace(disk="a" * 32, group="b" * 32)


def test_without_a_lease_a_disk_that_knows_the_group_counts_before_an_empty_one() -> None:
    """From reports of empty disks a group would be created that has none of its messages."""
    reports = ReceivedReports()
    reports.record(2, FULL, None, 10.0)
    reports.record(2, EMPTY, None, 10.1)
    assert reports.by_member[2].member_report == FULL
    reports.record(2, EMPTY, None, 10.0 + UNCLEAN_SECONDS)
    assert reports.by_member[2].member_report == EMPTY, "the other one was silent for too long"


def test_disk_that_the_lease_names_counts_before_another_one() -> None:
    reports = ReceivedReports()
    lease = Lease("1", epoch=4, in_sync=frozenset({1, 2}), disks={2: EMPTY.disk})
    reports.record(2, EMPTY, lease, 10.0)
    reports.record(2, FULL, lease, 10.1)
    assert reports.by_member[2].member_report == EMPTY
    reports.record(2, FULL, lease, 10.0 + FRESH_SECONDS)
    assert reports.by_member[2].member_report == FULL


def test_newer_report_of_the_same_disk_replaces_the_older_one() -> None:
    reports = ReceivedReports()
    reports.record(2, FULL, None, 10.0)
    reports.record(2, FULL._replace(end=500), None, 10.1)
    assert reports.by_member[2].member_report.end == 500
    assert reports.by_member[2].at == 10.1
