"""Tests what commands print, as tables and as JSON, with a cluster in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.cli.frame.failures import CommandError, UsageError
from gantrymq.client.core.errors import BrokerError
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.brokers.sends import UNIQUE, message
from gantrymq.fakes.command_line import page_of, printed
from gantrymq.testing.memory_servers import LocalPeer
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.jsonvalue import list_of, object_of

UNIQUE_1 = f"{UNIQUE[:-1]}1"


@pytest.fixture
def cluster() -> Cluster:
    """A cluster with a topic of one queue and two messages. A group has consumed one of them."""
    cluster = Cluster(topics={})
    cluster.add_topic("T", queues=1)
    broker = cluster.broker
    for number in range(2):
        properties = {"UNIQ_KEY": f"{UNIQUE[:-1]}{number}", "KEYS": "k", "TAGS": f"Tag{number}"}
        header = message(queues=1, properties=properties)
        assert broker.ask(RequestCode.SEND_MESSAGE_V2, header, b"body %d" % number).code == 0
    beat(broker, LocalPeer("10.0.0.1:1"), consumer("G", "T"), producers=("P",), client_id="c@1")
    queue = MessageQueue("T", "broker-a", 0)
    cluster.run(cluster.admin.offsets.move(cluster.addresses[0], "G", queue, 1))
    return cluster


def test_the_queues_of_a_topic(cluster: Cluster) -> None:
    titles, row, tps = printed(cluster, "topicStatus -t T")
    assert titles[:3] == ["#Broker", "Name", "#QID"]
    assert row[:4] == ["broker-a", "0", "0", "2"]
    assert tps[:3] == ["Topic", "Put", "TPS:"]
    queues = page_of(cluster, "topicStatus -t T").json()["queues"]
    assert [object_of(each, "queue")["maxOffset"] for each in list_of(queues, "queues")] == [2]


def test_a_route_as_a_table(cluster: Cluster) -> None:
    rows = printed(cluster, "topicRoute -t T -l")
    assert rows[1] == ["DefaultCluster", "broker-a", "{0=127.0.0.1:10911}", "1", "1", "6"]
    assert rows[-1] == ["Total:", "1", "1", "1"]


def test_queues_are_allocated_to_clients(cluster: Cluster) -> None:
    cluster.add_topic("Shared", queues=3)
    shown = page_of(cluster, "allocateMQ -t Shared -i 10.0.0.1,10.0.0.2")
    shares = object_of(shown.json()["result"], "result")
    assert [
        [object_of(each, "queue")["queueId"] for each in list_of(share, "share")]
        for share in shares.values()
    ] == [[0, 1], [2]]
    with pytest.raises(UsageError, match="names no client"):
        page_of(cluster, "allocateMQ -t Shared -i ,")


def test_offsets_and_lag_of_a_group(cluster: Cluster) -> None:
    rows = printed(cluster, "consumerProgress -g G -t T")
    assert rows[1][:7] == ["T", "broker-a", "0", "2", "1", "1", "0"]
    assert ["Consume", "Diff", "Total:", "1"] in rows
    assert ["G", "1"] in [row[:2] for row in printed(cluster, "consumerProgress")]


def test_consumers_of_a_group(cluster: Cluster) -> None:
    rows = printed(cluster, "consumerConnection -g G")
    assert rows[1][0] == "c@1"
    assert ["ConsumeType:", "CONSUME_PASSIVELY"] in rows
    assert printed(cluster, "producerConnection -g P -t T")[0][:2] == ["0001", "c@1"]


def test_a_message_is_found(cluster: Cluster) -> None:
    assert printed(cluster, "queryMsgByKey -t T -k k")[1][1:] == ["0", "0"]
    lines = page_of(cluster, f"queryMsgByUniqueKey -t T -i {UNIQUE_1}").text().splitlines()
    assert "Tags:                [Tag1]" in lines
    assert "Message Body:        body 1" in lines
    assert "MessageTrack [consumerGroup=G, trackType=NOT_CONSUME_YET, exceptionDesc=null]" in lines
    offset = page_of(cluster, "queryMsgByOffset -t T -b broker-a -i 0 -o 0").text()
    assert "trackType=CONSUMED" in offset


def test_messages_are_read(cluster: Cluster) -> None:
    text = page_of(cluster, "printMsg -t T -s Tag1").text()
    assert "BODY: body 1" in text
    assert "body 0" not in text
    some = page_of(cluster, "consumeMessage -t T -b broker-a -i 0 -o 1 -c 1").text()
    assert "BODY: body 1" in some
    counted = printed(cluster, "printMsgByQueue -t T -a broker-a -i 0 -f true")
    assert sorted(counted) == [["Tag:", "Tag0", "Count:", "1"], ["Tag:", "Tag1", "Count:", "1"]]


@pytest.mark.parametrize("charset", ["foo", "hex", "idna"])
@pytest.mark.parametrize("line", ["printMsg -t T", "printMsgByQueue -t T -a broker-a -i 0 -p true"])
def test_a_charset_that_cannot_decode_text_is_refused(
    cluster: Cluster, line: str, charset: str
) -> None:
    with pytest.raises(UsageError, match=f"--charsetName must be a character set, not '{charset}'"):
        page_of(cluster, f"{line} -c {charset}")


def test_an_offset_without_a_message_is_an_error(cluster: Cluster) -> None:
    with pytest.raises(CommandError, match="queue 0 of T at broker-a has no message 1000"):
        page_of(cluster, "queryMsgByOffset -t T -b broker-a -i 0 -o 1000")


def test_a_topic_is_created_changed_and_deleted(cluster: Cluster) -> None:
    made = printed(cluster, "updateTopic -c DefaultCluster -t New -r 2 -w 2 -o true")
    assert made[0] == ["create", "topic", "to", "127.0.0.1:10911", "success."]
    assert printed(cluster, "updateOrderConf -t New -m get")[0] == [
        "get",
        "orderConf",
        "success.",
        "topic=[New],",
        "orderConf=[broker-a:2]",
    ]
    assert printed(cluster, "updateTopicPerm -b {broker} -t New -p 4")[0][:7] == (
        ["update", "topic", "perm", "from", "6", "to", "4"]
    )
    assert printed(cluster, "updateTopicPerm -b {broker} -t New -p 4") == [
        ["new", "perm", "equals", "to", "the", "old", "one!"]
    ]
    printed(cluster, "deleteTopic -t New -c DefaultCluster")
    with pytest.raises(BrokerError):
        page_of(cluster, "topicRoute -t New")


def test_a_group_is_created_and_deleted(cluster: Cluster) -> None:
    assert printed(cluster, "updateSubGroup -b {broker} -g H -r 3")[0][-1] == "success."
    assert ["retryMaxTimes", "=", "3"] in printed(cluster, "getConsumerConfig -g H")
    printed(cluster, "cloneGroupOffset -s G -d H -t T")
    assert printed(cluster, "resetOffsetByTime -g H -t T -s 0")[-1] == ["broker-a", "0", "0"]
    assert printed(cluster, "skipAccumulatedMessage -g H -t T")[-1] == ["broker-a", "0", "2"]
    printed(cluster, "deleteSubGroup -c DefaultCluster -g H -r true")
    assert printed(cluster, "getConsumerConfig -g H") == []


def test_topics_are_created_from_a_file(cluster: Cluster) -> None:
    cluster.driver.files["t.json"] = b'[{"topicName":"A"},{"topicName":"B","perm":4}]'
    printed(cluster, "updateTopicList -b {broker} -f t.json")
    assert {"A", "B"} <= {row[0] for row in printed(cluster, "topicList")}


def test_an_export_writes_a_file(cluster: Cluster) -> None:
    printed(cluster, "exportMetadata -c DefaultCluster -f out")
    assert b'"T"' in cluster.driver.files["out/metadata.json"]
    printed(cluster, "exportConfigs -c DefaultCluster -f out")
    assert b'"masterBrokerSize":1' in cluster.driver.files["out/configs.json"]


def test_settings_of_brokers_and_name_servers(cluster: Cluster) -> None:
    assert printed(cluster, "clusterList")[1][:4] == [
        *("DefaultCluster", "broker-a", "0", "127.0.0.1:10911")
    ]
    assert printed(cluster, "clusterList -m")[1][2:] == ["0", "0", "2", "0"]
    assert ["maxMessageSize", "=", "4194304"] in printed(cluster, "getBrokerConfig -b {broker}")
    assert ["productEnvName", "=", "center"] in printed(cluster, "getNamesrvConfig")
    assert printed(cluster, "cleanExpiredCQ -c DefaultCluster") == [["success"]]
    assert printed(cluster, "wipeWritePerm -b broker-a")[0][-2] == "OK,"
    assert printed(cluster, "haStatus -b {broker}")[2] == ["#SlaveNum", "0"]
    assert printed(cluster, "statsAll -t T")[1][:3] == ["T", "G", "1"]


def test_a_failed_broker_is_reported_beside_the_others() -> None:
    cluster = Cluster("broker-a", "broker-b", topics={})
    cluster.faults[cluster.addresses[1]] = gone
    shown = page_of(cluster, "updateTopic -c DefaultCluster -t T")
    assert len(shown.failures) == 1
    assert "create topic to 127.0.0.1:10911 success." in shown.text()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("updateTopic -t T", "the target is missing: give -b host:port"),
        ("updateTopic -b x:1 -t T -r many", "--readQueueNums must be a whole number"),
        ("updateTopic -b x:1 -t T -a key=value", r"\+key=value,-key"),
        ("updateOrderConf -t T -m give", "get, put or delete"),
        ("setConsumeMode -b x:1 -t T -g G -m PUSH", "PULL or POP"),
        ("resetOffsetByTime -g G -t T -s yesterday", "not a time"),
        ("resetOffsetByTime -g G -t T -s 0 -b x:1", "-b and -q name one queue"),
        ("consumeMessage -t T -i 1", "brokerName before queueId"),
    ],
)
def test_invalid_options_are_refused(cluster: Cluster, line: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        page_of(cluster, line)
