"""The last Lease that a member has seen: the file's bytes, damage, and what counts as new."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.ha.lease import lease_copy
from gantrymq.ha.lease.lease import Lease, OperatorRequests
from gantrymq.store.layout import StoreRefusedError
from gantrymq.testing.faulty_disk import FaultyDisk
from gantrymq.wire.jsonvalue import JsonObject

GROUP, ONE, TWO = "a" * 32, "c" * 32, "d" * 32
LEASE = Lease(
    "",
    group=GROUP,
    epoch=3,
    renewals=12,
    granted=2,
    holder=1,
    address="10.0.0.1:10911",
    ha_address="10.0.0.1:10912",
    in_sync=frozenset({2, 1}),
    disks={2: TWO, 1: ONE},
    writer="71" * 16,
)
GOLDEN = (
    b'GLC1\x6a\x21\x2a\x69{"address":"10.0.0.1:10911","disks":{"1":"%b","2":"%b"},"epoch":3,"granted":2,'
    b'"group":"%b","haAddress":"10.0.0.1:10912","heir":0,"holder":1,"inSync":[1,2],"leaver":0,'
    b'"renewals":12,"writer":"%b"}' % (ONE.encode(), TWO.encode(), GROUP.encode(), b"71" * 16)
)


def data_of(said: JsonObject) -> bytes:
    """A file that says this, with a sum that is right."""
    return lease_copy._FILE.encode(said)


def test_the_bytes_are_as_described() -> None:
    assert lease_copy.encode(LEASE) == GOLDEN
    assert lease_copy.decode(GOLDEN) == LEASE


def test_what_is_written_survives_a_loss_of_power() -> None:
    disk = FaultyDisk()
    assert lease_copy.read(disk) is None
    lease_copy.write(disk, LEASE)
    assert lease_copy.read(disk.crash()) == LEASE


def test_what_an_operator_wants_and_the_version_are_not_kept() -> None:
    noisy = replace(
        LEASE, version="77", fenced=frozenset({2}), operator_requests=OperatorRequests(preferred=2)
    )
    assert lease_copy.decode(lease_copy.encode(noisy)) == LEASE


def test_damage_anywhere_is_refused_with_what_to_do() -> None:
    for at in range(len(GOLDEN)):
        flipped = GOLDEN[:at] + bytes([GOLDEN[at] ^ 1]) + GOLDEN[at + 1 :]
        for wrong in (flipped, GOLDEN[:at]):
            with pytest.raises(StoreRefusedError, match=r"lease is damaged.*store archive"):
                lease_copy.decode(wrong)


@pytest.mark.parametrize(
    "said",
    [
        {"inSync": [1]},
        {"disks": {"one": ONE}, "inSync": [1]},
        {"disks": {"1": [7]}, "inSync": [1]},
        {"disks": {}, "inSync": ["one"]},
        {"disks": {}, "inSync": [1], "epoch": "three"},
    ],
)
def test_a_content_that_is_no_lease_is_refused(said: JsonObject) -> None:
    with pytest.raises(StoreRefusedError, match="lease is damaged"):
        lease_copy.decode(data_of(said))


def test_fields_that_are_absent_or_of_a_later_version_do_no_harm() -> None:
    assert lease_copy.decode(data_of({"disks": {}, "inSync": []})) == Lease("")
    later: JsonObject = {"disks": {"1": ONE}, "inSync": [1], "epoch": 4, "more": {}}
    expected = Lease("", epoch=4, in_sync=frozenset({1}), disks={1: ONE})
    assert lease_copy.decode(data_of(later)) == expected


def test_a_renewal_alone_is_not_new() -> None:
    assert lease_copy.is_new(LEASE, None)
    assert not lease_copy.is_new(replace(LEASE, renewals=13, version="78"), LEASE)


@pytest.mark.parametrize(
    "changed",
    [
        replace(LEASE, epoch=4),
        replace(LEASE, holder=0),
        replace(LEASE, in_sync=frozenset({1})),
        replace(LEASE, disks={1: ONE, 2: ONE}),
        replace(LEASE, successor=2),
        replace(LEASE, leaver=1),
        replace(LEASE, address="10.0.0.9:10911"),
        replace(LEASE, group="b" * 32),
    ],
)
def test_any_other_change_is_new(changed: Lease) -> None:
    assert lease_copy.is_new(changed, LEASE)
