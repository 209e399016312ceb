"""What settings mean for the links between master, slaves and members."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.core.settings import HaTls
from gantrymq.broker.setup.link_setup import LinkSetup

ALLOWED = {"haAllowUnauthenticatedSlaves": "true"}
ENFORCING = {"tls.server.mode": "enforcing"}


@pytest.fixture
def secret(tmp_path: Path) -> dict[str, str]:
    path = tmp_path / "secret"
    path.write_text("a secret of the group")
    return {"groupSecretFile": str(path)}


def setup_of(tmp_path: Path, **keys: str) -> Setup:
    file = tmp_path / "broker.conf"
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    return load(file, {}, {}, tmp_path / "data")


def links_of(tmp_path: Path, **keys: str) -> LinkSetup:
    return setup_of(tmp_path, **keys).links


def test_without_settings_slaves_of_java_may_follow(tmp_path: Path) -> None:
    links = links_of(tmp_path)
    assert links.takes_unproven
    assert links.tls is HaTls.ACCEPTED
    assert links.client_tls is None
    assert not setup_of(tmp_path).warnings


@pytest.mark.parametrize("mode", ["permissive", "disabled"])
def test_tls_that_is_not_enforced_asks_for_no_proof(tmp_path: Path, mode: str) -> None:
    assert links_of(tmp_path, **{"tls.server.mode": mode}).takes_unproven


@pytest.mark.parametrize("keys", [{"aclEnable": "true"}, ENFORCING])
def test_settings_that_protect_other_ports_protect_the_ha_port(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    assert not links_of(tmp_path, **keys).takes_unproven
    assert links_of(tmp_path, **keys, **ALLOWED).takes_unproven


def test_a_secret_asks_for_a_proof(tmp_path: Path, secret: dict[str, str]) -> None:
    assert not links_of(tmp_path, **secret).takes_unproven


def warnings_of(tmp_path: Path, **keys: str) -> str:
    return "\n".join(setup_of(tmp_path, **keys).warnings)


def test_warning_about_an_open_ha_port_names_the_settings_that_it_undoes(tmp_path: Path) -> None:
    told = warnings_of(tmp_path, aclEnable="true", **ENFORCING, **ALLOWED)
    assert "haAllowUnauthenticatedSlaves=true: any peer that reaches haListenPort may read" in told
    assert "although aclEnable=true and tls.server.mode=enforcing" in told
    assert "haAllow" not in warnings_of(tmp_path, **ALLOWED), "it undoes nothing"


def test_a_master_that_waits_for_slaves_that_cannot_come_says_so(
    tmp_path: Path, secret: dict[str, str]
) -> None:
    waits = {"aclEnable": "true", "brokerRole": "SYNC_MASTER"}
    assert "no slave may follow" in warnings_of(tmp_path, **waits)
    assert "no slave may follow" not in warnings_of(tmp_path, **secret, **waits)
    assert "no slave may follow" not in warnings_of(tmp_path, aclEnable="true")


def test_ha_port_is_closed_if_no_slave_could_be_accepted(
    tmp_path: Path, secret: dict[str, str]
) -> None:
    guarded = {"aclEnable": "true"}
    assert "there is no groupSecretFile" in links_of(tmp_path, **guarded).closed_because
    for keys in ({}, {**guarded, **secret}, {**guarded, **ALLOWED}):
        assert links_of(tmp_path, **keys).closed_because == ""
    assert links_of(tmp_path, haListen="false").closed_because == "haListen=false"


def test_a_master_that_waits_for_slaves_must_listen(tmp_path: Path) -> None:
    keys = {"brokerRole": "SYNC_MASTER", "haListen": "false"}
    with pytest.raises(
        ConfigurationError, match=r"haListen=false .*: must be true: brokerRole=SYNC_MASTER"
    ):
        links_of(tmp_path, **keys)


def test_slave_that_accepts_any_master_logs_a_warning(
    tmp_path: Path, secret: dict[str, str]
) -> None:
    slave = {"aclEnable": "true", "brokerRole": "SLAVE", "brokerId": "1"}
    assert "the master need not prove itself" in warnings_of(tmp_path, **slave)
    assert "the master need not" not in warnings_of(tmp_path, **secret, **slave)


def test_a_slave_that_takes_any_certificate_says_so(tmp_path: Path, secret: dict[str, str]) -> None:
    slave = {"haTls": "used", "brokerRole": "SLAVE", "brokerId": "1"}
    trusting = {"tls.client.trustCertPath": "/authority.pem"}
    assert "accepts any master" in warnings_of(tmp_path, **slave)
    assert "accepts any master" not in warnings_of(tmp_path, **slave, **trusting)
    assert "accepts any master" not in warnings_of(tmp_path, **slave, **secret)


def test_links_use_tls_where_it_is_enforced_and_as_the_setting_says(tmp_path: Path) -> None:
    assert links_of(tmp_path, **ENFORCING).tls is HaTls.REQUIRED
    assert links_of(tmp_path, **ENFORCING).client_tls is not None
    assert links_of(tmp_path, **ENFORCING, haTls="accepted").tls is HaTls.ACCEPTED
    assert links_of(tmp_path, haTls="used").tls is HaTls.USED
    assert links_of(tmp_path, haTls="used").client_tls is not None


def test_tls_is_not_used_where_it_is_not_taken(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"haTls=used .*: tls.server.mode=disabled accepts"
    ):
        links_of(tmp_path, haTls="used", **{"tls.server.mode": "disabled"})


def test_error_about_a_missing_secret_names_its_key(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"^groupSecretFile=/none .*: the file cannot be read"
    ):
        setup_of(tmp_path, groupSecretFile="/none")
