"""Names in and out of a namespace."""

from __future__ import annotations

import pytest

from gantrymq.client.core.message.namespace import unwrap, wrap


@pytest.mark.parametrize(
    ("name", "wrapped"),
    [
        ("orders", "ns%orders"),
        ("%RETRY%group", "%RETRY%ns%group"),
        ("%DLQ%group", "%DLQ%ns%group"),
    ],
)
def test_names_are_wrapped_once_and_come_back(name: str, wrapped: str) -> None:
    assert wrap("ns", name) == wrapped
    assert wrap("ns", wrapped) == wrapped
    assert unwrap("ns", wrapped) == name
    assert unwrap("ns", name) == name


@pytest.mark.parametrize(
    "name", ["TBW102", "RMQ_SYS_TRACE_TOPIC", "rmq_sys_wheel_timer", "CID_RMQ_SYS_TRANS", ""]
)
def test_system_names_are_not_wrapped(name: str) -> None:
    assert wrap("ns", name) == name


def test_without_a_namespace_nothing_happens() -> None:
    assert wrap("", "orders") == "orders"
    assert unwrap("", "ns%orders") == "ns%orders"
