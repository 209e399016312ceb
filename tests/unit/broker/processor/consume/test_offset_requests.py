"""Offsets by request, and commits."""

from __future__ import annotations

import pytest

from gantrymq.base.bounds import LONG_MAX
from gantrymq.broker.core.engine import tasks
from gantrymq.broker.core.names.system_topics import HALF_TOPIC, TRANSACTION_GROUP
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.pops import pop
from gantrymq.fakes.brokers.pulls import COMMITS, PulledBroker
from gantrymq.fakes.brokers.replicas import SLAVE
from gantrymq.fakes.stores.store import message
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.offsets import QueryCorrectionOffsetBody
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import (
    CloneGroupOffsetRequest,
    QueryConsumerOffsetRequest,
    QueryCorrectionOffsetRequest,
    ResetOffsetRequest,
    UpdateConsumerOffsetRequest,
)
from gantrymq.wire.javajson import loads


def failed(error: Exception) -> None:
    raise error


def opened(messages: int = 5, *, group: str = "g") -> OpenedBroker:
    """With a topic of two queues, the first of which has messages."""
    broker = OpenedBroker()
    broker.state.topics.put(TopicConfig("T", 2, 2), 1)
    broker.state.groups.put(GroupConfig(group_name=group), 1)
    for number in range(messages):
        broker.state.task_runner.start(tasks.put(message(number)), lambda _: None, failed)
    broker.settle()
    return broker


def query(broker: OpenedBroker, queue_id: int = 0, *, zero: bool | None = None) -> Command:
    header = QueryConsumerOffsetRequest(
        consumer_group="g", topic="T", queue_id=queue_id, set_zero_if_not_found=zero
    )
    return broker.ask(RequestCode.QUERY_CONSUMER_OFFSET, header)


def update(
    broker: OpenedBroker, offset: int, *, queue_id: int = 0, group: str = "g", topic: str = "T"
) -> Command:
    header = UpdateConsumerOffsetRequest(
        consumer_group=group, topic=topic, queue_id=queue_id, commit_offset=offset
    )
    return broker.ask(RequestCode.UPDATE_CONSUMER_OFFSET, header)


def saved(broker: OpenedBroker, group: str = "g") -> int | None:
    """What the files say: a slave takes it as it is, whatever its log has."""
    return OpenedBroker(files=broker.saved, identity=SLAVE).state.offsets.find(group, "T", 0)


def test_query_returns_the_committed_offset() -> None:
    broker = opened()
    assert update(broker, 3).code == ResponseCode.SUCCESS
    answer = query(broker)
    assert (answer.code, answer.ext) == (ResponseCode.SUCCESS, {"offset": "3"})


def test_a_group_that_is_new_begins_a_young_queue_at_0() -> None:
    broker = opened()
    assert query(broker).ext == {"offset": "0"}
    answer = query(broker, zero=False)
    assert answer.code == ResponseCode.QUERY_NOT_FOUND
    assert answer.remark == "Not found, do not set to zero, maybe this group boot first"


def test_a_group_that_is_new_chooses_where_an_empty_or_older_queue_begins() -> None:
    broker = opened()
    broker.state.memory_bytes = 1000
    for queue_id in (0, 1, 7):
        answer = query(broker, queue_id)
        assert answer.code == ResponseCode.QUERY_NOT_FOUND
        assert answer.remark == "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


def test_an_offset_behind_the_queues_end_is_answered_as_the_end() -> None:
    broker = opened()
    broker.state.offsets.commit("g", "T", 0, 99)
    assert query(broker).ext == {"offset": "5"}


def test_a_commit_behind_the_queues_end_counts_as_the_end() -> None:
    broker = opened()
    assert update(broker, 6).code == ResponseCode.SUCCESS
    assert broker.state.offsets.find("g", "T", 0) == 5
    assert "taken as 5" in broker.lines[-1].text


def test_a_step_back_is_taken_counted_and_said() -> None:
    broker = opened()
    update(broker, 4)
    update(broker, 2)
    assert broker.state.offsets.find("g", "T", 0) == 2
    assert broker.state.offsets.backward_commits == 1
    line = broker.lines[-1].text
    assert line.startswith("[NOTIFYME]update consumer offset less than store.")
    for part in (broker.channel.peer, "T@g", "requestOffset=2", "storeOffset=4"):
        assert part in line


def test_a_commit_reaches_the_disk_in_time() -> None:
    broker = opened()
    update(broker, 3)
    broker.pass_time(4.9)
    assert not saved(broker)
    broker.pass_time(0.2)
    assert saved(broker) == 3


def test_commit_while_a_reset_is_pending_is_ignored() -> None:
    broker = opened()
    broker.state.resets.assign("g", "T", 0, 1)
    answer = update(broker, 3)
    assert (answer.code, answer.remark) == (0, "Offset has been previously reset")
    assert broker.state.offsets.find("g", "T", 0) is None


