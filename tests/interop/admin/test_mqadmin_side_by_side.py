"""Tests that mqadmin prints the same about Gantry's name server as about Java's.

What may differ is removed before the comparison: each name server's own address, port and folder,
times and rates, the lines of stack traces that name no fault, and the order of lines that Java
takes from a hash table.
"""

import re

import pytest

from gantrymq.interop.clients.drivers import MqAdmin
from gantrymq.interop.servers import NameServerKind
from gantrymq.interop.sides import Sides, without_place

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]

# Settings that only Gantry has, with the reason. All of Java's are present, including those without
# effect.
GANTRY_ONLY_SETTINGS = {
    "aclEnable": "Java's name server admits every client",
    "aclFile": "the accounts of admitted clients",
    **dict.fromkeys(("auditLogFile", "auditLogFileCount", "auditLogFileSize"), "the audit trail"),
    **dict.fromkeys(
        ("maxConnections", "maxConnectionsExempt", "maxConnectionsPerAddress"),
        "bounds on connections",
    ),
    "maxPeerMemory": "a bound on memory",
    **dict.fromkeys(
        ("maxRequestsPerSecondPerAddress", "quotaDelayMaxMillis"), "a bound on requests"
    ),
    "brokerChannelExpiredTime": "Java has 120 s as a constant",
    "listeners": "routes by listener",
    "metricsBindAddress": "health and metrics",
    "metricsPort": "health and metrics",
    "metricsTokenFile": "health and metrics",
    "secureDefaults": "a name server that protects itself",
    "warmUpSeconds": "no route is not said too early after a start",
}
CLUSTER_LIST_TRIES = 30
# Settings of both with different values, with the reason.
DIFFERENT_SETTINGS = {"rocketmqHome": "Java does not start without one, ours needs none"}


class Pair:
    """One mqadmin, run against both name servers."""

    def __init__(self, admin: MqAdmin, sides: Sides) -> None:
        self.admin = admin
        self.sides = sides
        self.topic = f"Topic-{admin.version[0]}"

    def outputs(self, command: str, *options: str) -> list[str]:
        """The output about Java's name server, and about the other."""
        return [
            without_place(self.admin.run(side, command, *options), side)
            for side in self.sides.each()
        ]

    def same(self, command: str, *options: str) -> list[str]:
        """The common output: lines without the frames of stack traces."""
        reference, subject = (_telling_lines(output) for output in self.outputs(command, *options))
        assert subject == reference
        assert reference, "it printed nothing"
        return reference

    def same_set(self, command: str, *options: str) -> set[str]:
        """The same for output in the order of a hash table."""
        reference, subject = (_telling_lines(output) for output in self.outputs(command, *options))
        assert sorted(subject) == sorted(reference)
        return set(reference)


def _telling_lines(output: str) -> list[str]:
    return [line for line in output.splitlines() if not re.match(r"\tat |\t\.\.\. |$", line)]


@pytest.fixture
def both(admin: MqAdmin, sides: Sides) -> Pair:
    """mqadmin, both sides settled, and a topic that both have."""
    sides.wait_until_settled()
    pair = Pair(admin, sides)
    sides.broker.create_topic(pair.topic)
    return pair


def test_cluster_list(both: Pair) -> None:
    # A Java broker that has just started does not know its figures yet.
    tries = (both.outputs("clusterList") for _ in range(CLUSTER_LIST_TRIES))
    outputs = next(each for each in tries if "V5_3_3" in each[0])
    reference, subject = (
        [_without_load(line.split()) for line in _telling_lines(output)] for output in outputs
    )
    assert subject == reference
    broker = both.sides.broker
    assert ["interop", broker.broker_name, "0", broker.address, "V5_3_3"] in [
        words[:5] for words in reference
    ]


def _without_load(words: list[str]) -> list[str]:
    """The columns after the version are current rates, times and queue lengths."""
    return words[:5] + [re.sub(r"\d+(\.\d+)?", "<n>", word) for word in words[5:]]


def test_cluster_list_with_totals(both: Pair) -> None:
    assert both.sides.broker.broker_name in "".join(both.same("clusterList", "-m"))


def test_topic_list(both: Pair) -> None:
    assert both.topic in both.same_set("topicList")


def test_topic_list_with_clusters(both: Pair) -> None:
    lines = both.same_set("topicList", "-c")
    assert ["interop", both.topic] in [line.split() for line in lines]


def test_topic_route(both: Pair) -> None:
    assert both.sides.broker.address in "".join(both.same("topicRoute", "-t", both.topic))


def test_topic_route_as_a_list(both: Pair) -> None:
    assert both.sides.broker.broker_name in "".join(both.same("topicRoute", "-t", both.topic, "-l"))


def test_topic_cluster_list(both: Pair) -> None:
    assert both.same("topicClusterList", "-t", both.topic) == ["interop"]


