"""Tests that the condition Secured has the texts that servers log at their start."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.access.exposure import Protection, exposed
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.operator.plan.status.exposure import open_ports
from gantrymq.operator_model.samples import cluster
from gantrymq.operator_model.world import World

PROTECTED = {"aclEnable": "true", "tls.server.mode": "enforcing", "metricsTokenFile": "/t"}


def test_an_open_cluster_says_of_each_port_what_its_servers_log() -> None:
    found = open_ports(cluster().spec)
    logged = exposed(BrokerSettings(), Protection(is_encrypted=False, takes_any_slave=False))
    assert [each for each in found if each.startswith("brokers: ")] == [
        f"brokers: {each}" for each in logged
    ]
    assert [each.partition(" is open ")[0] for each in found] == [
        "brokers: listenPort=10911", "brokers: metricsPort=5557",
        "name servers: listenPort=9876", "name servers: metricsPort=5558",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("config", "lacks"),
    [
        ({"aclEnable": "true"}, "without TLS:"),
        ({"tls.server.mode": "enforcing"}, "without authentication:"),
        ({}, "without authentication and TLS:"),
    ],
)
def test_what_the_settings_protect_is_not_open(config: dict[str, str], lacks: str) -> None:
    assert lacks in open_ports(cluster(config=config).spec)[0]


def test_a_cluster_that_its_settings_protect_has_no_open_port() -> None:
    assert open_ports(cluster(config=PROTECTED, nameServerConfig=PROTECTED).spec) == ()


def test_the_condition_of_a_secure_cluster_is_true() -> None:
    made = World({"security": {"profile": "secure"}}, nodes=3)
    conditions = {each["type"]: each for each in made.settle().status["conditions"]}
    assert conditions["Secured"]["status"] == "True"
