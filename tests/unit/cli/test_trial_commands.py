"""Tests commands that send test messages, with a cluster in virtual time."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import GantryError
from gantrymq.cli.frame.failures import UsageError
from gantrymq.client.core.errors import RouteError
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.command_line import page_of, printed


@pytest.fixture
def cluster() -> Cluster:
    """A cluster of two brokers that both have a topic of two queues."""
    return Cluster("broker-a", "broker-b", topics={"T": 2})


def test_one_message_is_sent(cluster: Cluster) -> None:
    titles, row = printed(cluster, "sendMessage -t T -p hello -k K -c Tag -b broker-b -i 1")
    assert titles == ["#Broker", "Name", "#QID", "#Send", "Result", "#MsgId"]
    assert row[:3] == ["broker-b", "1", "SEND_OK"]
    lines = page_of(cluster, "queryMsgByOffset -t T -b broker-b -i 1 -o 0").text()
    assert "Message Body:        hello" in lines
    assert "Tags:                [Tag]" in lines


def test_message_goes_to_the_named_broker(cluster: Cluster) -> None:
    rows = [printed(cluster, "sendMessage -t T -p hello -b broker-b")[1] for _ in range(4)]
    assert {row[0] for row in rows} == {"broker-b"}
    with pytest.raises(RouteError, match=r"broker\[other\] not exist"):
        page_of(cluster, "sendMessage -t T -p hello -b other")


def test_a_queue_without_a_broker_is_refused(cluster: Cluster) -> None:
    with pytest.raises(UsageError, match="Broker name must be set"):
        page_of(cluster, "sendMessage -t T -p hello -i 1")


def test_the_first_message_of_a_series_is_not_shown(cluster: Cluster) -> None:
    lines = page_of(cluster, "sendMsgStatus -b broker-a -c 2").text().splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("rt=0ms, SendResult=SendResult [sendStatus=SEND_OK, msgId=")
    assert lines[1].endswith("recallHandle=null]")
    assert printed(cluster, "topicStatus -t broker-a")[1][:4] == ["broker-a", "0", "0", "3"]


def test_each_queue_gets_a_message_in_turn(cluster: Cluster) -> None:
    rows = printed(cluster, "checkMsgSendRT -t T -a 5 -s 10")
    places = [(row[0], row[1]) for row in rows[1:6]]
    assert places[0] == places[4]
    assert len(set(places)) == 4
    assert rows[1][2:] == ["true", "0"]
    assert rows[6] == ["Avg", "RT:", "0.00"]


def test_failed_sends_are_counted_and_reported_once(cluster: Cluster) -> None:
    cluster.faults[cluster.addresses[1]] = gone
    shown = page_of(cluster, "checkMsgSendRT -t T -a 4")
    assert shown.text().count("false") == 2
    assert len(shown.failures) == 1
    shown = page_of(cluster, "clusterRT -a 3")
    assert [line.split()[-2:] for line in shown.text().splitlines()[1:]] == [["3", "0"], ["0", "3"]]
    assert shown.failures


def test_lines_for_log_collectors(cluster: Cluster) -> None:
    line = page_of(cluster, "clusterRT -a 2 -p true -m room").text().splitlines()[0]
    assert line.split("|")[1:] == ["room", "DefaultCluster", "broker-a", "0"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("checkMsgSendRT -t T -a 0", "--amount must be 1 or more"),
        ("clusterRT -c other", "not exist; the name servers know: DefaultCluster"),
        ("sendMessage -t T -p ''", "body length is zero"),
        ("queryMsgTraceById -i 0 -t T", "CODE: 208"),
    ],
)
def test_errors_say_why(cluster: Cluster, line: str, why: str) -> None:
    with pytest.raises(GantryError, match=why):
        page_of(cluster, line)


def test_a_message_has_a_trace(cluster: Cluster) -> None:
    message_id = printed(cluster, "sendMessage -t T -p hello -m true")[1][3]
    titles, row = printed(cluster, f"queryMsgTraceById -i {message_id}")
    assert titles[:3] == ["#Type", "#ProducerGroup", "#ClientHost"]
    assert row[:2] == ["Pub", "gantry-tools"]
    assert row[-1] == "success"


def test_metrics_are_exported(cluster: Cluster) -> None:
    printed(cluster, "exportMetrics -c DefaultCluster -f out")
    content = cluster.driver.files["out/metrics.json"]
    assert content.count(b'"evaluateReport"') == content.count(b'"totalTps"') == 1
    assert content.count(b'"runtimeQuota"') == 2
