"""Spark on Kubernetes: jobs of the chart archive a topic, and send an archive to a topic again.

With SPARK=1 or GANTRY_E2E_LONG=1 alone: every node unpacks an image of a gigabyte.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Final

import pytest

from gantrymq.e2e import spark_jobs
from gantrymq.e2e.broker_cluster import BrokerCluster, topic, wait_for_topics
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Namespace, wait_until
from gantrymq.e2e.operator_install import Operator, build_images
from gantrymq.e2e.spark_jobs import SparkJobs
from gantrymq.images import spark_image

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not spark_image.IS_WANTED, reason=spark_image.REASON),
    pytest.mark.timeout(1800),  # the image may have to be built
]
GROUP: Final = "broker-0"
MESSAGES: Final = 6000
STORAGE: Final = {"size": "1Gi"}


@pytest.fixture
def jobs(operator: Operator, namespace: Namespace) -> Iterator[SparkJobs]:
    made = SparkJobs(operator, namespace, build_images(spark=True)["spark"])
    yield made
    operator.install()  # without jobs: the namespace is deleted


@pytest.fixture
def cluster(operator: Operator, namespace: Namespace) -> BrokerCluster:
    del operator
    made = BrokerCluster(namespace, "orders")
    made.apply(groups=1, membersPerGroup=2, nameServers=1, storage=STORAGE)
    made.wait_until_whole()
    namespace.apply(topic("Orders", made.name, topicName="Orders"))
    namespace.apply(topic("Again", made.name, topicName="Again"))
    wait_for_topics(namespace, ["orders", "again"])
    return made


def name_server_pod(namespace: Namespace) -> str:
    """A pod that has Gantry's client, and that no failover touches."""
    [pod] = namespace.list("pods", {"app.kubernetes.io/component": "nameserver"})
    name: str = pod["metadata"]["name"]
    return name


def test_a_topic_is_archived_through_a_failover_and_replayed_once(
    jobs: SparkJobs, cluster: BrokerCluster, namespace: Namespace, figures: Figures
) -> None:
    """Executors are pods; the master's broker is killed while they read and a producer sends."""
    servers, sender = cluster.name_servers, name_server_pod(namespace)
    stream = spark_jobs.job(
        "stream", "archive", "--topic=Orders", "--path=/data/archive", executors=1,
        continuous="2s", nameServers=servers, storage=STORAGE,
    )  # fmt: skip
    jobs.install(stream)
    jobs.wait_for_stream("stream")
    spark_jobs.send(namespace, sender, servers, 0, MESSAGES // 3)
    jobs.wait_for_keys("stream", "/data/archive", MESSAGES // 3)

    before = cluster.holder(GROUP)
    sending = threading.Thread(
        target=spark_jobs.send, args=(namespace, sender, servers, MESSAGES // 3, MESSAGES)
    )
    sending.start()
    cluster.kill_broker(cluster.pod_name(GROUP, before))
    wait_until(lambda: cluster.holder(GROUP) not in (0, before), "another member leads", 60.0,
               cluster.describe)  # fmt: skip
    sending.join()
    rows, keys = jobs.wait_for_keys("stream", "/data/archive", MESSAGES)
    stored = spark_jobs.stored(namespace, sender, servers, "Orders")
    assert (rows, keys) == (stored, MESSAGES), jobs.describe("stream")

    # The driver is replaced; what it archived is not archived again.
    namespace.run("delete", "pod", "gantry-stream-0")
    jobs.wait_for_stream("stream")
    spark_jobs.send(namespace, sender, servers, MESSAGES, MESSAGES + 100)
    rows, keys = jobs.wait_for_keys("stream", "/data/archive", MESSAGES + 100)
    assert (rows, keys) == (stored + 100, MESSAGES + 100)

    claim = {"claim": "gantry-stream"}
    replay = spark_jobs.job(
        "replay", "replay", "--archive=/data/archive", "--to-topic=Again", "--id=e2e", "--json",
        nameServers=servers, storage=claim,
    )  # fmt: skip
    jobs.install(stream, replay)
    assert jobs.summary("replay")["messages"] == rows
    assert spark_jobs.stored(namespace, sender, servers, "Again") == rows
    jobs.install(stream, {**replay, "conf": {"spark.sql.shuffle.partitions": "3"}})
    assert jobs.summary("replay")["messages"] == rows
    assert spark_jobs.stored(namespace, sender, servers, "Again") == rows, "sent twice"
    figures.keep(
        f"{rows} messages archived by executors through a failover, and replayed once",
        rows=rows, duplicates=rows - keys,
    )  # fmt: skip


def test_a_schedule_archives_what_is_new(
    jobs: SparkJobs, cluster: BrokerCluster, namespace: Namespace
) -> None:
    servers, sender = cluster.name_servers, name_server_pod(namespace)
    hourly = spark_jobs.job(
        "hourly", "archive", "--topic=Orders", "--path=/data/archive", "--json",
        schedule="0 0 1 1 *", nameServers=servers, storage=STORAGE,
    )  # fmt: skip
    jobs.install(hourly)
    for messages in (500, 300):
        spark_jobs.send(namespace, sender, servers, 0, messages)
        assert jobs.run_scheduled("hourly")["rows"] == messages
        namespace.run("delete", "job", "gantry-hourly-now")
