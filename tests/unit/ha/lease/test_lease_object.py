"""The lease as the Kubernetes API keeps it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.errors import RemoteError
from gantrymq.ha.lease.lease import EPOCH_MAX, Lease, OperatorRequests
from gantrymq.ha.lease.lease_object import (
    OBJECT_BYTES_MAX,
    SWITCH_NUMBER_MAX,
    LeaseObject,
    ObjectName,
    encode,
    full_seal_of,
    read,
    seal_of,
)

PLACE = ObjectName("mq", "main-broker-0")
LEASE = Lease(
    "7", 2, "10.0.0.2:10911", "10.0.0.2:10912", 5, frozenset({1, 2}), frozenset({3}),
    1, 3, 99, 4, OperatorRequests(preferred=1, switch_to=2, number=4, allows_unclean=True),
    group="ab" * 16, disks={1: "01" * 16, 2: "02" * 16}, writer="71" * 16,
)  # fmt: skip

numbers = st.integers(0, 10**12)
members = st.frozensets(st.integers(1, 64), min_size=1, max_size=5)
leases = st.builds(
    Lease,
    version=st.just("7"),
    holder=st.integers(0, 9),
    address=st.just("10.0.0.2:10911"),
    ha_address=st.just("[fd00::2]:10912"),
    epoch=st.integers(1, EPOCH_MAX),
    in_sync=members,
    fenced=st.frozensets(st.integers(1, 64), max_size=3),
    successor=numbers,
    renewals=numbers,
    granted=numbers,
    operator_requests=st.builds(
        OperatorRequests, numbers, numbers, st.integers(0, SWITCH_NUMBER_MAX), st.booleans()
    ),
    group=st.sampled_from(["", "ab" * 16]),
    disks=st.dictionaries(st.integers(1, 64), st.sampled_from(["01" * 16, "02" * 16]), max_size=3),
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
    notes = written["metadata"].pop("annotations")
    assert notes == theirs["metadata"].pop("annotations") | {
        "gantrymq.dev/renewals": "100",
        "gantrymq.dev/seal": seal_of(replace(LEASE, renewals=100)),
        "gantrymq.dev/seal-2": full_seal_of(replace(LEASE, renewals=100)),
    }
    assert written["metadata"] == theirs["metadata"]
    assert written["spec"]["strategy"] == "example.com/own"


def test_replaced_version_and_uid_are_written() -> None:
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


def test_operator_may_create_the_lease_with_requests_only() -> None:
    data = json.dumps({
        "kind": "Lease",
        "metadata": {"resourceVersion": "1", "annotations": {"gantrymq.dev/preferred": "2"}},
    })  # fmt: skip
    assert read(data.encode()).lease == Lease("1", operator_requests=OperatorRequests(preferred=2))


@pytest.mark.parametrize(
    "annotations",
    [
        {"epoch": None},
        {"epoch": "5x"},
        {"epoch": "-1"},
        {"epoch": "05"},
        {"epoch": "9" * 19},
        {"epoch": str(EPOCH_MAX + 1)},
        {"renewals": str(2**53 + 1)},
        {"group_id": "main"},
        {"disks": "1=disk"},
        {"seal": None},
        {"seal": "0" * 32},
        {"writer": "process"},
        {"in_sync": None},
        {"in_sync": ""},
        {"in_sync": "1,,2"},
        {"in_sync": "0"},
        {"in_sync": "1, 2"},
        {"in_sync": ",".join(map(str, range(1, 70)))},
        {"address": None},
        {"ha_address": None},
        {"ha_address": "10.0.0.2"},
        {"ha_address": "a" * 300 + ":1"},
    ],
)
def test_lease_with_a_damaged_annotation_is_untrusted(annotations: dict[str, str | None]) -> None:
    name = next(iter(annotations)).replace("_", "-")
    lease = read(kept(LEASE, **annotations)).lease
    assert f"gantrymq.dev/{name} is " in (lease.untrusted_reason or "")
    assert (lease.version, lease.operator_requests, lease.fenced) == (
        "7",
        LEASE.operator_requests,
        LEASE.fenced,
    )


@pytest.mark.parametrize(
    "annotations",
    [
        {"epoch": "6"},
        {"in_sync": "1"},
        {"heir": "3"},
        {"renewals": "100"},
        {"disks": f"1={'03' * 16},2={'02' * 16}"},
        {"group_id": "cd" * 16},
        {"address": "10.0.0.250:10911"},
        {"ha_address": "10.0.0.250:10912"},
        {"granted": "4000"},
        {"writer": "72" * 16},
        {"writer": None},
        {"seal_2": seal_of(LEASE) + "-" + "0" * 32},
    ],
)
def test_an_edit_breaks_the_seal(annotations: dict[str, str | None]) -> None:
    assert "the Lease was edited" in (read(kept(LEASE, **annotations)).lease.untrusted_reason or "")


def test_another_holder_breaks_the_seal() -> None:
    content = json.loads(kept(LEASE))
    content["spec"]["holderIdentity"] = "1"
    assert read(json.dumps(content).encode()).lease.untrusted_reason is not None


def test_lease_of_a_version_without_groups_is_trusted() -> None:
    assert read(kept(replace(LEASE, group="", disks={}, writer=""))).lease.untrusted_reason is None


def test_lease_with_one_seal_is_trusted_and_names_no_writer() -> None:
    lease = read(kept(LEASE, seal_2=None, writer=None)).lease
    assert lease == replace(LEASE, writer="")


def test_a_broker_of_that_version_renews_what_a_newer_one_wrote() -> None:
    """It leaves annotations that it does not know as they were."""
    seal = seal_of(replace(LEASE, renewals=100))
    lease = read(kept(LEASE, renewals="100", seal=seal)).lease
    assert lease == replace(LEASE, renewals=100, writer="")


@pytest.mark.parametrize(
    ("name", "text", "operator_requests", "fenced"),
    [
        ("preferred", "broker-2", {"preferred": 0}, {3}),
        ("switch_to", "1.5", {"switch_to": 0}, {3}),
        ("switch_number", "-1", {"number": 0}, {3}),
        ("allow_unclean", "yes", {"allows_unclean": False}, {3}),
        ("fenced", "one, 2", {}, {2}),
        ("fenced", "1, 2", {}, {1, 2}),
    ],
)
def test_operator_request_that_cannot_be_parsed_is_ignored_and_reported(
    name: str, text: str, operator_requests: dict[str, Any], fenced: set[int]
) -> None:
    found = read(kept(LEASE, **{name: text}))
    assert found.lease == replace(
        LEASE,
        operator_requests=replace(LEASE.operator_requests, **operator_requests),
        fenced=frozenset(fenced),
    )
    assert len(found.ignored) == (text != "1, 2")
    assert all(f"gantrymq.dev/{name.replace('_', '-')} is " in each for each in found.ignored)


def test_operator_requests_stay_as_written() -> None:
    before = read(kept(LEASE, preferred="broker-2"))
    notes = content_of(replace(LEASE, renewals=100), before)["metadata"]["annotations"]
    assert notes["gantrymq.dev/preferred"] == "broker-2"


def test_the_lease_of_another_program_is_left_alone() -> None:
    content = json.loads(kept(LEASE))
    content["spec"]["holderIdentity"] = "node-a_0f3e"
    content["metadata"]["annotations"] = {}
    with pytest.raises(RemoteError, match="another program uses this Lease"):
        read(json.dumps(content).encode())


@pytest.mark.parametrize("edited", ["node-a_0f3e", "0", "-1", 2])
def test_lease_with_an_edited_holder_is_untrusted(edited: object) -> None:
    content = json.loads(kept(LEASE))
    content["spec"]["holderIdentity"] = edited
    found = read(json.dumps(content).encode())
    assert f"spec.holderIdentity is '{edited}', which is not the number of a member" in str(
        found.lease.untrusted_reason
    )
    assert content_of(LEASE, found)["spec"]["holderIdentity"] == "2"


@pytest.mark.parametrize(
    ("found", "written"), [(7, 8), (2**31 - 1, 2**31 - 1), (2**40, 2**31 - 1), (-5, 1), ("x", 1)]
)
def test_the_count_of_transitions_stays_one_that_the_api_takes(found: object, written: int) -> None:
    content = json.loads(kept(LEASE))
    content["spec"]["leaseTransitions"] = found
    before = read(json.dumps(content).encode())
    after = content_of(replace(LEASE, epoch=6), before)
    assert after["spec"]["leaseTransitions"] == written


def test_number_of_a_switchover_is_bounded() -> None:
    found = read(kept(LEASE, **{"switch-number": str(SWITCH_NUMBER_MAX + 1)}))
    assert found.lease.operator_requests.number == 0
    assert "a number up to 1000000000" in found.ignored[0]


def test_object_of_another_kind_is_refused() -> None:
    with pytest.raises(RemoteError, match="'Status' instead of a Lease"):
        read(b'{"kind": "Status"}')
    with pytest.raises(RemoteError):
        read(b"<html>")
    with pytest.raises(RemoteError, match="at most"):
        read(b" " * (OBJECT_BYTES_MAX + 1))
