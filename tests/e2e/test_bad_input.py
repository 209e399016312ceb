"""What users get wrong: a condition says what, why and what to do, and a correction is enough."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from gantrymq.e2e.broker_cluster import BrokerCluster, topic, wait_for_topics
from gantrymq.e2e.kubectl import Json, KubectlError, Namespace, condition, wait_until
from gantrymq.e2e.operator_install import Operator

SAID_SECONDS = 60.0


def conditions_say(read: Callable[[], Json | None], *words: str) -> Callable[[], bool]:
    """Whether one condition that is not well has all these words in its reason or message."""

    def said() -> bool:
        found = ((read() or {}).get("status") or {}).get("conditions", [])
        texts = [f"{each.get('reason')} {each.get('message')}" for each in found]
        return any(all(word in text for word in words) for text in texts)

    return said


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_a_storage_class_that_does_not_exist_is_named(
    operator: Operator, namespace: Namespace
) -> None:
    del operator
    cluster = BrokerCluster(namespace, "wrong-disk")
    cluster.apply(storage={"size": "1Gi", "storageClassName": "no-such-class"})
    wait_until(conditions_say(cluster.resource, "no-such-class", "StorageClass"),
               "the StorageClass is named", SAID_SECONDS, cluster.describe)  # fmt: skip


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_an_image_that_cannot_be_pulled_is_named_and_a_correction_is_enough(
    operator: Operator, images: dict[str, str], namespace: Namespace
) -> None:
    del operator
    cluster = BrokerCluster(namespace, "wrong-image")
    spec = {"groups": 1, "membersPerGroup": 1, "replication": "async", "storage": {"size": "1Gi"}}
    cluster.apply(**spec, image={"broker": "gantrymq/broker:no-such-tag"})
    wait_until(conditions_say(cluster.resource, "gantrymq/broker:no-such-tag"),
               "the image is named", SAID_SECONDS, cluster.describe)  # fmt: skip
    cluster.apply(**spec, image={"broker": images["broker"]})
    cluster.wait_until_whole()


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_too_few_nodes_are_counted(operator: Operator, namespace: Namespace) -> None:
    del operator
    cluster = BrokerCluster(namespace, "too-wide")
    cluster.apply(membersPerGroup=5, storage={"size": "1Gi"})
    wait_until(conditions_say(cluster.resource, "node", "5"), "the nodes are counted",
               SAID_SECONDS, cluster.describe)  # fmt: skip


@pytest.mark.e2e
def test_a_name_that_is_too_long_is_refused_at_once(
    operator: Operator, namespace: Namespace
) -> None:
    del operator
    with pytest.raises(KubectlError, match="40"):
        BrokerCluster(namespace, "n" * 41).apply()


@pytest.mark.e2e
@pytest.mark.timeout(300)
def test_topics_of_a_missing_cluster_and_of_one_name_recover(
    operator: Operator, namespace: Namespace
) -> None:
    del operator
    namespace.apply(topic("early", "later"))
    early = partial(namespace.get, "topic", "early")
    wait_until(conditions_say(early, "later"), "the cluster is named", SAID_SECONDS)
    cluster = BrokerCluster(namespace, "later")
    cluster.apply(groups=1, membersPerGroup=1, replication="async", storage={"size": "1Gi"})
    wait_for_topics(namespace, ["early"], 120.0)

    namespace.apply(topic("rival", "later", topicName="early"))
    rival = partial(namespace.get, "topic", "rival")
    wait_until(conditions_say(rival, "early"), "the older Topic is named", SAID_SECONDS)
    assert condition(rival(), "Ready").get("status") == "False"
    namespace.run("delete", "topic", "early")
    wait_for_topics(namespace, ["rival"])
