"""Tests which events of BrokerClusters count as changes."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.shell.handlers import Changes

Json = dict[str, Any]


def resource(version: str = "1", **metadata: Any) -> Json:
    return {"metadata": {"uid": "u", "resourceVersion": version, "generation": 1} | metadata}


def test_a_write_of_the_status_is_no_change() -> None:
    changes = Changes()
    assert changes.is_one(None, resource())

    assert not changes.is_one("MODIFIED", resource("2"))


@pytest.mark.parametrize(
    "metadata",
    [
        {"generation": 2},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"finalizers": ["gantrymq.dev/cluster"]},
        {"labels": {"a": "b"}},
        {"annotations": {"a": "b"}},
        {"uid": "another"},
    ],
)
def test_everything_else_is_a_change(metadata: Json) -> None:
    changes = Changes()
    changes.is_one("ADDED", resource())

    assert changes.is_one("MODIFIED", resource("2", **metadata))


def test_a_deletion_is_a_change_and_is_forgotten() -> None:
    changes = Changes()
    changes.is_one("ADDED", resource())

    assert changes.is_one("DELETED", resource("2"))
    assert changes.is_one("ADDED", resource("3"))
