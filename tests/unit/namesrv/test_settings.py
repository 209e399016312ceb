"""Tests that the settings have RocketMQ's keys."""

from __future__ import annotations

import json
from pathlib import Path

from gantrymq.base.configuration.properties import parse_properties
from gantrymq.base.configuration.settings import setting_fields
from gantrymq.namesrv.core.settings import (
    NameServerSettings,
    refused_keys,
)

VECTORS = Path(__file__).parents[2] / "vectors"
OWN = {
    "auditLogFile", "auditLogFileCount", "auditLogFileSize",
    "aclEnable", "aclFile", "brokerChannelExpiredTime", "listeners", "metricsBindAddress",
    "metricsPort", "metricsTokenFile", "secureDefaults", "warmUpSeconds",
    "maxConnections", "maxConnectionsExempt", "maxConnectionsPerAddress", "maxPeerMemory",
    "maxRequestsPerSecondPerAddress", "quotaDelayMaxMillis",
}  # fmt: skip


def test_every_key_of_java_and_some_of_our_own() -> None:
    capture = json.loads((VECTORS / "traffic-5.3.3.json").read_text())
    shown = next(e["response"]["bodyText"] for e in capture if e["request"]["code"] == 319)
    keys = {each.key for each in setting_fields(NameServerSettings)}
    assert keys == set(parse_properties(shown)) | OWN


def test_every_setting_is_described() -> None:
    assert all(each.about for each in setting_fields(NameServerSettings))


def test_an_empty_black_list_still_guards_itself() -> None:
    settings = NameServerSettings(config_black_list="")
    assert "configBlackList" in refused_keys(settings)
