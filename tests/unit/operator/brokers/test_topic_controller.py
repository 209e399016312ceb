"""Tests the topic controller with real brokers and name servers in the process."""

from __future__ import annotations

import pytest

from gantrymq.client.core.admin.name_servers import ORDER_NAMESPACE
from gantrymq.client.core.errors import BrokerError
from gantrymq.fakes.topics.topic_stage import TRACES, TopicStage
from gantrymq.operator.brokers.topic_controller import (
    STEPS_PER_RUN,
    TopicController,
)
from gantrymq.operator.brokers.topic_run import REFUSED_RETRY_S
from gantrymq.operator.topics.api import TopicApiError
from gantrymq.operator.topics.values import ClusterStage


async def test_a_topic_is_made_on_all_masters_and_is_ready_after_one_run(stage: TopicStage) -> None:
    stage.api.create("t", writeQueues=3, groups={"broker-1": {"writeQueues": 5}})
    report = await stage.run()
    assert await stage.queues("t") == [(3, 3), (5, 5)]
    assert stage.api.ready("t") == ("True", "Applied")
    assert stage.api.status("t")["queues"] == "mixed"
    assert stage.api.status("t")["created"] is True
    assert (report.topics_changed, report.writes, report.requeue_seconds) == (2, 1, None)


async def test_a_run_without_a_change_writes_nothing(stage: TopicStage) -> None:
    for number in range(20):
        stage.api.create(f"t{number}")
    await stage.run()
    writes = dict(stage.api.writes)
    report = await stage.run()
    assert (report.topics_changed, report.writes) == (0, 0)
    assert stage.api.writes == writes


async def test_a_restarted_operator_writes_nothing(stage: TopicStage) -> None:
    stage.api.create("t", attributes={"message.type": "FIFO"}, deletionPolicy="Delete", order=True)
    await stage.run()
    writes = dict(stage.api.writes)
    await stage.controller.close()
    stage.controller = TopicController(stage.api, lambda: stage.now)
    report = await stage.run()
    assert (report.topics_changed, stage.api.writes) == (0, writes)


async def test_permission_attributes_and_growth_are_applied_at_once(stage: TopicStage) -> None:
    stage.api.create("t")
    await stage.run()
    stage.api.edit("t", writeQueues=8, perm="R", attributes={"message.type": "DELAY"})
    await stage.run()
    config = await stage.config("broker-1", "t")
    assert config is not None
    assert (config.write_queue_nums, config.read_queue_nums, config.perm) == (8, 8, 4)
    assert config.attributes == {"message.type": "DELAY"}
    assert stage.api.ready("t") == ("True", "Applied")
    assert stage.api.status("t")["drift"] == []


async def test_changes_by_hand_are_reverted_and_named(stage: TopicStage) -> None:
    stage.api.create("t")
    await stage.run()
    await stage.change_by_hand("t", 2, "broker-0")
    (await stage.admin.topics.delete("t", [stage.cluster.address("broker-1")])).all()
    await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    assert stage.api.status("t")["drift"] == [
        "broker-0: writeQueues 2 instead of 4, readQueues 2 instead of 4",
        "broker-1: the topic was missing",
    ]


async def test_a_topic_made_by_hand_is_touched_only_when_adopted(stage: TopicStage) -> None:
    await stage.change_by_hand("t", 2, "broker-0")
    stage.api.create("t")
    await stage.run()
    assert await stage.queues("t") == [(2, 2), None]
    assert stage.api.ready("t") == ("False", "Differs")
    assert "broker-0 has writeQueues 2 instead of 4" in stage.api.status("t")["message"]
    stage.api.edit("t", adopt=True)
    await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    assert stage.api.ready("t") == ("True", "Applied")


async def test_a_topic_made_by_hand_as_it_is_described_is_taken_over(stage: TopicStage) -> None:
    await stage.change_by_hand("t", 4)
    stage.api.create("t")
    report = await stage.run()
    assert report.topics_changed == 0
    assert stage.api.status("t")["created"] is True
    assert stage.api.ready("t") == ("True", "Applied")


async def test_topics_without_a_resource_are_reported(stage: TopicStage) -> None:
    await stage.change_by_hand("stray", 2, "broker-1")
    await stage.change_by_hand("%RETRY%payments", 1)
    report = await stage.run()
    assert report.unmanaged == ("stray",)


async def test_a_new_group_gets_all_topics(stage: TopicStage) -> None:
    stage.api.create("t")
    await stage.run(stage.cluster.target(groups=1))
    assert await stage.queues("t") == [(4, 4), None]
    await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    assert stage.api.status("t")["drift"] == []


