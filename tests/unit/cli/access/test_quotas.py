"""Tests `gantry quota` with brokers in virtual time."""

from __future__ import annotations

import re

import pytest

from gantrymq.base.errors import GantryError
from gantrymq.cli.frame.failures import UsageError
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.fakes.command_line import page_of, printed
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command


@pytest.fixture
def cluster() -> Cluster:
    return Cluster("a", "b", topics={"T": 1})


def shown(cluster: Cluster) -> list[list[str]]:
    return [row[1:] for row in printed(cluster, "quota list -b {broker}")[1:]]


def test_quota_is_set_and_deleted_at_each_master(cluster: Cluster) -> None:
    made = printed(
        cluster, "quota set user billing --produceBytesPerSecond 10MiB --requestsPerSecond 2000"
    )
    assert made[1] == [
        "the",
        "quota",
        "of",
        "user",
        "billing",
        "is",
        "set",
        "at",
        "127.0.0.1:10921.",
    ]
    assert printed(cluster, "quota list")[1:] == [
        [address, "user", "billing", *limit]
        for address in cluster.addresses
        for limit in (["produceBytesPerSecond", "10485760"], ["requestsPerSecond", "2000"])
    ]
    printed(cluster, "quota set user billing --requestsPerSecond none")
    assert shown(cluster) == [["user", "billing", "produceBytesPerSecond", "10485760"]]
    printed(cluster, "quota set user billing --produceBytesPerSecond unlimited")
    assert shown(cluster) == [["user", "billing", "produceBytesPerSecond", "unlimited"]]
    printed(cluster, "quota delete user billing")
    assert shown(cluster) == []


def test_use_of_quotas_is_shown(cluster: Cluster) -> None:
    printed(cluster, "quota set topic T --storageBytes 1MiB")
    titles, *rows = printed(cluster, "quota list --use")
    assert titles[4:] == ["#Allowed", "#Used", "#DelayMillis"]
    assert all(row[1:5] == ["topic", "T", "storageBytes", "1048576"] for row in rows)


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("quota set group g", "kind group can have --consumeBytesPerSecond, --requestsPerSecond"),
        ("quota set topic T --requestsPerSecond 0", "it has to be at least 1"),
        ("quota set topic T --storageBytes 10MB", "'10MB'"),
    ],
)
def test_invalid_limits_are_refused(cluster: Cluster, line: str, what: str) -> None:
    with pytest.raises(GantryError, match=re.escape(what)):
        page_of(cluster, line)


def test_refusals_say_how_to_fix_them(cluster: Cluster) -> None:
    failures = page_of(cluster, "quota set group g --storageBytes 1GiB").failures
    assert "a quota of kind group cannot have storageBytes" in str(failures[0])
    failures = page_of(cluster, "quota delete topic T").failures
    assert "`gantry quota list` shows those that there are" in str(failures[0])
    with pytest.raises(UsageError):
        page_of(cluster, "quota delete nonsense T")


@pytest.mark.parametrize("line", ["quota list", "quota delete topic T"])
def test_broker_without_quotas_is_explained(cluster: Cluster, line: str) -> None:
    refusal = Command(
        ResponseCode.REQUEST_CODE_NOT_SUPPORTED, remark="request type 1 not supported"
    )
    for code in (RequestCode.GANTRY_LIST_QUOTAS, RequestCode.GANTRY_DELETE_QUOTA):
        cluster.faults[code] = lambda _, __: refusal
    (failure,) = page_of(cluster, f"{line} -b {cluster.addresses[0]}").failures
    assert str(failure) == (
        "127.0.0.1:10911 has no quotas: brokers of RocketMQ and of older versions of Gantry do not"
        " support them"
    )