def test_commit_for_an_unknown_group_topic_or_queue_is_refused() -> None:
    broker = opened()
    answer = update(broker, 1, group="h")
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert (answer.remark or "").startswith("Group h not exist!")
    answer = update(broker, 1, topic="U")
    assert answer.code == ResponseCode.TOPIC_NOT_EXIST
    assert (answer.remark or "").startswith("Topic U not exist!")
    for answer in (
        update(broker, -1),
        update(broker, 0, queue_id=2),
        update(broker, 0, queue_id=-1),
    ):
        assert answer.code == ResponseCode.INVALID_PARAMETER
    assert len(broker.state.offsets) == 0


def test_commits_go_on_in_queues_that_a_topic_lost() -> None:
    broker = opened()
    broker.state.topics.put(TopicConfig("T", 0, 0), 2)
    assert update(broker, 3).code == ResponseCode.SUCCESS


def test_when_the_table_is_full_known_offsets_still_move() -> None:
    broker = opened()
    broker.state.offsets.limit = 1
    assert update(broker, 1).code == ResponseCode.SUCCESS
    assert update(broker, 0, queue_id=1).code == ResponseCode.INVALID_PARAMETER
    assert update(broker, 2).code == ResponseCode.SUCCESS


def clone(broker: OpenedBroker, topic: str | None) -> Command:
    header = CloneGroupOffsetRequest(src_group="g", dest_group="h", topic=topic)
    return broker.ask(RequestCode.CLONE_GROUP_OFFSET, header)


@pytest.mark.parametrize("topic", ["T", None, " "])
def test_a_group_is_put_where_another_one_stands(topic: str | None) -> None:
    broker = opened()
    update(broker, 3)
    assert clone(broker, topic).code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    broker.state.groups.put(GroupConfig(group_name="h"), 2)
    broker.state.offsets.commit("h", "T", 0, 5)
    assert clone(broker, topic).code == ResponseCode.SUCCESS
    assert saved(broker, "h") == 3


def test_the_broker_alone_moves_the_offsets_of_transactions() -> None:
    pulled = PulledBroker()
    pulled.store("half", topic=HALF_TOPIC)
    broker, place = pulled.broker, (TRANSACTION_GROUP, HALF_TOPIC, 0)
    before = broker.state.offsets.find(*place)
    commit = UpdateConsumerOffsetRequest(
        consumer_group=TRANSACTION_GROUP, topic=HALF_TOPIC, queue_id=0, commit_offset=1
    )
    reset = ResetOffsetRequest(
        topic=HALF_TOPIC, group=TRANSACTION_GROUP, timestamp=-1, is_force=True
    )
    clone = CloneGroupOffsetRequest(
        src_group="TOOLS_CONSUMER", dest_group=TRANSACTION_GROUP, topic=HALF_TOPIC
    )
    taken = pop(consumer_group=TRANSACTION_GROUP, topic=HALF_TOPIC)
    broker.state.offsets.commit("TOOLS_CONSUMER", HALF_TOPIC, 0, 1)
    for code, header in (
        (RequestCode.UPDATE_CONSUMER_OFFSET, commit),
        (RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, reset),
        (RequestCode.CLONE_GROUP_OFFSET, clone),
        (RequestCode.POP_MESSAGE, taken),
    ):
        answer = broker.ask(code, header)
        assert answer.code in (ResponseCode.INVALID_PARAMETER, ResponseCode.NO_PERMISSION), code
        assert "the broker alone moves them" in (answer.remark or "")
    pulled.ask(
        consumer_group=TRANSACTION_GROUP, topic=HALF_TOPIC, commit_offset=1, sys_flag=COMMITS
    )
    assert broker.state.offsets.find(*place) == before


def test_the_lowest_offsets_of_the_other_groups_are_found() -> None:
    broker = opened()
    offsets = broker.state.offsets
    for group, queue_id, offset in (
        ("g", 0, 3),
        ("h", 0, 2),
        ("i", 0, 1),
        ("g", 1, 0),
        ("h", 1, 0),
    ):
        offsets.commit(group, "T", queue_id, offset)

    def ask(filter_groups: str, compare_group: str) -> dict[int, int]:
        header = QueryCorrectionOffsetRequest(
            filter_groups=filter_groups, compare_group=compare_group, topic="T"
        )
        answer = broker.ask(RequestCode.QUERY_CORRECTION_OFFSET, header)
        return dict(QueryCorrectionOffsetBody.from_json(loads(answer.body)).offsets)

    assert ask("i", "none") == {0: 2, 1: 0}
    assert ask("i", "i") == {0: LONG_MAX, 1: 0}
    assert offsets.find("i", "T", 0) == 1


def test_slaves_get_all_offsets() -> None:
    broker = opened()
    update(broker, 3)
    answer = broker.ask(RequestCode.GET_ALL_CONSUMER_OFFSET)
    again = OpenedBroker()
    again.state.offsets.load(answer.body)
    assert again.state.offsets.find("g", "T", 0) == 3
