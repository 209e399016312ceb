"""Tests `gantry report` with a cluster that is up, and with one that is partly down."""

from __future__ import annotations

from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.command_line import page_of
from gantrymq.testing.memory_servers import LocalPeer
from gantrymq.wire import javajson
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.jsonvalue import JsonObject, list_of, object_of


def saved_report(cluster: Cluster, command: str) -> JsonObject:
    """Run the command, and return the report that it saved."""
    page = page_of(cluster, command)
    (path,) = list_of(page.json()["file"], "file")
    assert isinstance(path, str)
    return object_of(javajson.loads(cluster.driver.files[path]), "report")


def made_report() -> Cluster:
    cluster = Cluster(topics={})
    cluster.add_topic("Orders", queues=2)
    beat(cluster.broker, LocalPeer("10.0.0.1:1"), consumer("Billing", "Orders"), client_id="c@1")
    return cluster


def test_report_has_settings_figures_findings_and_progress() -> None:
    cluster = made_report()
    report = saved_report(cluster, "report")
    address = cluster.addresses[0]
    brokers = object_of(report["brokers"], "brokers")
    assert "fileReservedTime" in object_of(object_of(brokers["settings"], "s")[address], "s")
    assert "commitLogMaxOffset" in object_of(object_of(brokers["figures"], "f")[address], "f")
    assert "masterCommitLogMaxOffset" in str(brokers["replication"])
    assert "Orders" in str(report["topics"])
    assert "Billing" in str(report["groups"])
    assert isinstance(report["findings"], list)


def test_report_has_the_reason_if_a_server_does_not_answer() -> None:
    cluster = made_report()
    cluster.faults[RequestCode.GET_BROKER_CONFIG] = gone
    report = saved_report(cluster, "report")
    settings = object_of(object_of(report["brokers"], "brokers")["settings"], "settings")
    failure = object_of(settings[cluster.addresses[0]], "settings")["failed"]
    assert "no server listens" in str(failure)


def test_an_anonymous_report_has_no_names() -> None:
    report = str(saved_report(made_report(), "report -a"))
    for name in ("Orders", "Billing", "broker-a", "127.0.0.1"):
        assert name not in report
    assert "topic-" in report
