"""Tests the cache of objects by name and by cluster."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.kube.watch import reducers
from gantrymq.operator.kube.watch.object_store import ObjectStore

Json = dict[str, Any]


def item(name: str, version: int, cluster: str = "orders", **spec: Any) -> Json:
    return {
        "metadata": {
            "name": name,
            "namespace": "one",
            "resourceVersion": str(version),
            "labels": {"app.kubernetes.io/instance": cluster} if cluster else {},
            "managedFields": [{"manager": "long"}],
        },
        "spec": spec,
    }


@pytest.fixture
def changes() -> list[str]:
    return []


@pytest.fixture
def store(changes: list[str]) -> ObjectStore:
    return ObjectStore(reducers.whole, lambda each: changes.append(each["metadata"]["name"]))


def test_objects_are_found_by_name_and_by_cluster(store: ObjectStore) -> None:
    store.put(item("b", 2))
    store.put(item("a", 1))
    store.put(item("c", 3, "other"))

    assert [each["metadata"]["name"] for each in store.of_cluster("one", "orders")] == ["a", "b"]
    assert store.of_cluster("two", "orders") == ()
    assert store.get("one", "c") is not None
    assert len(store) == 3


def test_managed_fields_are_not_kept(store: ObjectStore) -> None:
    store.put(item("a", 1))

    assert "managedFields" not in (store.get("one", "a") or {})["metadata"]


def test_a_change_is_reported_once(store: ObjectStore, changes: list[str]) -> None:
    store.put(item("a", 1, size=1))
    store.put(item("a", 2, size=1))
    store.put(item("a", 3, size=2))

    assert changes == ["a", "a"]
    assert (store.get("one", "a") or {})["metadata"]["resourceVersion"] == "3"


def test_an_older_version_never_replaces_a_newer_one(
    store: ObjectStore, changes: list[str]
) -> None:
    store.put(item("a", 9, size=9))

    store.put(item("a", 10, size=10))
    store.put(item("a", 9, size=9))

    assert (store.get("one", "a") or {})["spec"] == {"size": 10}
    assert len(changes) == 2


def test_an_object_that_changes_its_cluster_leaves_the_old_one(store: ObjectStore) -> None:
    store.put(item("a", 1, "orders"))

    store.put(item("a", 2, "other"))

    assert store.of_cluster("one", "orders") == ()
    assert len(store.of_cluster("one", "other")) == 1


def test_a_removed_object_is_reported_and_forgotten(store: ObjectStore, changes: list[str]) -> None:
    store.put(item("a", 1))

    store.remove(("one", "a"))
    store.remove(("one", "a"))

    assert changes == ["a", "a"]
    assert list(store.names()) == []
    assert store.of_cluster("one", "orders") == ()
