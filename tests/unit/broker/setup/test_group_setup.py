"""What settings may say of a group that elects its master, and what is told of the rest."""

from __future__ import annotations

from pathlib import Path

import pytest

from gantrymq.base.configuration.settings import bind, file_layer
from gantrymq.base.errors import ConfigurationError
from gantrymq.broker.configuration import Setup, load
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.setup import group_setup
from gantrymq.broker.setup.group_setup import GroupSetup, Pod
from gantrymq.broker.setup.lease_name import default_name
from gantrymq.ha.lease.lease_object import ObjectName

MEMBERS = "1=broker-0:10912, 2=broker-1:10912,3=[fd00::3]:10912"


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    path = tmp_path / "secret"
    path.write_bytes(b"  0123456789abcdef\n")
    return path


def setup_of(tmp_path: Path, secret: Path, **settings: str) -> Setup:
    """As a start reads it, in a file."""
    values = {
        "brokerName": "Broker-A",
        "brokerClusterName": "Main",
        "brokerIP1": "10.0.0.1",
        "groupMembers": MEMBERS,
        "groupSecretFile": str(secret),
        "leaseNamespace": "mq",
        "memberNumber": "2",
        **settings,
    }
    file = tmp_path / "broker.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
    return load(file, {}, {}, tmp_path / "data")


def group_of(tmp_path: Path, secret: Path, **settings: str) -> GroupSetup:
    group = setup_of(tmp_path, secret, **settings).group
    assert group is not None
    return group


def test_fixed_roles_have_no_group(tmp_path: Path) -> None:
    setup = load(None, {}, {}, tmp_path)
    assert setup.group is None
    assert not setup.identity.is_elected


def test_member_publishes_its_ip_address(tmp_path: Path, secret: Path) -> None:
    with pytest.raises(ConfigurationError, match="must be an IP address where groupMembers"):
        setup_of(tmp_path, secret, brokerIP1="localhost")


def test_defaults_of_a_group(tmp_path: Path, secret: Path) -> None:
    addresses = {1: "broker-0:10912", 2: "broker-1:10912", 3: "[fd00::3]:10912"}
    former = ObjectName("mq", "main-broker-a")
    lease = ObjectName("mq", default_name("Main", "Broker-A"))
    assert group_of(tmp_path, secret) == GroupSetup(
        2, addresses, lease, "", "", 1, former_lease=former
    )


def test_a_lease_that_is_named_has_no_other_place(tmp_path: Path, secret: Path) -> None:
    group = group_of(tmp_path, secret, leaseName="main-broker-a")
    assert (group.lease, group.former_lease) == (ObjectName("mq", "main-broker-a"), None)


def test_a_member_follows_until_it_is_elected(tmp_path: Path, secret: Path) -> None:
    setup = setup_of(tmp_path, secret, groupAddress="10.9.0.1:10911")
    identity = setup.identity
    assert (identity.member, identity.broker_id, setup.settings.broker_id) == (2, 2, 2)
    assert not identity.is_master
    assert identity.address == "10.0.0.1:10911"
    assert identity.group_address == "10.9.0.1:10911"


def test_sync_master_needs_two_in_sync_members(tmp_path: Path, secret: Path) -> None:
    assert group_of(tmp_path, secret, brokerRole="SYNC_MASTER").min_in_sync == 2
    three = {"brokerRole": "SYNC_MASTER", "minInSyncReplicas": "3"}
    assert group_of(tmp_path, secret, **three).min_in_sync == 3