@pytest.mark.parametrize("command", ["topicRoute", "topicClusterList", "topicStatus"])
def test_an_unknown_topic(both: Pair, command: str) -> None:
    message = "".join(both.same(command, "-t", "NoSuchTopic"))
    assert "CODE: 17  DESC: No topic route info in name server for the topic: " in message


def test_key_value_configuration(both: Pair) -> None:
    where = ("-s", f"space-{both.admin.version}", "-k", "key")
    assert "success" in both.same("updateKvConfig", *where, "-v", "one two; é=3")[0]
    assert "success" in both.same("deleteKvConfig", *where)[0]
    assert "success" in both.same("deleteKvConfig", *where)[0], "deleting nothing succeeds too"


def test_order_configuration(both: Pair) -> None:
    topic = ("-t", both.topic)
    queues = f"{both.sides.broker.broker_name}:4"
    assert "CODE: 22" in "".join(both.same("updateOrderConf", *topic, "-m", "get"))
    both.same("updateOrderConf", *topic, "-m", "put", "-v", queues)
    assert queues in both.same("updateOrderConf", *topic, "-m", "get")[0]
    both.same("updateOrderConf", *topic, "-m", "delete")
    assert "CODE: 22" in "".join(both.same("updateOrderConf", *topic, "-m", "get"))


def test_the_order_configuration_is_in_the_route_when_switched_on(both: Pair) -> None:
    queues = f"{both.sides.broker.broker_name}:4"
    order = ("-t", both.topic, "-m")
    both.same("updateOrderConf", *order, "put", "-v", queues)
    both.same("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "true")
    try:
        assert "orderTopicConf" in "".join(both.same("topicRoute", "-t", both.topic))
    finally:
        both.same("updateNamesrvConfig", "-k", "orderMessageEnable", "-v", "false")
        both.same("updateOrderConf", *order, "delete")
    assert "orderTopicConf" not in "".join(both.same("topicRoute", "-t", both.topic))


def test_write_permission(both: Pair) -> None:
    broker = both.sides.broker.broker_name
    wiped = both.same("wipeWritePerm", "-b", broker)
    assert re.search(r"OK, [1-9]", wiped[0])
    assert '"perm":4' in "".join(both.same("topicRoute", "-t", both.topic))
    both.same("addWritePerm", "-b", broker)
    assert '"perm":6' in "".join(both.same("topicRoute", "-t", both.topic))


@pytest.mark.parametrize("command", ["wipeWritePerm", "addWritePerm"])
def test_write_permission_of_an_unknown_broker(both: Pair, command: str) -> None:
    assert both.same(command, "-b", "no-such-broker")[0].endswith("OK, 0")


def test_the_settings_have_the_same_names(both: Pair) -> None:
    reference, subject = (
        {line.split(" ", 1)[0] for line in _telling_lines(output) if "  =  " in line}
        for output in both.outputs("getNamesrvConfig")
    )
    ours = both.sides.kind is NameServerKind.GANTRY
    assert subject - reference == (set(GANTRY_ONLY_SETTINGS) if ours else set())
    assert reference <= subject


def test_common_settings_have_the_same_values(both: Pair) -> None:
    reference, subject = (
        dict(re.findall(r"^(\w+) +=  (.*)$", output, re.MULTILINE))
        for output in both.outputs("getNamesrvConfig")
    )
    common = (reference.keys() & subject.keys()) - DIFFERENT_SETTINGS.keys()
    assert {key: subject[key] for key in common} == {key: reference[key] for key in common}
    assert "listenPort" in common


@pytest.mark.parametrize("value", ["productionish", "center"])
def test_a_setting_is_updated(both: Pair, value: str) -> None:
    both.same("updateNamesrvConfig", "-k", "productEnvName", "-v", value)
    for output in both.outputs("getNamesrvConfig"):
        assert re.search(rf"^productEnvName +=  {value}$", output, re.MULTILINE)


@pytest.mark.parametrize("key", ["kvConfigPath", "configStorePath", "configBlackList"])
def test_a_black_listed_setting_is_refused(both: Pair, key: str) -> None:
    message = "".join(both.same("updateNamesrvConfig", "-k", key, "-v", "anything"))
    assert "CODE: 16  DESC: Can not update config in black list." in message


def test_unknown_setting_is_refused_although_java_ignores_it(both: Pair) -> None:
    reference, subject = both.outputs("updateNamesrvConfig", "-k", "noSuchSetting", "-v", "1")
    assert "success" in reference
    assert "noSuchSetting is not a setting known here" in subject


def test_delete_topic(both: Pair) -> None:
    lines = both.same("deleteTopic", "-t", both.topic, "-c", "interop")
    assert any(line.endswith("from NameServer success.") for line in lines)
    assert "CODE: 17" in "".join(both.same("topicRoute", "-t", both.topic))
    assert both.topic not in both.same_set("topicList")


def test_delete_topic_of_an_unknown_cluster(both: Pair) -> None:
    both.same("deleteTopic", "-t", both.topic, "-c", "no-such-cluster")
    assert both.topic in both.same_set("topicList")
