"""Tests that the real programs accept the configuration files that the operator writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gantrymq.base.configuration.properties import parse_properties
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.core.settings import HaTls
from gantrymq.namesrv.configuration import load as load_name_server
from gantrymq.operator.plan.objects.pods.broker_config import broker_config, name_server_config
from gantrymq.operator.plan.objects.pods.replication_tls import LinkTls
from gantrymq.operator_model.samples import cluster
from gantrymq.runtime.security.certificates import TlsMode

PLAIN = LinkTls.ACCEPTED


def setup_of(tmp_path: Path, text: str) -> Setup:
    """What a broker in the pod orders-broker-0-1 reads."""
    secret = tmp_path / "secret"
    secret.write_text("s" * 32)
    file = tmp_path / "broker.conf"
    file.write_text(text.replace("/etc/gantry-secret/secret", str(secret)))
    pod = {"GANTRY_BROKER_IP1": "10.0.0.5", "GANTRY_BROKER_IP2": "10.0.0.5"}
    return load(file, pod | {"GANTRY_MEMBER_NUMBER": "2"}, {}, tmp_path / "data")


def test_a_broker_takes_the_file(tmp_path: Path) -> None:
    text = broker_config(
        cluster(config={"fileReservedTime": 48}), "broker-0", 2, "10.96.0.7", PLAIN
    )
    setup = setup_of(tmp_path, text)
    assert setup.unknown == {}
    assert setup.warnings == ()
    group = setup.group
    assert group is not None
    assert (group.number, group.min_in_sync, group.lease.name) == (2, 2, "orders-broker-0")
    assert group.lease.namespace == "mq"
    assert setup.identity.group_address == "10.96.0.7:10911"
    assert setup.identity.address == "10.0.0.5:10911"
    assert setup.store.file_reserved_time == 48


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, ("SYNC_MASTER", "ASYNC_FLUSH", "2")),
        ({"replication": "async", "flush": "sync"}, ("ASYNC_MASTER", "SYNC_FLUSH", "1")),
        ({"membersPerGroup": 3, "minInSyncReplicas": 3}, ("SYNC_MASTER", "ASYNC_FLUSH", "3")),
    ],
    ids=str,
)
def test_modes_are_those_of_the_spec(spec: dict[str, Any], expected: tuple[str, str, str]) -> None:
    wanted = cluster(**spec)
    values = parse_properties(
        broker_config(wanted, "broker-0", wanted.spec.members_per_group, "1", PLAIN)
    )
    found = values["brokerRole"], values["flushDiskType"], values["minInSyncReplicas"]
    assert found == expected


@pytest.mark.parametrize(
    ("server_mode", "links", "expected"),
    [
        ("", LinkTls.ACCEPTED, HaTls.ACCEPTED),
        ("", LinkTls.USED, HaTls.USED),
        ("", LinkTls.REQUIRED, HaTls.REQUIRED),
        ("enforcing", LinkTls.ACCEPTED, HaTls.ACCEPTED),
        ("enforcing", LinkTls.USED, HaTls.USED),
        ("enforcing", LinkTls.REQUIRED, HaTls.REQUIRED),
        ("disabled", LinkTls.NONE, HaTls.ACCEPTED),
        ("disabled", LinkTls.ACCEPTED, HaTls.ACCEPTED),
        ("disabled", LinkTls.USED, HaTls.USED),
    ],
)
def test_a_broker_reads_the_mode_of_its_links(
    tmp_path: Path, server_mode: str, links: LinkTls, expected: HaTls
) -> None:
    spec = {"config": {"tls.server.mode": server_mode}} if server_mode else {}
    setup = setup_of(tmp_path, broker_config(cluster(**spec), "broker-0", 2, "10.96.0.7", links))
    assert setup.links.tls is expected
    takes_tls = setup.tls.mode is not TlsMode.DISABLED
    assert takes_tls == (links is not LinkTls.NONE)


def test_a_group_of_one_acknowledges_alone(tmp_path: Path) -> None:
    text = broker_config(cluster(membersPerGroup=1), "broker-0", 1, "10.96.0.7", PLAIN)
    assert parse_properties(text)["minInSyncReplicas"] == "1"
    with pytest.raises(Exception, match="groupMembers only has 1"):
        setup_of(tmp_path, text)  # the pod of member 2 does not belong here


def test_an_ipv6_address_of_the_group_is_in_brackets() -> None:
    values = parse_properties(broker_config(cluster(), "broker-0", 2, "fd00::7", PLAIN))
    assert values["groupAddress"] == "[fd00::7]:10911"


def test_values_of_the_user_cannot_break_out_of_their_line() -> None:
    config = {"regionId": "a\nbrokerRole=SLAVE"}
    values = parse_properties(
        broker_config(cluster(config=config), "broker-0", 2, "10.96.0.7", PLAIN)
    )
    assert values["brokerRole"] == "SYNC_MASTER"
    assert values["regionId"] == "a\nbrokerRole=SLAVE"


def test_every_name_server_is_listed() -> None:
    values = parse_properties(
        broker_config(cluster(nameServers=3), "broker-0", 2, "10.96.0.7", PLAIN)
    )
    assert values["namesrvAddr"].count(";") == 2


@pytest.mark.parametrize(("address", "bound"), [("10.96.0.8", "0.0.0.0"), ("fd00::8", "::")])
def test_a_name_server_takes_the_file(tmp_path: Path, address: str, bound: str) -> None:
    file = tmp_path / "namesrv.conf"
    config = {"orderMessageEnable": "true"}
    file.write_text(name_server_config(cluster(nameServerConfig=config), address))
    setup = load_name_server(file, {}, {}, tmp_path)
    assert setup.warnings == ()
    assert setup.settings.order_message_enable
    assert setup.settings.bind_address == bound
    assert setup.settings.kv_config_path == "/data/kvConfig.json"
