"""The lease as the Kubernetes API keeps it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.ha.lease import Lease, Wishes
from gantrymq.ha.lease_object import OBJECT_BYTES_MAX, LeaseObject, ObjectName, encode, read

PLACE = ObjectName("mq", "main-broker-0")
LEASE = Lease(
    "7", 2, "10.0.0.2:10911", "10.0.0.2:10912", 5, frozenset({1, 2}), frozenset({3}),
    1, 3, 99, 4, Wishes(preferred=1, switch_to=2, number=4, allows_unclean=True),
)  # fmt: skip

numbers = st.integers(0, 10**12)
members = st.frozensets(st.integers(1, 64), min_size=1, max_size=5)
leases = st.builds(
    Lease,
    version=st.just("7"),
    holder=st.integers(0, 9),
    address=st.just("10.0.0.2:10911"),
    ha_address=st.just("[fd00::2]:10912"),
    epoch=st.integers(1, 10**12),
    in_sync=members,
    fenced=st.frozensets(st.integers(1, 64), max_size=3),
    heir=numbers,
    renewals=numbers,
    granted=numbers,
    wishes=st.builds(Wishes, numbers, numbers, numbers, st.booleans()),
)


# Any: JSON, as a test takes it apart.
def content_of(
    lease: Lease, before: LeaseObject | None = None, wall_ms: int = 1_700_000_000_123
) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(encode(lease, before, PLACE, wall_ms))
    return value


def kept(lease: Lease, **annotations: str | None) -> bytes:
    """As the API has it once it was written; None takes an annotation away."""
    content = content_of(lease)
    content["metadata"] |= {"resourceVersion": "7", "uid": "u-1"}
    notes = content["metadata"]["annotations"]
    for name, value in annotations.items():
        key = "gantrymq.dev/" + name.replace("_", "-")
        notes[key] = value
        if value is None:
            del notes[key]
    return json.dumps(content).encode()


@given(leases)
def test_what_was_written_is_read(lease: Lease) -> None:
    assert read(kept(lease)).lease == lease


def test_the_fields_that_every_tool_knows() -> None:
    content = content_of(replace(LEASE, version=""))
    assert content["apiVersion"] == "coordination.k8s.io/v1"
    assert content["kind"] == "Lease"
    assert content["metadata"]["name"] == "main-broker-0"
    assert content["metadata"]["namespace"] == "mq"
    assert "resourceVersion" not in content["metadata"]
    assert "ownerReferences" not in content["metadata"]
    assert content["spec"] == {
        "holderIdentity": "2",
        "leaseDurationSeconds": 4,
        "acquireTime": "2023-11-14T22:13:20.123000Z",
        "renewTime": "2023-11-14T22:13:20.123000Z",
        "leaseTransitions": 1,
    }


def test_a_lease_without_a_holder_has_an_empty_one() -> None:
    free = replace(LEASE, holder=0, address="", ha_address="")
    assert content_of(free)["spec"]["holderIdentity"] == ""
    assert read(kept(free)).lease == free


def test_what_is_not_ours_stays() -> None:
    theirs = json.loads(kept(LEASE))
    theirs["metadata"]["annotations"]["example.com/team"] = "mail"
    theirs["metadata"]["annotations"]["gantrymq.dev/note"] = "of a later version"
    theirs["metadata"]["labels"] = {"app": "mq"}
    theirs["metadata"]["finalizers"] = ["example.com/keep"]
    theirs["spec"]["strategy"] = "example.com/own"
    before = read(json.dumps(theirs).encode())
    written = content_of(replace(LEASE, renewals=100), before)
    assert written["metadata"].pop("annotations") == theirs["metadata"].pop("annotations") | {
        "gantrymq.dev/renewals": "100"
    }
    assert written["metadata"] == theirs["metadata"]
    assert written["spec"]["strategy"] == "example.com/own"


def test_the_version_that_is_to_be_replaced_is_said_with_the_uid() -> None:
    metadata = content_of(LEASE, read(kept(LEASE)))["metadata"]
    assert (metadata["resourceVersion"], metadata["uid"]) == ("7", "u-1")


def test_transitions_count_masters_not_renewals() -> None:
    before = read(kept(LEASE))
    renewed = content_of(replace(LEASE, renewals=100), before, 1_700_000_001_000)["spec"]
    assert renewed["leaseTransitions"] == 1
    assert renewed["acquireTime"] == "2023-11-14T22:13:20.123000Z"
    assert renewed["renewTime"] == "2023-11-14T22:13:21.000000Z"
    next_one = content_of(replace(LEASE, epoch=6), before, 1_700_000_001_000)["spec"]
    assert next_one["leaseTransitions"] == 2
    assert next_one["acquireTime"] == "2023-11-14T22:13:21.000000Z"


def test_an_operator_may_make_it_with_wishes_alone() -> None:
    data = json.dumps({
        "kind": "Lease",
        "metadata": {"resourceVersion": "1", "annotations": {"gantrymq.dev/preferred": "2"}},
    })  # fmt: skip
    assert read(data.encode()).lease == Lease("1", wishes=Wishes(preferred=2))


@pytest.mark.parametrize(
    "annotations",
    [
        {"epoch": None},
        {"epoch": "5x"},
        {"epoch": "-1"},
        {"epoch": "05"},
        {"epoch": "9" * 19},
        {"in_sync": None},
        {"in_sync": ""},
        {"in_sync": "1,,2"},
        {"in_sync": "0"},
        {"in_sync": "1, 2"},
        {"in_sync": ",".join(map(str, range(1, 70)))},
        {"fenced": "one"},
        {"address": None},
        {"ha_address": None},
        {"ha_address": "10.0.0.2"},
        {"ha_address": "a" * 300 + ":1"},
        {"allow_unclean": "yes"},
        {"switch_number": "1.5"},
    ],
)
def test_a_damaged_annotation_is_told_by_its_name(annotations: dict[str, str | None]) -> None:
    name = next(iter(annotations)).replace("_", "-")
    with pytest.raises(RemoteError, match=f"gantrymq.dev/{name} is "):
        read(kept(LEASE, **annotations))


def test_somebody_elses_lease_is_left_alone() -> None:
    content = json.loads(kept(LEASE))
    content["spec"]["holderIdentity"] = "node-a_0f3e"
    with pytest.raises(RemoteError, match="somebody else uses"):
        read(json.dumps(content).encode())


def test_what_is_no_lease_is_told() -> None:
    with pytest.raises(RemoteError, match="'Status' where a Lease belongs"):
        read(b'{"kind": "Status"}')
    with pytest.raises(RemoteError):
        read(b"<html>")
    with pytest.raises(RemoteError, match="at most"):
        read(b" " * (OBJECT_BYTES_MAX + 1))
