"""Settings from files, the environment and keywords."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from pathlib import Path
from typing import get_type_hints

import pytest

from gantrymq.acl.signature.signature import Credentials, is_signed, signed
from gantrymq.base.errors import ConfigurationError
from gantrymq.client.aio.consumer_names import LITE_NAMES, PUSH_NAMES
from gantrymq.client.aio.machinery.configuration import (
    CLIENT_NAMES,
    DOMAIN,
    SUBGROUP,
    ClientKeywords,
    choose,
)
from gantrymq.client.aio.machinery.environment import Identity
from gantrymq.client.aio.machinery.producer_keywords import PRODUCER_NAMES, ProducerKeywords
from gantrymq.client.core.group.allocation import MachineRoom
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.runtime.security.certificates import ClientTls
from gantrymq.wire.command import Command
from gantrymq.wire.message.compression import CompressionType


def chosen(
    environment: dict[str, str] | None = None, **keywords: object
) -> tuple[ClientSettings, Identity, ProducerSettings]:
    return choose(ProducerSettings, PRODUCER_NAMES, keywords, environment or {})


def test_keywords_override_the_environment_which_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "namesrvAddr=f1:1;f2:2\nsendMsgTimeout=5000\nretryTimesWhenSendFailed=7\n"
        "rocketmq.message.compressType=zstd\nsomebodysOwn=1\nunitName=u\n"
    )
    environment = {"NAMESRV_ADDR": "http://e:9876; e2:9876"}
    client, _, settings = chosen(environment, properties_file=file, retries=1)
    assert client.name_servers == ("e:9876", "e2:9876")
    assert client.unit_name == "u"
    assert (settings.send_timeout_s, settings.retries) == (5.0, 1)
    assert settings.compression is CompressionType.ZSTD
    client, _, _ = chosen(environment, properties_file=file, name_servers=["k:1"])
    assert client.name_servers == ("k:1",)
    assert chosen({}, properties_file=file)[0].name_servers == ("f1:1", "f2:2")


@pytest.mark.parametrize("given", ["a:1;b:2", "a:1, b:2;", ["a:1", "b:2"]])
def test_name_servers_are_parsed_in_many_forms(given: str | list[str]) -> None:
    assert chosen({"NAMESRV_ADDR": "c:3"}, name_servers=given)[0].name_servers == ("a:1", "b:2")


def test_the_environment_names_the_name_servers_if_no_setting_does() -> None:
    assert chosen({"NAMESRV_ADDR": "c:3"}, name_servers="")[0].name_servers == ("c:3",)
    assert chosen({}, name_servers="")[0].name_servers == ()


def test_an_invalid_value_is_named(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("sendMsgTimeout=soon\n")
    with pytest.raises(ConfigurationError, match="sendMsgTimeout=soon cannot be used"):
        chosen(properties_file=file)
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        chosen(properties_file=tmp_path / "none")
    with pytest.raises(ConfigurationError, match="sendtimeout: no such setting; there are acc"):
        chosen(sendtimeout=3)
    with pytest.raises(ConfigurationError, match="belong together"):
        chosen(access_key="me")
    with pytest.raises(ConfigurationError, match="retries=-1 must be a whole number from 0 on"):
        chosen(retries=-1)


def test_keywords_override_the_credentials_and_tls_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("accessKey=reader\nsecretKey=12345678\nuseTLS=true\n")
    _, identity, _ = chosen(properties_file=file)
    assert identity.credentials is not None
    assert identity.credentials.access_key == "reader"
    assert identity.tls is not None
    _, other, _ = chosen(properties_file=file, access_key="writer", secret_key=file.name, tls=False)
    assert other.credentials is not None
    assert (other.credentials.access_key, other.tls) == ("writer", None)
    assert chosen(tls=ClientTls())[1] == chosen(tls=ClientTls())[1]


def test_temporary_keys_have_a_token(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("accessKey=reader\nsecretKey=12345678\nsecurityToken=from-file\n")
    _, identity, _ = chosen(properties_file=file)
    assert identity.credentials is not None
    assert identity.credentials == Credentials("reader", "12345678", "from-file")
    _, identity, _ = chosen(access_key="reader", secret_key=file.name, security_token=file.stem)
    assert identity.credentials is not None
    request = signed(Command(310, ext={"b": "T", "a": "G"}), identity.credentials)
    assert request.ext is not None
    assert list(request.ext) == ["b", "a", "AccessKey", "SecurityToken", "Signature"]
    assert request.ext["SecurityToken"] == file.stem
    assert is_signed(request, file.name)
    request.ext["SecurityToken"] = "another"
    assert not is_signed(request, file.name)


@pytest.mark.parametrize(
    ("texts", "url"),
    [
        ({DOMAIN: "names.example"}, "http://names.example:8080/rocketmq/nsaddr"),
        (
            {DOMAIN: "names.example:80", SUBGROUP: "mine", "unitName": "u"},
            "http://names.example:80/rocketmq/mine-u?nofix=1",
        ),
    ],
)
def test_a_domain_gives_the_url_of_the_name_server_list(texts: dict[str, str], url: str) -> None:
    assert chosen(texts)[0].name_server_url == url
    assert chosen(texts, name_server_url="http://x/y")[0].name_server_url == "http://x/y"


def test_an_endpoint_may_name_the_namespace() -> None:
    client, _, _ = chosen(name_servers="http://MQ_INST_12_abc.mq.example.com:80")
    assert client.namespace == "MQ_INST_12_abc"
    assert chosen(name_servers="n:1", namespace="mine")[0].namespace == "mine"


def test_every_setting_has_a_keyword_and_every_name_a_setting() -> None:
    client = {each.name for each in dataclasses.fields(ClientSettings)}
    producer = {each.name for each in dataclasses.fields(ProducerSettings)}
    assert client <= set(get_type_hints(ClientKeywords))
    assert producer | client <= set(get_type_hints(ProducerKeywords))
    assert {field for field, _ in CLIENT_NAMES.values()} <= client
    assert {field for field, _ in PRODUCER_NAMES.values()} <= producer


def test_consumers_are_configured_by_rocketmqs_names(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text(
        "consumeTimeout=2\npullThresholdSizeForQueue=3\nsuspendCurrentQueueTimeMillis=1500\n"
        "consumeFromWhere=CONSUME_FROM_FIRST_OFFSET\nautoCommitIntervalMillis=9000\n"
        "pullThresholdForTopic=-1\npullThresholdSizeForTopic=64\nmaxReconsumeTimes=3\n"
        "allocateMessageQueueStrategy=MACHINE_ROOM:east,west\n"
        "consumeTimestamp=20260102030405\n"
    )
    _, _, push = choose(ConsumeSettings, PUSH_NAMES, {"properties_file": file}, {})
    assert (push.consume_timeout_s, push.pull_threshold_bytes, push.suspend_s) == (
        120,
        3 << 20,
        1.5,
    )
    assert push.consume_from is ConsumeFrom.FIRST_OFFSET
    assert (push.topic_pull_threshold, push.topic_pull_threshold_bytes) == (None, 64 << 20)
    assert push.allocate == MachineRoom(frozenset({"east", "west"}))
    assert push.max_reconsume_times == 3
    assert push.consume_timestamp_ms == datetime(2026, 1, 2, 3, 4, 5).astimezone().timestamp() * 1e3
    _, _, lite = choose(LiteSettings, LITE_NAMES, {"properties_file": file}, {})
    assert (lite.auto_commit_s, lite.consume_from) == (9.0, ConsumeFrom.FIRST_OFFSET)
    with pytest.raises(ConfigurationError, match="consume_tread: no such setting"):
        choose(ConsumeSettings, PUSH_NAMES, {"consume_tread": 3}, {})
