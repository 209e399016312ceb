"""Tests that secrets are hidden, names become pseudonyms, and other values stay unchanged."""

from __future__ import annotations

import pytest

from gantrymq.cli.cluster.redaction import HIDDEN, Pseudonyms, without_secrets


@pytest.mark.parametrize(
    "key", ["secretKey", "accessKey", "tls.server.keyPassword", "apiToken", "aclCredentialsFile"]
)
def test_settings_with_secret_names_are_hidden(key: str) -> None:
    assert without_secrets({key: "hunter2", "listenPort": "10911"}) == {
        key: HIDDEN,
        "listenPort": "10911",
    }


def test_an_empty_secret_is_shown_as_empty() -> None:
    assert without_secrets({"secretKey": ""}) == {"secretKey": ""}


def test_a_name_has_the_same_pseudonym_everywhere() -> None:
    names = Pseudonyms({"topic": ["orders", "orders-paid"], "group": ["billing"]})
    at = "10.0.0.7:10911 10.0.0.8 10.0.0.7"
    told = names.applied_to({"orders": ["%RETRY%billing lags on orders-paid", 7], "at": at})
    assert told == {
        "topic-1": ["%RETRY%group-1 lags on topic-2", 7],
        "at": "host-1:10911 host-2 host-1",
    }


def test_names_of_rocketmq_and_short_names_are_kept() -> None:
    names = Pseudonyms({"topic": ["RMQ_SYS_TRACE_TOPIC", "T"], "cluster": ["DefaultCluster"]})
    text = "RMQ_SYS_TRACE_TOPIC T DefaultCluster"
    assert names.applied_to(text) == text


def test_without_names_only_addresses_change() -> None:
    assert Pseudonyms({}).applied_to(["orders", None, True, 1.5, "1.2.3.4"]) == [
        *("orders", None, True, 1.5, "host-1")
    ]