def test_ids_and_masters_of_fixed_roles_are_warned_of(tmp_path: Path, secret: Path) -> None:
    warnings = setup_of(tmp_path, secret, brokerId="7", haMasterAddress="10.0.0.9:10912").warnings
    assert any("brokerId=7 is ignored" in each for each in warnings)
    assert any("haMasterAddress is ignored" in each for each in warnings)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("brokerRole", "SLAVE", "set ASYNC_MASTER, or SYNC_MASTER"),
        ("groupMembers", "broker-0:10912", "does not begin with a number from 1 to 64 and ="),
        ("groupMembers", "0=a:1", "with a number from 1 to 64"),
        ("groupMembers", "65=a:1", "with a number from 1 to 64"),
        ("groupMembers", "2=a:1,2=b:1", "member 2 occurs twice"),
        ("groupMembers", "1=a:1,2=a:1", "two members have the same address"),
        ("groupMembers", "2=a", 'address "a" is not host:port'),
        ("groupMembers", "2=a:1,", "with a number from 1 to 64"),
        ("memberNumber", "4", "groupMembers only has 1, 2, 3"),
        ("groupSecretFile", "", "requires a file with the group's secret"),
        ("groupSecretFile", "/none/secret", "cannot be read: No such file"),
        ("leaseName", "Main_A", "lower-case letters, digits"),
        ("leaseNamespace", "m q", "set the namespace"),
        ("leaseUrl", "10.0.0.1:443", "must be http://host:port"),
        ("publishService", "Broker A", "must be the name of a Service"),
        ("groupAddress", "broker.mq:10911", "must be ip or ip:port"),
        ("groupAddress", "broker.mq", "a name is not allowed"),
        ("groupAddress", "10.96.0.7:", "must be ip or ip:port"),
        ("groupAddress", "10.96.0.7:0", "ports begin at 1"),
        ("groupAddress", "10.96.0.7:65536", "must be ip or ip:port"),
        ("groupAddress", "[10.96.0.7]", "must be ip or ip:port"),
        ("groupAddress", "[fd00::7", "must be ip or ip:port"),
        ("minInSyncReplicas", "4", "set 1 to 3"),
    ],
)
def test_error_about_an_invalid_value_names_its_key_and_file(
    tmp_path: Path, secret: Path, key: str, value: str, told: str
) -> None:
    role = {} if key == "brokerRole" else {"brokerRole": "SYNC_MASTER"}
    with pytest.raises(ConfigurationError) as caught:
        setup_of(tmp_path, secret, **role, **{key: value})
    text = str(caught.value)
    assert text.startswith(f"{key}={value} (file ")
    assert "broker.properties, line " in text
    assert told in text


def test_a_secret_that_is_no_secret(tmp_path: Path) -> None:
    short = tmp_path / "short"
    short.write_bytes(b"fifteen bytes!!\n \n")
    with pytest.raises(ConfigurationError, match=r"has 15 bytes.*openssl rand"):
        setup_of(tmp_path, short)


def test_a_service_is_named(tmp_path: Path, secret: Path) -> None:
    assert group_of(tmp_path, secret, publishService="main-broker-a").service == "main-broker-a"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("10.96.0.7", "10.96.0.7:10911"),
        ("10.96.0.7:8000", "10.96.0.7:8000"),
        ("fd00::7", "[fd00::7]:10911"),
        ("[fd00::7]", "[fd00::7]:10911"),
        ("[fd00::7]:8000", "[fd00::7]:8000"),
        ("", ""),
    ],
)
def test_the_groups_address_has_the_brokers_port_where_it_says_none(
    tmp_path: Path, secret: Path, said: str, meant: str
) -> None:
    setup = setup_of(tmp_path, secret, groupAddress=said)
    assert setup.group is not None
    assert setup.group.address == setup.identity.group_address == meant


def test_a_port_that_is_any_is_no_port_of_the_groups_address(tmp_path: Path, secret: Path) -> None:
    keys = {"groupAddress": "10.96.0.7", "listenPort": "0", "haListenPort": "1"}
    with pytest.raises(ConfigurationError, match="set ip:port"):
        setup_of(tmp_path, secret, **keys)


def pod_of(tmp_path: Path, secret: Path, environment: dict[str, str]) -> Setup:
    """As a pod has it: what all members share in a file, the rest by the downward API."""
    file = tmp_path / "broker.properties"
    shared = {
        "brokerName": "broker-0",
        "groupMembers": "1=orders-broker-0-0.m:10912,2=orders-broker-0-1.m:10912",
        "groupSecretFile": str(secret),
        "leaseNamespace": "mq",
    }
    file.write_text("".join(f"{key}={value}\n" for key, value in shared.items()))
    return load(file, environment, {}, tmp_path / "data")


