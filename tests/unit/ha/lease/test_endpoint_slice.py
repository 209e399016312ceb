"""Where the group's Service leads."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.ha.lease.endpoint_slice import (
    FOREIGN_MAX,
    Endpoint,
    EndpointSlice,
    deletion,
    encode,
    foreign,
    read,
)
from gantrymq.ha.lease.lease_object import ObjectName

SERVICE = ObjectName("mq", "main-broker-0")
PORTS = {"broker": 10911, "fast": 10909, "ha": 10912}


def endpoint(epoch: int, ip: str = "10.0.0.2") -> Endpoint:
    return Endpoint(epoch, ip, PORTS)


# Any: JSON, as a test takes it apart.
def content_of(endpoint: Endpoint, before: EndpointSlice | None = None) -> dict[str, Any]:
    data = encode(endpoint, before, SERVICE)
    assert data is not None
    value: dict[str, Any] = json.loads(data)
    return value


def kept(endpoint: Endpoint) -> EndpointSlice:
    content = content_of(endpoint)
    content["metadata"] |= {"resourceVersion": "3", "uid": "u-1", "generation": 1}
    return read(json.dumps(content).encode())


def test_one_endpoint_with_all_ports() -> None:
    content = content_of(endpoint(5))
    assert content["kind"] == "EndpointSlice"
    assert content["metadata"]["name"] == "main-broker-0-master"
    assert content["metadata"]["labels"]["kubernetes.io/service-name"] == "main-broker-0"
    assert content["metadata"]["annotations"] == {"gantrymq.dev/epoch": "5"}
    assert content["addressType"] == "IPv4"
    [only] = content["endpoints"]
    assert only["addresses"] == ["10.0.0.2"]
    assert only["conditions"]["ready"]
    assert {each["name"]: each["port"] for each in content["ports"]} == PORTS


def test_a_newer_master_replaces_it_and_keeps_what_is_not_ours() -> None:
    content = content_of(endpoint(6, "10.0.0.3"), kept(endpoint(5)))
    assert content["metadata"]["resourceVersion"] == "3"
    assert content["metadata"]["generation"] == 1
    assert content["endpoints"][0]["addresses"] == ["10.0.0.3"]


def test_it_never_goes_back() -> None:
    with pytest.raises(RemoteError, match="of epoch 6, and this one is of epoch 5"):
        encode(endpoint(5), kept(endpoint(6, "10.0.0.3")), SERVICE)


def test_unchanged_slice_is_not_written() -> None:
    assert encode(endpoint(5), kept(endpoint(5)), SERVICE) is None


def test_a_repaired_endpoint_is_written_in_the_same_epoch() -> None:
    assert encode(endpoint(5), kept(endpoint(5, "10.0.0.9")), SERVICE) is not None


def test_ipv6_address_type_is_written() -> None:
    assert content_of(endpoint(5, "fd00::2"))["addressType"] == "IPv6"


def test_node_and_pod_are_written_if_known() -> None:
    [only] = content_of(Endpoint(5, "10.0.0.2", PORTS, "node-a", "broker-0-1", "u-1"))["endpoints"]
    assert only["nodeName"] == "node-a"
    assert only["targetRef"] == {
        "kind": "Pod",
        "namespace": "mq",
        "name": "broker-0-1",
        "uid": "u-1",
    }
    [only] = content_of(endpoint(5))["endpoints"]
    assert set(only) == {"addresses", "conditions"}


def test_another_node_is_written_in_the_same_epoch() -> None:
    moved = Endpoint(5, "10.0.0.2", PORTS, "node-b")
    assert encode(moved, kept(endpoint(5)), SERVICE) is not None


def test_an_object_of_the_other_address_type_is_not_continued() -> None:
    before = kept(endpoint(5))
    moved = endpoint(6, "fd00::2")
    assert not before.can_become(moved)
    assert before.can_become(endpoint(6, "10.0.0.9"))
    content = content_of(moved, before)
    assert content["addressType"] == "IPv6"
    assert not content["metadata"].keys() & {"uid", "resourceVersion", "generation"}


def test_of_a_newer_master_no_object_is_deleted() -> None:
    with pytest.raises(RemoteError, match="of epoch 6"):
        encode(endpoint(5, "fd00::2"), kept(endpoint(6)), SERVICE)


def test_only_the_state_that_was_read_is_deleted() -> None:
    assert json.loads(deletion(kept(endpoint(5))))["preconditions"] == {"resourceVersion": "3"}


@pytest.mark.parametrize("edited", ["five", "-1", "9" * 19, 5, None])
def test_unreadable_epoch_of_a_slice_is_overwritten_like_a_higher_one(edited: object) -> None:
    content = content_of(endpoint(5))
    content["metadata"] |= {"resourceVersion": "3", "annotations": {"gantrymq.dev/epoch": edited}}
    before = read(json.dumps(content).encode())
    if edited is not None:
        with pytest.raises(RemoteError, match="of an epoch that is not a number"):
            encode(endpoint(5), before, SERVICE)
    data = encode(endpoint(5), before, SERVICE, overruled="3")
    assert data is not None
    assert json.loads(data)["metadata"]["annotations"]["gantrymq.dev/epoch"] == "5"


def test_the_version_that_is_overruled_is_replaced_whatever_its_epoch() -> None:
    later = kept(endpoint(9))
    with pytest.raises(RemoteError, match="once it has renewed its Lease"):
        encode(endpoint(5), later, SERVICE, overruled="2")
    data = encode(endpoint(5), later, SERVICE, overruled="3")
    assert data is not None
    assert json.loads(data)["metadata"]["annotations"]["gantrymq.dev/epoch"] == "5"


def slices(*names: str) -> bytes:
    return json.dumps({"items": [{"metadata": {"name": each}} for each in names]}).encode()


def test_the_slice_of_the_master_is_no_foreign_one() -> None:
    assert foreign(slices("main-broker-0-master"), "main-broker-0") == ()
    assert foreign(slices(), "main-broker-0") == ()
    [told] = foreign(slices("main-broker-0-master", "x"), "main-broker-0")
    assert told == "EndpointSlice x: kubectl delete endpointslice x"


def test_foreign_slices_are_bounded_and_sorted() -> None:
    told = foreign(slices(*(f"s-{100 - each}" for each in range(50))), "main-broker-0")
    assert len(told) == FOREIGN_MAX
    assert list(told) == sorted(told)


@pytest.mark.parametrize("data", [b"", b"[]", b'{"items": [7]}', b'{"items": [{}]}'])
def test_what_is_no_list_of_slices_is_refused(data: bytes) -> None:
    with pytest.raises(RemoteError):
        foreign(data, "main-broker-0")
