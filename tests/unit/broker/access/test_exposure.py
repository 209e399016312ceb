"""What a broker says of its ports when it starts."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.broker.core.access.exposure import Protection, exposed
from gantrymq.broker.core.settings import BrokerSettings

OPEN = Protection(is_encrypted=False, takes_any_slave=True)
CLOSED = Protection(is_encrypted=True, takes_any_slave=False)
DEFAULTS = BrokerSettings(ha_listen_port=10912)


def told(settings: BrokerSettings, protection: Protection) -> list[str]:
    """The part of each sentence before its consequence."""
    return [each.partition(":")[0] for each in exposed(settings, protection)]


def test_by_default_every_port_is_open_on_all_addresses() -> None:
    assert told(DEFAULTS, OPEN) == [
        "listenPort=10911 is open on all addresses without authentication and TLS",
        "haListenPort=10912 is open on all addresses without a proof",
        "metricsPort=5557 is open on all addresses without authentication",
    ]


def test_each_sentence_names_the_settings_that_help() -> None:
    clients, replication, metrics = exposed(DEFAULTS, OPEN)
    assert "delete messages and topics; set aclEnable=true and aclFile" in clients
    assert "copy all messages" in replication
    assert "groupSecretFile, haBindAddress, or haListen=false" in replication
    assert "metricsTokenFile, metricsBindAddress, or metricsPort=0" in metrics


def test_with_accounts_alone_the_network_still_reads() -> None:
    settings = replace(DEFAULTS, acl_enable=True, metrics_port=0)
    (sentence,) = exposed(settings, replace(CLOSED, is_encrypted=False))
    assert "without TLS: what clients send and read can be read on the network" in sentence


def test_with_tls_alone_every_client_may_still_do_anything() -> None:
    (sentence,) = exposed(replace(DEFAULTS, metrics_port=0), CLOSED)
    assert "without authentication: any client may read, send and delete" in sentence


def test_a_protected_broker_says_nothing() -> None:
    settings = replace(DEFAULTS, acl_enable=True, metrics_token_file="token")
    assert exposed(settings, CLOSED) == ()


def test_users_with_policies_protect_a_broker_as_accounts_do() -> None:
    settings = replace(DEFAULTS, authentication_enabled=True, authorization_enabled=True)
    assert exposed(replace(settings, metrics_port=0), CLOSED) == ()


def test_users_without_policies_are_said_to_be_allowed_everything() -> None:
    settings = replace(DEFAULTS, authentication_enabled=True, metrics_port=0)
    (sentence,) = exposed(settings, CLOSED)
    assert "without authorization: every user may read, send and delete" in sentence
    assert "set authorizationEnabled=true" in sentence
    (sentence,) = exposed(settings, replace(CLOSED, is_encrypted=False))
    assert "without authorization and TLS: every user may" in sentence
    assert sentence.endswith("tls.server.certPath and keyPath")


def test_policies_protect_nothing_without_users() -> None:
    (sentence,) = exposed(replace(DEFAULTS, authorization_enabled=True, metrics_port=0), CLOSED)
    assert "without authentication: any client may read, send and delete" in sentence


def test_ports_with_addresses_of_their_own_are_told_by_these() -> None:
    settings = replace(
        DEFAULTS,
        bind_address="127.0.0.1",
        ha_bind_address="10.0.0.1",
        metrics_bind_address="10.0.0.2",
    )
    assert told(settings, OPEN) == [
        "haListenPort=10912 is open on 10.0.0.1 without a proof",
        "metricsPort=5557 is open on 10.0.0.2 without authentication",
    ]
    assert told(replace(DEFAULTS, bind_address="127.0.0.1"), OPEN) == []
