"""Tests single decisions of `plan_topics`."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.fakes.topics.topic_world import TopicWorld, topic
from gantrymq.operator.topics.plan import plan_topics, unmanaged
from gantrymq.operator.topics.removal import GONE_S
from gantrymq.operator.topics.values import (
    FINALIZER,
    BrokerTopic,
    ClusterStage,
    Refusal,
    TopicResource,
)
from gantrymq.operator.topics.verdicts import QUIET_S


@pytest.fixture
def world() -> TopicWorld:
    return TopicWorld()


def ready(world: TopicWorld, name: str) -> tuple[bool, str, str]:
    condition = world.resources[name].status.condition("Ready")
    assert condition is not None
    return condition.is_true, condition.reason, condition.message


def drained_message(resource: TopicResource) -> str:
    condition = resource.status.condition("Drained")
    assert condition is not None
    assert not condition.is_true
    return condition.message


# ---------------------------------------------------------------------- what is said


def test_an_unavailable_group_is_named_and_the_others_continue(world: TopicWorld) -> None:
    world.away = {"broker-1"}
    world.add(topic("t"))
    world.run()
    assert world.tables["broker-0"]["t"] == BrokerTopic(4, 4)
    assert ready(world, "t") == (
        False,
        "MasterAway",
        "waits for a master: broker-1 has no master; the topic is on broker-0",
    )


def test_a_failover_changes_no_status_unless_the_spec_changed(world: TopicWorld) -> None:
    world.add(topic("t"))
    world.settle()
    writes = world.status_writes
    world.away = {"broker-0"}
    world.settle()
    assert world.status_writes == writes
    world.edit("t", perm="R")
    world.settle()
    assert ready(world, "t")[:2] == (False, "MasterAway")


def test_an_invalid_spec_is_reported_and_recovers(world: TopicWorld) -> None:
    world.add(topic("t", topicName="%DLQ%payments"))
    world.run()
    assert ready(world, "t")[:2] == (False, "InvalidSpec")
    assert "consumer group" in ready(world, "t")[2]
    world.resources["t"] = replace(topic("t"), generation=2)
    world.settle()
    assert ready(world, "t")[:2] == (True, "Applied")


def test_a_status_keeps_the_time_of_a_condition_that_stays_as_it_was(world: TopicWorld) -> None:
    world.add(topic("t"))
    world.run()
    before = world.resources["t"].status.conditions
    world.now += 1000
    world.edit("t", writeQueues=8)
    world.run()
    after = world.resources["t"].status
    assert after.observed_generation == 2
    assert after.conditions == before


def test_a_group_that_the_cluster_does_not_have_is_named(world: TopicWorld) -> None:
    world.add(topic("t", groups={"broker-7": {"writeQueues": 1}}))
    world.settle()
    assert ready(world, "t")[0]
    assert "names broker-7, which the cluster does not have" in ready(world, "t")[2]


def test_a_paused_cluster_is_not_changed_and_reported(world: TopicWorld) -> None:
    world.is_paused = True
    world.add(topic("t"))
    world.run()
    assert world.tables["broker-0"] == {}
    assert ready(world, "t")[:2] == (False, "ClusterPaused")


def test_a_refused_configuration_is_not_tried_again_before_its_time(world: TopicWorld) -> None:
    world.add(topic("t"))
    refusal = Refusal(BrokerTopic(4, 4), "no room", world.now + 30)
    snapshot = replace(world.snapshot(), refusals={("broker-0", "t"): refusal})
    plan = plan_topics(snapshot, world.now)
    (step,) = plan.steps
    assert [each.group for each in step.changes] == ["broker-1"]
    assert step.status is not None
    assert step.status.phase == "Refused"
    assert "broker-0: no room" in step.status.conditions[0].message
    assert plan.requeue_seconds == 30
    later = plan_topics(snapshot, world.now + 31)
    assert [each.group for each in later.steps[0].changes] == ["broker-0", "broker-1"]


def test_a_refusal_of_another_configuration_does_not_count(world: TopicWorld) -> None:
    world.add(topic("t", writeQueues=2))
    refusal = Refusal(BrokerTopic(4, 4), "no room", world.now + 30)
    plan = plan_topics(replace(world.snapshot(), refusals={("broker-0", "t"): refusal}), world.now)
    assert len(plan.steps[0].changes) == 2


# ---------------------------------------------------------------------- ownership


def test_of_two_resources_of_one_age_the_smaller_uid_wins(world: TopicWorld) -> None:
    world.add(topic("b", uid="1", topicName="T"))
    world.add(topic("a", uid="2", topicName="T", writeQueues=8))
    world.settle()
    assert world.tables["broker-0"]["T"].write == 4
    assert ready(world, "a")[1] == "NameTaken"


def test_a_loser_inherits_what_a_winner_made_that_is_gone_without_a_trace(
    world: TopicWorld,
) -> None:
    world.add(topic("first", created=1, topicName="T"))
    world.add(topic("second", created=2, topicName="T", writeQueues=8))
    world.settle()
    world.owned |= {(group, "T") for group in world.tables}
    del world.resources["first"]
    world.settle()
    assert ready(world, "second")[:2] == (True, "Applied")
    assert world.tables["broker-0"]["T"] == BrokerTopic(8, 8)


def test_a_loser_of_a_winner_that_made_nothing_inherits_nothing(world: TopicWorld) -> None:
    world.by_hand("broker-0", "T", BrokerTopic(1, 1))
    world.add(topic("first", created=1, topicName="T"))
    world.add(topic("second", created=2, topicName="T", writeQueues=8))
    world.settle()
    assert ready(world, "first")[1] == "Differs"
    world.delete("first")
    world.settle()
    assert ready(world, "second")[1] == "Differs"
    assert world.tables["broker-0"]["T"] == BrokerTopic(1, 1)


def test_properties_that_the_spec_does_not_have_stay(world: TopicWorld) -> None:
    hand_made = BrokerTopic(2, 2, 7, False, (("reserve.time", "5"),), "MULTI_TAG", 1)
    world.by_hand("broker-0", "t", hand_made)
    world.add(topic("t", adopt=True, attributes={"message.type": "FIFO"}))
    world.settle()
    expected = (("message.type", "FIFO"), ("reserve.time", "5"))
    assert world.tables["broker-0"]["t"] == replace(hand_made, write=4, read=4, attributes=expected)


def test_topics_of_brokers_groups_and_resources_are_not_unmanaged(world: TopicWorld) -> None:
    names = ("orders", "orders_REPLY_TOPIC", "broker-0", "TBW102", "rmq_sys_x", "%RETRY%g")
    for name in (*names, "%DLQ%g", "managed", "stray", "another"):
        world.by_hand("broker-0", name, BrokerTopic(1, 1))
    world.add(topic("managed"))
    assert unmanaged(world.snapshot()) == ("another", "stray")


# ---------------------------------------------------------------------- shrinking


def shrinking(world: TopicWorld) -> None:
    """A topic whose write queues went from 4 to 2 just now."""
    world.add(topic("t"))
    world.settle()
    world.undrained = {("broker-0", "t")}
    world.edit("t", writeQueues=2)
    world.run()


def test_write_queues_go_first(world: TopicWorld) -> None:
    shrinking(world)
    assert world.tables["broker-0"]["t"] == BrokerTopic(2, 4)
    assert ready(world, "t")[:2] == (True, "Shrinking")
    assert "stops writes first" in drained_message(world.resources["t"])


def test_no_question_is_asked_while_producers_may_have_the_old_route(world: TopicWorld) -> None:
    shrinking(world)
    world.now += QUIET_S - 1
    plan = plan_topics(world.snapshot(), world.now)
    assert plan.questions == ()
    assert plan.requeue_seconds == 1
    world.now += 1
    questions = plan_topics(world.snapshot(), world.now).questions
    assert [(each.group, each.topic, each.first_queue) for each in questions] == [
        ("broker-0", "t", 2),
        ("broker-1", "t", 2),
    ]


def test_each_group_shrinks_when_it_is_drained(world: TopicWorld) -> None:
    shrinking(world)
    world.now += QUIET_S
    world.run()
    assert world.tables["broker-0"]["t"] == BrokerTopic(2, 4)
    assert world.tables["broker-1"]["t"] == BrokerTopic(2, 2)
    message = drained_message(world.resources["t"])
    assert message == "broker-0 waits for consumer group billing (queues 2)"


def test_a_question_that_is_not_asked_again_changes_no_word(world: TopicWorld) -> None:
    shrinking(world)
    world.now += QUIET_S
    world.run()
    plan = plan_topics(world.snapshot(), world.now + 1)
    assert plan.steps == ()
    assert len(plan.questions) == 1


def test_write_queues_that_were_raised_by_hand_start_the_wait_anew(world: TopicWorld) -> None:
    shrinking(world)
    world.now += QUIET_S - 10
    world.by_hand("broker-0", "t", BrokerTopic(4, 4))
    world.undrained = set()
    world.run()
    assert world.tables["broker-0"]["t"] == BrokerTopic(2, 4)
    world.now += 11
    world.run()
    assert world.tables["broker-0"]["t"] == BrokerTopic(2, 4)
    world.settle()
    assert world.tables["broker-0"]["t"] == BrokerTopic(2, 2)


def test_a_group_that_begins_to_shrink_later_waits_for_its_own_producers(
    world: TopicWorld,
) -> None:
    world.undrained = {("broker-1", "t")}
    world.add(topic("t"))
    world.settle()
    world.by_hand("broker-1", "t", BrokerTopic(2, 6))
    world.run()
    world.now += QUIET_S
    world.by_hand("broker-0", "t", BrokerTopic(2, 6))
    world.run()
    assert world.tables["broker-0"]["t"] == BrokerTopic(4, 6)
    world.now += QUIET_S
    world.run()
    assert world.tables["broker-0"]["t"] == BrokerTopic(4, 4)


def test_a_group_that_goes_away_while_it_shrinks_is_still_shrinking(world: TopicWorld) -> None:
    shrinking(world)
    world.away = {"broker-0"}
    world.undrained = set()
    world.settle()
    assert ready(world, "t")[:2] == (True, "Shrinking")
    assert drained_message(world.resources["t"]) == "broker-0 has no master"
    groups = world.resources["t"].status.groups
    assert [(each.write, each.read) for each in groups] == [(2, 4), (2, 2)]
    world.away = set()
    world.settle()
    assert ready(world, "t")[:2] == (True, "Applied")


def test_a_shrink_that_is_taken_back_is_over(world: TopicWorld) -> None:
    shrinking(world)
    world.edit("t", writeQueues=4)
    world.settle()
    assert world.tables["broker-0"]["t"] == BrokerTopic(4, 4)
    assert ready(world, "t")[:2] == (True, "Applied")
    assert world.resources["t"].status.condition("Drained") is None


# ---------------------------------------------------------------------- deletion


def deleted(world: TopicWorld, policy: str) -> None:
    world.add(topic("t", deletionPolicy=policy))
    world.settle()
    world.delete("t")


def test_only_policies_that_delete_have_a_finalizer(world: TopicWorld) -> None:
    for number, policy in enumerate(("Retain", "Delete", "DeleteWhenDrained")):
        world.add(topic(f"t{number}", deletionPolicy=policy))
    world.settle()
    has = [world.resources[f"t{number}"].finalizers for number in range(3)]
    assert has == [(), (FINALIZER,), (FINALIZER,)]


def test_a_policy_that_becomes_retain_drops_the_finalizer(world: TopicWorld) -> None:
    deleted(world, "Delete")
    world.away = {"broker-0"}
    world.edit("t", deletionPolicy="Retain")
    world.run()
    assert world.resources == {}
    assert "t" in world.tables["broker-0"]


def test_finalizers_of_others_stay(world: TopicWorld) -> None:
    world.add(replace(topic("t", deletionPolicy="Delete"), finalizers=("example.org/x",)))
    world.settle()
    assert set(world.resources["t"].finalizers) == {"example.org/x", FINALIZER}
    world.delete("t")
    world.settle()
    assert set(world.resources["t"].finalizers) == {"example.org/x"}
    assert "t" not in world.tables["broker-0"]


def test_a_group_without_a_master_is_waited_for_ten_minutes(world: TopicWorld) -> None:
    deleted(world, "Delete")
    world.away = {"broker-1"}
    world.run()
    assert "t" not in world.tables["broker-0"]
    world.run()
    assert ready(world, "t")[1] == "Deleting"
    assert "waits for a master of broker-1" in ready(world, "t")[2]
    world.now += GONE_S
    world.run()
    assert world.resources == {}
    assert "t" in world.tables["broker-1"]


def test_undrained_topics_are_deleted_on_no_group(world: TopicWorld) -> None:
    deleted(world, "DeleteWhenDrained")
    world.undrained = {("broker-0", "t")}
    world.run()
    assert all("t" in table for table in world.tables.values())
    assert "consumer group billing" in ready(world, "t")[2]
    world.undrained = set()
    world.now += 20
    world.settle()
    assert world.resources == {}
    assert not any("t" in table for table in world.tables.values())


def test_a_deleted_resource_hands_the_topic_over_to_the_next(world: TopicWorld) -> None:
    world.add(topic("first", created=1, topicName="T", deletionPolicy="Delete"))
    world.add(topic("second", created=2, topicName="T", writeQueues=8))
    world.settle()
    world.delete("first")
    world.settle()
    assert list(world.resources) == ["second"]
    assert world.tables["broker-0"]["T"] == BrokerTopic(8, 8)
    assert ready(world, "second")[:2] == (True, "Applied")


@pytest.mark.parametrize("stage", [ClusterStage.MISSING, ClusterStage.TERMINATING])
def test_a_live_topic_without_a_cluster_gets_no_finalizer(
    world: TopicWorld, stage: ClusterStage
) -> None:
    world.stage = stage
    world.add(topic("t", deletionPolicy="Delete"))
    world.run()
    assert world.resources["t"].finalizers == ()
    assert not ready(world, "t")[0]


# ---------------------------------------------------------------------- order


def test_order_entries_name_the_groups_that_have_the_topic(world: TopicWorld) -> None:
    world.away = {"broker-1"}
    world.add(topic("t", order=True))
    world.run()
    assert world.order == {"names:9876": {"t": "broker-0:4"}}
    world.away = set()
    world.settle()
    assert world.order == {"names:9876": {"t": "broker-0:4;broker-1:4"}}
    world.away = {"broker-0"}
    world.settle()
    assert world.order == {"names:9876": {"t": "broker-0:4;broker-1:4"}}


def test_an_order_entry_that_was_lost_is_written_again(world: TopicWorld) -> None:
    world.add(topic("t", order=True))
    world.settle()
    world.order["other:9876"] = {}
    world.settle()
    assert world.order["other:9876"] == {"t": "broker-0:4;broker-1:4"}
