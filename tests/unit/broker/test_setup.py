"""What a broker is before it starts: its role, its id, and where slaves find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.core.settings import BrokerRole

EXAMPLES = Path(__file__).parents[3] / "examples" / "conf"


def setup(folder: Path, **flags: str) -> Setup:
    return load(None, {}, {"brokerIP1": "10.0.0.1", **flags}, folder)


def test_a_slave_needs_an_id(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^Slave's brokerId must be > 0"):
        setup(tmp_path, brokerRole="SLAVE")


def test_a_slave_has_the_id_that_it_was_given(tmp_path: Path) -> None:
    chosen = setup(tmp_path, brokerRole="SLAVE", brokerId="3")
    assert (chosen.identity.broker_id, chosen.identity.is_master) == (3, False)
    assert chosen.settings.broker_role is BrokerRole.SLAVE


@pytest.mark.parametrize("role", ["ASYNC_MASTER", "SYNC_MASTER"])
def test_broker_id_of_a_master_is_zero_despite_the_setting(tmp_path: Path, role: str) -> None:
    chosen = setup(tmp_path, brokerRole=role, brokerId="3")
    assert (chosen.identity.broker_id, chosen.settings.broker_id) == (0, 0)
    assert chosen.warnings == (
        f"brokerId=3 is ignored: a master has brokerId 0, and brokerRole is {role}",
    )


def test_a_slave_holds_less_of_its_log_for_recent(tmp_path: Path) -> None:
    slave = setup(tmp_path, brokerRole="SLAVE", brokerId="1")
    assert slave.store.access_message_in_memory_max_ratio == 30
    small = setup(tmp_path, brokerRole="SLAVE", brokerId="1", accessMessageInMemoryMaxRatio="4")
    assert small.store.access_message_in_memory_max_ratio == 1
    assert setup(tmp_path).store.access_message_in_memory_max_ratio == 40


def test_ha_port_is_the_next_port_unless_another_is_set(tmp_path: Path) -> None:
    plain = setup(tmp_path, listenPort="20911", brokerIP2="10.1.0.1")
    assert (plain.identity.ha_address, plain.settings.ha_listen_port) == ("10.1.0.1:20912", 20912)
    assert setup(tmp_path, haListenPort="7").identity.ha_address == "10.0.0.1:7"
    with pytest.raises(ConfigurationError, match="give haListenPort"):
        setup(tmp_path, listenPort="65535")


def test_a_masters_address_has_a_port(tmp_path: Path) -> None:
    slave = {"brokerRole": "SLAVE", "brokerId": "1"}
    assert setup(tmp_path, **slave, haMasterAddress="m:10912").settings.ha_master_address
    with pytest.raises(ConfigurationError, match=r"^haMasterAddress=10\.0\.0\.2: "):
        setup(tmp_path, **slave, haMasterAddress="10.0.0.2")


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("brokerIP1", "broker 1", "must be an IP address or a name"),
        ("brokerIP1", "10.1", "must be an IP address or a name"),
        ("brokerIP1", "no-label-is-so-long" * 4, "has no address on this machine"),
        ("brokerIP1", "10.0.0.1:10911", "without a port"),
        ("messageDelayLevel", "1s 5x", "must be numbers with s, m, h or d"),
        ("messageDelayLevel", "", "one at least"),
        ("deleteWhen", "25", "must be hours from 00 to 23"),
        ("regionId", "r" * 128, "at most 127 printable characters"),
    ],
)
def test_error_about_an_unusable_value_names_its_key_and_line(
    tmp_path: Path, key: str, value: str, told: str
) -> None:
    file = tmp_path / "broker.conf"
    file.write_text(f"# ours\n{key}={value}\n")
    with pytest.raises(ConfigurationError) as caught:
        load(file, {}, {}, tmp_path)
    assert str(caught.value).startswith(f"{key}={value} (file {file}, line 2): ")
    assert told in str(caught.value)


def test_broker_address_may_be_ipv4_or_ipv6(tmp_path: Path) -> None:
    for address in ("10.0.0.1", "::1", "fe80::1%eth0"):
        assert setup(tmp_path, brokerIP1=address).settings.broker_ip1 == address


def test_broker_address_may_be_a_name(tmp_path: Path) -> None:
    """Messages hold the address that it has here."""
    identity = setup(tmp_path, brokerIP1="localhost", listenPort="1234").identity
    assert identity.address == "localhost:1234"
    assert identity.stored_address in ("127.0.0.1:1234", "[::1]:1234")
    assert identity.ha_address == "localhost:1235"


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_the_examples_are_two_masters_with_a_slave_each(tmp_path: Path, kind: str) -> None:
    files = sorted((EXAMPLES / f"2m-2s-{kind}").iterdir())
    setups = [load(file, {}, {"brokerIP1": "10.0.0.1"}, tmp_path) for file in files]
    master = BrokerRole(f"{kind.upper()}_MASTER")
    assert [(each.identity.name, each.settings.broker_role) for each in setups] == [
        ("broker-a", BrokerRole.SLAVE),
        ("broker-a", master),
        ("broker-b", BrokerRole.SLAVE),
        ("broker-b", master),
    ]
    assert not any(each.warnings or each.unknown for each in setups)
    ports = [
        port
        for each in setups
        for port in (
            each.settings.listen_port,
            each.settings.listen_port - 2,
            each.settings.ha_listen_port,
            each.settings.metrics_port,
        )
    ]
    assert len(set(ports)) == len(ports)