async def test_a_group_without_a_master_does_not_delay_other_groups(stage: TopicStage) -> None:
    stage.api.create("t")
    await stage.run(stage.cluster.target(away=("broker-1",)))
    assert await stage.queues("t") == [(4, 4), None]
    assert stage.api.ready("t") == ("False", "MasterAway")
    assert "broker-1 has no master" in stage.api.status("t")["message"]
    await stage.run()
    assert stage.api.ready("t") == ("True", "Applied")


async def test_a_master_that_is_away_for_a_while_changes_no_status(stage: TopicStage) -> None:
    stage.api.create("t")
    await stage.run()
    writes = dict(stage.api.writes)
    await stage.run(stage.cluster.target(away=("broker-0",)))
    await stage.run()
    assert stage.api.writes == writes


async def test_a_refused_topic_does_not_delay_other_topics(stage: TopicStage) -> None:
    for number in range(7):
        stage.api.create(f"t{number}")
    stage.api.create("refused", topicName=TRACES, adopt=True)
    report = await stage.run()
    assert stage.api.ready("refused") == ("False", "BrokerRefused")
    assert "conflict with system topic" in stage.api.status("refused")["message"]
    assert [stage.api.ready(f"t{number}")[0] for number in range(7)] == ["True"] * 7
    assert report.requeue_seconds == REFUSED_RETRY_S
    writes = dict(stage.api.writes)
    await stage.run()
    assert stage.api.writes == writes
    stage.now += REFUSED_RETRY_S
    assert (await stage.run()).requeue_seconds == REFUSED_RETRY_S
    assert stage.api.writes == writes


async def test_the_oldest_resource_has_the_name_and_the_next_takes_over(stage: TopicStage) -> None:
    stage.api.create("first", topicName="T", writeQueues=2)
    stage.api.create("second", topicName="T", writeQueues=6)
    await stage.run()
    await stage.run()
    assert stage.api.ready("second") == ("False", "NameTaken")
    assert "Topic first is older" in stage.api.status("second")["message"]
    stage.api.delete("first")
    await stage.run()
    assert await stage.queues("T") == [(6, 6), (6, 6)]
    assert stage.api.ready("second") == ("True", "Applied")


async def test_a_topic_of_a_missing_cluster_says_so_and_recovers(stage: TopicStage) -> None:
    stage.api.create("t")
    await stage.run(stage.cluster.target(stage=ClusterStage.MISSING))
    assert stage.api.ready("t") == ("False", "ClusterNotFound")
    await stage.run()
    assert stage.api.ready("t") == ("True", "Applied")


# ---------------------------------------------------------------------- order


async def test_queues_of_an_ordered_topic_are_fixed_at_the_name_servers(stage: TopicStage) -> None:
    stage.api.create("t", order=True)
    await stage.run()
    values = await stage.admin.name_servers.values(ORDER_NAMESPACE)
    assert values == {"t": "broker-0:4;broker-1:4"}
    stage.api.edit("t", order=False)
    await stage.run()
    with pytest.raises(BrokerError):
        await stage.admin.name_servers.value(ORDER_NAMESPACE, "t")


async def test_an_api_that_is_down_fails_the_run_and_the_next_one_finishes(
    stage: TopicStage,
) -> None:
    stage.api.create("t")
    stage.api.is_down = True
    with pytest.raises(TopicApiError):
        await stage.run()
    assert await stage.queues("t") == [(4, 4), (4, 4)]
    stage.api.is_down = False
    # Although no status says so, the controller knows that it made the topic.
    stage.api.edit("t", writeQueues=8)
    await stage.run()
    assert await stage.queues("t") == [(8, 8), (8, 8)]
    assert stage.api.ready("t") == ("True", "Applied")


async def test_no_topic_is_made_whose_finalizer_could_not_be_written(stage: TopicStage) -> None:
    stage.api.create("t", deletionPolicy="Delete")
    stage.api.is_down = True
    with pytest.raises(TopicApiError):
        await stage.run()
    assert await stage.queues("t") == [None, None]


async def test_a_deleted_resource_is_not_written_repeatedly(stage: TopicStage) -> None:
    stage.api.create("t")
    topics = stage.api.topics()
    stage.api.delete("t")
    target = stage.cluster.target()
    first = await stage.controller.run_cluster(target, topics)
    second = await stage.controller.run_cluster(target, topics)
    assert (first.writes, second.writes, second.requeue_seconds) == (1, 0, None)


async def test_many_topics_are_made_in_parts(stage: TopicStage) -> None:
    for number in range(STEPS_PER_RUN + 10):
        stage.api.create(f"t{number}")
    first = await stage.run()
    assert (first.topics_changed, first.requeue_seconds) == (2 * STEPS_PER_RUN, 0.0)
    second = await stage.run()
    assert (second.topics_changed, second.requeue_seconds) == (20, None)
    assert stage.api.writes["status"] == STEPS_PER_RUN + 10