@pytest.mark.parametrize(
    ("ip", "address", "bind"),
    [("10.1.0.9", "10.1.0.9:10911", "0.0.0.0"), ("fd00::9", "[fd00::9]:10911", "::")],
)
def test_pod_is_read_from_the_environment(
    tmp_path: Path, secret: Path, ip: str, address: str, bind: str
) -> None:
    environment = {
        "GANTRY_BROKER_IP1": ip,
        "GANTRY_MEMBER_NUMBER": "2",
        "NODE_NAME": "node-a",
        "POD_NAME": "orders-broker-0-1",
        "POD_UID": "u-1",
    }
    setup = pod_of(tmp_path, secret, environment)
    assert setup.identity.address == address
    assert setup.identity.ha_address == address.replace("10911", "10912")
    assert setup.settings.bind_address == bind
    assert setup.group is not None
    assert setup.group.number == 2
    assert setup.group.pod == Pod("node-a", "orders-broker-0-1", "u-1")


def test_an_address_to_bind_that_was_said_stays(tmp_path: Path, secret: Path) -> None:
    environment = {
        "GANTRY_BIND_ADDRESS": "0.0.0.0",
        "GANTRY_BROKER_IP1": "fd00::9",
        "GANTRY_BROKER_IP2": "fd00::8",
        "GANTRY_MEMBER_NUMBER": "1",
    }
    setup = pod_of(tmp_path, secret, environment)
    assert setup.settings.bind_address == "0.0.0.0"
    assert setup.identity.ha_address == "[fd00::8]:10912"


def test_the_names_of_a_pod_with_our_prefix_win() -> None:
    environment = {"NODE_NAME": "old", "GANTRY_NODE_NAME": " node-a ", "GANTRY_POD_NAME": ""}
    assert Pod.of(environment) == Pod("node-a")


def test_the_port_of_a_service_does_not_stop_a_pod(tmp_path: Path, secret: Path) -> None:
    environment = {
        "GANTRY_HA_LISTEN_PORT": "tcp://10.0.0.2:10912",
        "GANTRY_MEMBER_NUMBER": "1",
        "GANTRY_METRICS_PORT": "tcp://10.0.0.1:5557",
    }
    setup = pod_of(tmp_path, secret, environment)
    assert (setup.settings.metrics_port, setup.settings.ha_listen_port) == (5557, 10912)
    links = [each for each in setup.warnings if "set enableServiceLinks: false" in each]
    assert [each.partition("=")[0] for each in links] == [
        "GANTRY_HA_LISTEN_PORT",
        "GANTRY_METRICS_PORT",
    ]


def test_a_name_that_cannot_name_a_lease(tmp_path: Path, secret: Path) -> None:
    with pytest.raises(
        ConfigurationError, match=r"main-broker_a-[0-9a-f]+ is not a valid name of a Lease"
    ):
        setup_of(tmp_path, secret, brokerName="broker_a")


@pytest.mark.parametrize(("host", "number"), [("broker-0-1", 2), ("mq-2", 3), ("broker-0", 1)])
def test_the_number_is_the_ordinals(secret: Path, host: str, number: int) -> None:
    assert by_host(secret, host).number == number


def by_host(secret: Path, host: str, namespace: str = "mq") -> GroupSetup:
    text = f"groupMembers={MEMBERS}\ngroupSecretFile={secret}\nbrokerName=a\n"
    bound = bind(BrokerSettings, [file_layer(text, "broker.properties")])
    group = group_setup.read(bound, bound.settings, host, namespace)
    assert group is not None
    return group


def test_a_host_that_is_not_in_the_group(secret: Path) -> None:
    with pytest.raises(ConfigurationError, match="broker-0-3, this broker is member 4"):
        by_host(secret, "broker-0-3")
    with pytest.raises(ConfigurationError, match="mail, does not end in a number"):
        by_host(secret, "mail")


def test_without_a_pod_the_namespace_is_asked_for(secret: Path) -> None:
    with pytest.raises(ConfigurationError, match="does not run in a pod: set the namespace"):
        by_host(secret, "broker-0", namespace="")
