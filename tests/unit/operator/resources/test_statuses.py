"""Tests that statuses become JSON that the schema allows."""

from __future__ import annotations

from gantrymq.operator.resources.cluster.cluster_status import (
    BrokerClusterStatus,
    ClusterPhase,
    GroupStatus,
    MemberRole,
    MemberStatus,
    UnmanagedTopics,
    WaitStatus,
)
from gantrymq.operator.resources.definitions import BROKER_CLUSTER, TOPIC, resource_schema
from gantrymq.operator.resources.reasons.condition_list import Condition
from gantrymq.operator.resources.topic.topic_status import TopicGroupStatus, TopicPhase, TopicStatus
from gantrymq.resource_cases.structural import faulty_fields

READY = Condition("Ready", "True", "AllReady", "words", "2026-01-31T12:00:00Z", 3)
MEMBER = MemberStatus("orders-broker-0-0", 1, "node1", True, MemberRole.MASTER, True, 0, "0")
GROUP = GroupStatus(
    "broker-0",
    "10.0.0.1:10911",
    4,
    "orders-broker-0-0",
    "node1",
    ("orders-broker-0-0",),
    (MEMBER,),
    ("orders-broker-0-1 is not ready: it catches up",),
    (WaitStatus("a switchover", "a follower is behind"),),
)
CLUSTER = BrokerClusterStatus(
    observed_generation=3,
    phase=ClusterPhase.RUNNING,
    conditions=(READY,),
    group_count=1,
    ready_groups="1/1",
    max_lag="0",
    groups=(GROUP,),
    unmanaged_topics=UnmanagedTopics(1, ("by-hand",)),
)
OF_TOPIC = TopicStatus(
    observed_generation=3,
    phase=TopicPhase.READY,
    conditions=(READY,),
    topic_name="Orders",
    queues="4/4",
    groups=(TopicGroupStatus("broker-0", 4, 4, "RW"),),
    created=True,
)


def test_the_status_of_a_cluster_keeps_the_schema() -> None:
    schema = resource_schema(BROKER_CLUSTER)["properties"]["status"]
    for status in (CLUSTER, BrokerClusterStatus(), BrokerClusterStatus(groups=(GroupStatus("a"),))):
        assert list(faulty_fields(schema, status.to_json(), "")) == []


def test_the_status_of_a_topic_keeps_the_schema() -> None:
    schema = resource_schema(TOPIC)["properties"]["status"]
    for status in (OF_TOPIC, TopicStatus()):
        assert list(faulty_fields(schema, status.to_json(), "")) == []


def test_keys_are_camel_case_and_words_are_plain() -> None:
    written = CLUSTER.to_json()
    assert written["phase"] == "Running"
    assert type(written["phase"]) is str
    assert written["observedGeneration"] == 3
    assert written["groups"][0]["members"][0]["inSync"] is True
    assert written["groups"][0]["masterNode"] == "node1"


def test_what_is_not_known_is_left_out_and_what_is_zero_is_not() -> None:
    written = BrokerClusterStatus(groups=(GroupStatus("broker-0"),)).to_json()
    assert "maxLag" not in written
    assert "epoch" not in written["groups"][0]
    assert written["groupCount"] == 0
    assert written["waits"] == []
