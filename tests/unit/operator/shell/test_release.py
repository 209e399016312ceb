"""Tests which finalizers `gantry operator release` keeps."""

from __future__ import annotations

from gantrymq.operator.plan.deletion import FINALIZER as CLUSTER
from gantrymq.operator.shell.release import remaining
from gantrymq.operator.topics.values import FINALIZER as TOPIC


def test_only_finalizers_of_gantry_are_removed() -> None:
    assert remaining([TOPIC, "example.com/keep", CLUSTER]) == ["example.com/keep"]
