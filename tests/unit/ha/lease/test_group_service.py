"""What of a Service keeps clients from the master."""

from __future__ import annotations

import json

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.ha.lease.group_service import mistake

PORTS = ("broker", "fast", "ha")


def service(*names: str, selector: dict[str, str] | None = None) -> bytes:
    ports = [{"name": name, "port": 10911} if name else {"port": 10911} for name in names]
    spec = {"ports": ports} | ({"selector": selector} if selector else {})
    return json.dumps({"kind": "Service", "spec": spec}).encode()


@pytest.mark.parametrize("names", [PORTS, ("broker",)])
def test_service_with_the_right_port_names_is_accepted(names: tuple[str, ...]) -> None:
    assert mistake(service(*names), "orders-broker-0", PORTS) is None


@pytest.mark.parametrize("name", ["rocketmq", ""])
def test_port_with_another_name_is_reported(name: str) -> None:
    told = mistake(service("broker", name), "orders-broker-0", PORTS)
    assert told == (
        f"the Service orders-broker-0 has ports named {name!r}, which have no endpoint: the master"
        " publishes the ports broker, fast, ha, so give the Service's ports these names"
    )


def test_service_with_a_selector_is_reported() -> None:
    told = mistake(service(*PORTS, selector={"app": "x"}), "orders-broker-0", PORTS)
    assert told is not None
    assert "remove the selector" in told


def test_object_that_is_not_a_service_is_refused() -> None:
    with pytest.raises(RemoteError):
        mistake(b'{"spec": {"ports": 7}}', "orders-broker-0", PORTS)
