"""Tests the index of Topics by cluster."""

from __future__ import annotations

from typing import Any

from gantrymq.operator.topics.index import TopicIndex


def body(name: str, cluster: str, uid: str = "u") -> dict[str, Any]:
    metadata = {"namespace": "shop", "name": name, "uid": uid, "generation": 1}
    return {"metadata": metadata, "spec": {"cluster": cluster}}


def test_topics_are_found_by_their_cluster() -> None:
    index = TopicIndex()
    assert index.put(body("a", "orders")) == ("shop", "orders")
    index.put(body("b", "orders"))
    index.put(body("c", "bills"))
    assert [each.name for each in index.of("shop", "orders")] == ["a", "b"]
    assert set(index.clusters()) == {("shop", "orders"), ("shop", "bills")}
    assert len(index) == 3


def test_a_topic_that_is_gone_is_forgotten_with_its_cluster() -> None:
    index = TopicIndex()
    index.put(body("a", "orders"))
    assert index.remove("shop", "a") == ("shop", "orders")
    assert index.remove("shop", "a") is None
    assert index.of("shop", "orders") == ()
    assert list(index.clusters()) == []


def test_a_topic_made_again_for_another_cluster_leaves_the_first_one() -> None:
    index = TopicIndex()
    index.put(body("a", "orders"))
    index.put(body("a", "bills", "v"))
    assert index.of("shop", "orders") == ()
    assert [each.uid for each in index.of("shop", "bills")] == ["v"]
