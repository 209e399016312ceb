"""Tests what a name server logs about its ports when it starts."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.namesrv.core.exposure import exposed
from gantrymq.namesrv.core.settings import NameServerSettings


def told(settings: NameServerSettings, *, is_encrypted: bool = False) -> list[str]:
    """The part of each sentence before its consequence."""
    return [each.partition(":")[0] for each in exposed(settings, is_encrypted=is_encrypted)]


def test_by_default_both_ports_are_open_on_all_addresses() -> None:
    assert told(NameServerSettings()) == [
        "listenPort=9876 is open on all addresses without authentication and TLS",
        "metricsPort=5558 is open on all addresses without authentication",
    ]


def test_a_protected_name_server_says_nothing() -> None:
    settings = NameServerSettings(acl_enable=True, metrics_token_file="token")
    assert told(settings, is_encrypted=True) == []
    assert told(settings) == ["listenPort=9876 is open on all addresses without TLS"]


def test_each_listener_is_told() -> None:
    settings = NameServerSettings(
        listeners="inside:127.0.0.1:9876,outside:10.0.0.1:9877", metrics_port=0
    )
    assert told(settings) == [
        "listeners, outside=9877 is open on 10.0.0.1 without authentication and TLS"
    ]


def test_the_metrics_port_may_have_an_address_of_its_own() -> None:
    settings = NameServerSettings(bind_address="127.0.0.1", metrics_bind_address="10.0.0.1")
    assert told(settings) == ["metricsPort=5558 is open on 10.0.0.1 without authentication"]
    assert told(replace(settings, metrics_bind_address="")) == []
