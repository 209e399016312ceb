"""Which settings may change while the broker runs, and when a change counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gantrymq.base.configuration.settings import Changes, setting_fields
from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.engine.configuration import (
    WAITING_MAX,
    Change,
    Configuration,
    Refusal,
)
from gantrymq.broker.core.processor.admin.java_keys import JAVA_KEYS
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.store.settings import StoreSettings
from gantrymq.wire.codes import ResponseCode

SOURCES = Path(__file__).parents[4] / "broker" / "gantrymq"
AT_ONCE = {
    each.name
    for each in (*setting_fields(BrokerSettings), *setting_fields(StoreSettings))
    if each.changes is Changes.AT_ONCE
}
NO_EFFECT = {"fetch_namesrv_addr_by_address_server", "reject_pull_consumer_enable"}


def configuration() -> Configuration:
    return Configuration(BrokerSettings(), StoreSettings(), wall_ms=5)


def changed(config: Configuration, **values: str) -> None:
    change = config.ask(values)
    assert isinstance(change, Change)
    config.commit(change, wall_ms=9)


def refusal(config: Configuration, **values: str) -> Refusal:
    refused = config.ask(values)
    assert isinstance(refused, Refusal)
    return refused


def test_a_change_counts_when_the_file_has_it() -> None:
    config = configuration()
    change = config.ask({"traceOn": " false ", "defaultQueryMaxNum": "7"})
    assert isinstance(change, Change)
    assert config.content() == b"traceOn=false\ndefaultQueryMaxNum=7\n"
    assert config.broker == BrokerSettings()
    config.commit(change, wall_ms=9)
    assert config.broker == BrokerSettings(trace_on=False)
    assert config.store == StoreSettings(default_query_max_num=7)
    assert (config.version.counter, config.version.timestamp_ms) == (1, 9)


def test_a_change_that_was_not_written_never_was() -> None:
    config = configuration()
    change = config.ask({"traceOn": "false"})
    assert isinstance(change, Change)
    config.drop(change)
    assert config.content() == b""
    assert config.broker == BrokerSettings()
    assert config.version.counter == 0


@pytest.mark.parametrize("region", ["r" * 128, "a\x02TAGS\x01b", "a\nb"])
def test_a_region_fits_into_each_message(region: str) -> None:
    assert (
        "must be at most 127 printable characters" in refusal(configuration(), regionId=region).text
    )
    changed(configuration(), regionId="Ostschweiz 1")


def test_changes_count_in_their_order() -> None:
    config = configuration()
    first, second = config.ask({"regionId": "a"}), config.ask({"regionId": "b"})
    assert isinstance(first, Change)
    assert isinstance(second, Change)
    assert config.content() == b"regionId=b\n"
    config.commit(first, 9)
    config.commit(second, 9)
    assert config.broker.region_id == "b"


def test_the_file_keeps_what_was_changed_before_the_start() -> None:
    config = configuration()
    config.load(b"regionId=a\nforLaterVersions=1\ntransactionCheckMax=0\n")
    changed(config, traceOn="false")
    assert config.content() == b"regionId=a\nforLaterVersions=1\ntraceOn=false\n"


def test_a_file_that_is_none_is_told() -> None:
    with pytest.raises(RemoteError):
        configuration().load(b"key=\\u12")


def test_the_black_list_refuses_in_javas_words() -> None:
    config = configuration()
    never = ("brokerConfigPath", "configBlackList", "rocketmqHome", "configStorePath")
    for key in (*never, "aclEnable", "aclFile", "groupSecretFile", "haAllowUnauthenticatedSlaves"):
        refused = refusal(config, traceOn="false", **{key: "x"})
        assert refused == Refusal(
            ResponseCode.NO_PERMISSION, "Can not update config in black list."
        )


def test_a_refusal_names_every_key_and_what_is_allowed() -> None:
    text = refusal(
        configuration(),
        traceOn="perhaps",
        transactionCheckMax="0",
        listenPort="1",
        traceOm="true",
        regionId="fine",
    ).text
    assert "traceOn=perhaps: must be true or false" in text
    assert "transactionCheckMax=0: must be a whole number from 1" in text
    assert "listenPort is read when the broker starts" in text
    assert "traceOm is not a setting known here; did you mean traceOn?" in text
    assert "regionId" not in text


def test_one_fault_refuses_all() -> None:
    config = configuration()
    refusal(config, regionId="fine", listenPort="1")
    assert config.content() == b""


def test_changes_that_wait_for_the_disk_are_bounded() -> None:
    config = configuration()
    for _ in range(WAITING_MAX):
        assert isinstance(config.ask({"regionId": "a"}), Change)
    assert refusal(config, regionId="b").code is ResponseCode.SYSTEM_BUSY


def test_all_keys_are_shown_in_order_with_unknown_ones() -> None:
    config = configuration()
    config.unknown = {"brokerFastFailureEnable": "true", "traceOn": "never counts"}
    texts = config.texts()
    assert list(texts) == sorted(texts)
    assert texts["brokerFastFailureEnable"] == "true"
    assert texts["traceOn"] == "true"
    assert texts["mappedFileSizeCommitLog"] == str(1 << 30)


def test_secrets_are_hidden() -> None:
    broker = BrokerSettings(
        metrics_grpc_exporter_header="Authorization:Bearer 7c9e1f",
        init_authentication_user='{"username":"root","password":"7c9e1f"}',
    )
    config = Configuration(broker, StoreSettings(), wall_ms=5)
    config.unknown = {"someonesPassword": "7c9e1f", "someOther": "shown"}
    texts = config.texts()
    assert texts["metricsGrpcExporterHeader"] == "***"
    assert texts["initAuthenticationUser"] == "***"
    assert texts["someonesPassword"] == "***"
    assert texts["someOther"] == "shown"


@pytest.mark.parametrize("name", sorted(AT_ONCE - NO_EFFECT))
def test_what_counts_at_once_is_read_where_it_is_used(name: str) -> None:
    """From the state's or the store's settings at that moment, not from a copy."""
    uses = re.compile(rf"settings\.{name}\b")
    sources = [path for path in SOURCES.rglob("*.py") if path.name != "settings.py"]
    assert any(uses.search(path.read_text()) for path in sources)


def test_keys_of_java_are_keys() -> None:
    assert all(re.fullmatch(r"[a-z][A-Za-z0-9]*[A-Z][A-Za-z0-9]*", key) for key in JAVA_KEYS)
    own = setting_fields(BrokerSettings) + setting_fields(StoreSettings)
    assert JAVA_KEYS.isdisjoint(field.key for field in own)
