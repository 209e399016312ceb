"""Tests the report of a cluster, also of one that is partly down."""

from __future__ import annotations

from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.command_line import page_of
from gantrymq.testing.memory_servers import LocalPeer
from gantrymq.wire import javajson
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.jsonvalue import JsonObject, list_of, object_of


def written(cluster: Cluster, command: str) -> JsonObject:
    """The report that the command saved."""
    page = page_of(cluster, command)
    (path,) = list_of(page.json()["file"], "file")
    assert isinstance(path, str)
    return object_of(javajson.loads(cluster.driver.files[path]), "report")


def made() -> Cluster:
    cluster = Cluster(topics={})
    cluster.add_topic("Orders", queues=2)
    beat(cluster.broker, LocalPeer("10.0.0.1:1"), consumer("Billing", "Orders"), client_id="c@1")
    return cluster


def test_it_has_settings_figures_findings_and_progress() -> None:
    cluster = made()
    told = written(cluster, "report")
    address = cluster.addresses[0]
    brokers = object_of(told["brokers"], "brokers")
    assert "fileReservedTime" in object_of(object_of(brokers["settings"], "s")[address], "s")
    assert "commitLogMaxOffset" in object_of(object_of(brokers["figures"], "f")[address], "f")
    assert "masterCommitLogMaxOffset" in str(brokers["replication"])
    assert "Orders" in str(told["topics"])
    assert "Billing" in str(told["groups"])
    assert isinstance(told["findings"], list)


def test_what_cannot_be_asked_says_why() -> None:
    cluster = made()
    cluster.faults[RequestCode.GET_BROKER_CONFIG] = gone
    told = written(cluster, "report")
    settings = object_of(object_of(told["brokers"], "brokers")["settings"], "settings")
    failure = object_of(settings[cluster.addresses[0]], "settings")["failed"]
    assert "nobody listens" in str(failure)


def test_an_anonymous_report_has_no_names() -> None:
    told = str(written(made(), "report -a"))
    for name in ("Orders", "Billing", "broker-a", "127.0.0.1"):
        assert name not in told
    assert "topic-" in told
