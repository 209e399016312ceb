"""Tests when the host's firewall needs a rule for the cluster's bridge."""

from __future__ import annotations

import pytest

from cluster.local import network


@pytest.mark.parametrize(
    ("rules", "filtered"),
    [
        ("-P FORWARD ACCEPT\n", False),
        ("", False),
        ("-P FORWARD DROP\n", True),
        ("-P FORWARD ACCEPT\n-A FORWARD -j DOCKER-USER\n", True),
    ],
)
def test_forwarding_is_filtered_by_a_policy_or_a_rule(rules: str, *, filtered: bool) -> None:
    assert network.forwarding_is_filtered(rules) is filtered
