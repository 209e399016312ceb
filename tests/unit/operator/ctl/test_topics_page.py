"""Tests the page of `kubectl gantry topics`, and the resource that adopts a topic."""

from __future__ import annotations

from typing import Any

from gantrymq.operator.ctl.topics_page import adopting, object_name, of_cluster, topic_lines


def topic(name: str, cluster: str = "orders", **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"cluster": cluster}, "status": status}


def test_topics_of_other_clusters_are_left_out() -> None:
    found = of_cluster([topic("b"), topic("c", "other"), topic("a")], "orders")
    assert [each["metadata"]["name"] for each in found] == ["a", "b"]


def test_each_topic_has_a_row_and_unmanaged_ones_are_listed() -> None:
    rows = [topic("a", queues="4/4", phase="Ready", message="on 2 groups", topicName="A%x")]
    lines = topic_lines(rows, {"count": 1, "names": ["by-hand"]})
    assert lines[1].split(maxsplit=4) == ["A%x", "a", "4/4", "Ready", "on 2 groups"]
    assert "  by-hand" in lines


def test_an_adopting_resource_keeps_the_name_and_the_queues() -> None:
    body = adopting("orders", "shop", "My_Topic%1", (8, 16))
    assert body["metadata"] == {"name": "my-topic-1", "namespace": "shop"}
    assert body["spec"] == {
        "cluster": "orders", "topicName": "My_Topic%1", "writeQueues": 8, "readQueues": 16,
        "adopt": True,
    }  # fmt: skip


def test_a_topic_name_without_letters_still_gives_an_object_name() -> None:
    assert object_name("%_%") == "topic"
