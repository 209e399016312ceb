"""Pull consumers, against brokers in virtual time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.group.offset_store import RemoteOffsets
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.group.subscriptions import Sql, SubscriptionError
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.pull.lite_pull import LitePull
from gantrymq.client.core.pull.lite_queue import Buffering
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.wire import javajson
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_ONEWAY, Command
from gantrymq.wire.jsonvalue import JsonObject, object_of

QUEUES = [MessageQueue("T", "broker-a", n) for n in range(4)]
FIRST = LiteSettings(consume_from=ConsumeFrom.FIRST_OFFSET)


class Reader:
    """A pull consumer of group G in a client of its own."""

    def __init__(
        self,
        cluster: Cluster,
        name: str = "me@1",
        settings: LiteSettings = FIRST,
        *queues: MessageQueue,
    ) -> None:
        self.client = cluster.client(name)
        self.instance = self.client.instance
        self.lite = LitePull(self.instance, "G", settings, RemoteOffsets(self.instance, "G"))
        self.instance.start()
        self.client.run(self.lite.start())
        if queues:
            self.client.run(self.lite.assign(queues))
        cluster.driver.settle()

    def poll(self, timeout_s: float = 2.0) -> list[str]:
        return bodies(self.client.run(self.lite.poll(timeout_s)))

    def poll_all(self, timeout_s: float = 2.0) -> list[str]:
        found: list[str] = []
        while some := self.poll(timeout_s):
            found += some
        return found


def bodies(messages: list[ReceivedMessage]) -> list[str]:
    return [each.body.decode() for each in messages]


def stored(cluster: Cluster, queue_id: int = 0) -> int | None:
    return cluster.broker.state.offsets.find("G", "T", queue_id)


# ---------------------------------------------------------------------- assigned queues


def test_assigned_queues_are_read_from_their_beginning() -> None:
    cluster = Cluster()
    cluster.store("a", "b", queue_id=0)
    cluster.store("c", queue_id=1)
    cluster.store("not mine", queue_id=2)
    reader = Reader(cluster, "me@1", FIRST, *QUEUES[:2])
    assert sorted(reader.poll_all()) == ["a", "b", "c"]
    assert reader.lite.assignment == QUEUES[:2]


def test_a_message_that_comes_later_ends_a_poll() -> None:
    cluster = Cluster()
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    clock = cluster.driver.clock
    cluster.driver.at(clock.monotonic() + 3.0, lambda: cluster.store("late"))
    assert reader.poll(timeout_s=60.0) == ["late"]
    assert clock.monotonic() < 4.0
    assert reader.poll(timeout_s=2.0) == []


def test_an_assignment_is_replaced() -> None:
    cluster = Cluster()
    cluster.store("a", queue_id=0)
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    assert reader.poll() == ["a"]
    reader.client.run(reader.lite.assign([QUEUES[1]]))
    cluster.store("b", queue_id=0)
    cluster.store("c", queue_id=1)
    assert reader.poll_all() == ["c"]


def test_subscribing_and_assigning_exclude_each_other() -> None:
    reader = Reader(Cluster(), "me@1", FIRST, QUEUES[0])
    with pytest.raises(StateError, match="mutually exclusive"):
        reader.lite.subscribe("T")
    other = Reader(Cluster())
    other.lite.subscribe("T")
    with pytest.raises(StateError, match="mutually exclusive"):
        other.client.run(other.lite.assign([QUEUES[0]]))


# ---------------------------------------------------------------------- subscribed topics


def test_members_of_a_group_share_a_topic() -> None:
    cluster = Cluster()
    first = Reader(cluster, "a@1")
    first.lite.subscribe("T")
    cluster.pass_time(3.0)
    assert first.lite.assignment == QUEUES
    second = Reader(cluster, "b@1")
    second.lite.subscribe("T")
    cluster.pass_time(5.0)
    assert first.lite.assignment == QUEUES[:2]
    assert second.lite.assignment == QUEUES[2:]
    first.client.run(first.lite.close())
    cluster.pass_time(5.0)
    assert second.lite.assignment == QUEUES


def test_only_subscribed_tags_are_returned() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    reader.lite.subscribe("T", "Aa || x")
    cluster.store("wanted", TAGS="Aa")
    cluster.store("other", TAGS="BB")
    cluster.store("wanted too", TAGS="x")
    assert reader.poll_all() == ["wanted", "wanted too"]


def test_messages_sent_after_a_filter_change_are_returned() -> None:
    """A pull of before, which the broker holds, would pass over it."""
    cluster = Cluster()
    reader = Reader(cluster)
    reader.lite.subscribe("T", "x")
    assert reader.poll() == []
    reader.lite.subscribe("T", "y")
    cluster.store("wanted", TAGS="y")
    assert reader.poll(timeout_s=30.0) == ["wanted"]


def test_messages_sent_after_an_assignment_with_another_filter_are_returned() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    for expression in ("x", "y"):
        reader.client.run(reader.lite.assign(QUEUES, expression))
        assert reader.poll() == []
    cluster.store("wanted", TAGS="y")
    assert reader.poll(timeout_s=30.0) == ["wanted"]


def test_messages_without_a_match_count_as_progress() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    reader.lite.subscribe("T", "x")
    cluster.store("no", "no", TAGS="y")
    cluster.pass_time(12.0)
    assert reader.poll() == []
    cluster.pass_time(12.0)
    assert stored(cluster) == 2


def test_an_unsubscribed_topic_returns_no_messages() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    reader.lite.subscribe("T")
    cluster.pass_time(3.0)
    reader.lite.unsubscribe("T")
    cluster.pass_time(3.0)
    assert reader.lite.assignment == []
    cluster.store("a")
    assert reader.poll() == []


def test_a_refused_expression_is_raised_by_poll() -> None:
    cluster = Cluster(settings=BrokerSettings(enable_property_filter=True))
    reader = Reader(cluster)
    reader.lite.subscribe("T", Sql("a >"))
    with pytest.raises(SubscriptionError, match="SUBSCRIPTION_PARSE_FAILED"):
        reader.poll()
    reader.lite.subscribe("T", Sql("a > 1"))
    cluster.store("low", a="1")
    cluster.store("high", a="2")
    cluster.pass_time(3.0)
    assert reader.poll_all() == ["high"]


def test_a_dead_broker_does_not_block_the_others() -> None:
    cluster = Cluster("broker-a", "broker-b")
    reader = Reader(cluster)
    reader.lite.subscribe("T")
    cluster.pass_time(3.0)
    cluster.stop("broker-a")
    cluster.store("b", broker_name="broker-b")
    assert reader.poll(timeout_s=5.0) == ["b"]
    cluster.restart("broker-a")
    cluster.store("a", broker_name="broker-a")
    assert reader.poll(timeout_s=5.0) == ["a"]


# ---------------------------------------------------------------------- progress


def test_consumption_continues_after_a_request_hook_failed() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    cluster.faults[RequestCode.LITE_PULL_MESSAGE] = lambda *_: ValueError("the hook's own")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    del cluster.faults[RequestCode.LITE_PULL_MESSAGE]
    assert reader.poll() == ["a", "b"]
    assert any("the hook's own" in line for line in cluster.driver.lines)


def test_messages_of_the_last_poll_are_not_progress_yet() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", replace(FIRST, pull_batch=2), QUEUES[0])
    assert reader.poll() == ["a", "b"]
    cluster.pass_time(20.0)
    assert stored(cluster) == 0
    assert reader.poll() == ["c"]
    cluster.pass_time(20.0)
    assert stored(cluster) == 2


@pytest.mark.parametrize(("commit", "expected"), [(True, 2), (False, 0)])
def test_closing_commits_the_last_poll_if_requested(commit: bool, expected: int) -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    assert reader.poll() == ["a", "b"]
    reader.client.run(reader.lite.close(commit=commit))
    assert stored(cluster) == expected


def test_iteration_commits_all_but_the_last_message() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    for expected in ("a", "b"):
        message = reader.client.run(reader.lite.next_message())
        assert message is not None
        assert message.body.decode() == expected
    reader.client.run(reader.lite.close(commit=False))
    assert stored(cluster) == 1


def test_an_application_can_commit_explicitly() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    settings = replace(FIRST, auto_commit=False)
    reader = Reader(cluster, "me@1", settings, QUEUES[0])
    assert reader.poll() == ["a", "b", "c"]
    assert reader.poll() == []
    cluster.pass_time(60.0)
    assert stored(cluster) in (None, 0)
    reader.client.run(reader.lite.commit({QUEUES[0]: 1}))
    assert stored(cluster) == 1
    assert reader.client.run(reader.lite.committed(QUEUES[0])) == 1
    reader.client.run(reader.lite.commit())
    assert stored(cluster) == 1
    reader.client.run(reader.lite.close())
    again = Reader(cluster, "me@2", settings, QUEUES[0])
    assert again.poll() == ["b", "c"]
    again.client.run(again.lite.commit())
    assert stored(cluster) == 3


# ---------------------------------------------------------------------- going elsewhere


def test_seeking() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c", "d")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    run, lite = reader.client.run, reader.lite
    assert reader.poll() == ["a", "b", "c", "d"]
    run(lite.seek(QUEUES[0], 2))
    assert reader.poll() == ["c", "d"]
    run(lite.seek_to_begin(QUEUES[0]))
    assert reader.poll() == ["a", "b", "c", "d"]
    run(lite.seek_to_begin(QUEUES[0]))
    cluster.pass_time(1.0)
    run(lite.seek_to_end(QUEUES[0]))
    assert reader.poll() == []
    cluster.store("e")
    assert reader.poll() == ["e"]
    with pytest.raises(StateError, match="seek offset = 9, min offset = 0, max offset = 5"):
        run(lite.seek(QUEUES[0], 9))
    with pytest.raises(StateError, match="not in assigned list"):
        run(lite.seek(QUEUES[1], 0))


def test_a_seek_counts_as_progress() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c", "d")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    assert reader.poll() == ["a", "b", "c", "d"]
    reader.client.run(reader.lite.seek(QUEUES[0], 1))
    reader.client.run(reader.lite.close())
    assert stored(cluster) == 1


def test_a_time_has_an_offset() -> None:
    cluster = Cluster()
    cluster.store("a")
    cluster.pass_time(10.0)
    moment = cluster.driver.clock.wall_ms()
    cluster.store("b")
    reader = Reader(cluster)
    assert reader.client.run(reader.lite.offset_for_timestamp(QUEUES[0], moment)) == 1


def test_a_paused_queue_returns_no_messages() -> None:
    cluster = Cluster()
    cluster.store("a", queue_id=0)
    cluster.store("b", queue_id=1)
    reader = Reader(cluster, "me@1", FIRST, *QUEUES[:2])
    cluster.pass_time(1.0)
    reader.lite.pause([QUEUES[0]])
    cluster.store("c", queue_id=0)
    assert reader.poll_all() == ["b"]
    reader.lite.resume([QUEUES[0]])
    assert reader.poll_all() == ["a", "c"]


# ---------------------------------------------------------------------- bounds


def test_pulls_wait_for_room() -> None:
    cluster = Cluster()
    cluster.store(*(f"m{n}" for n in range(60)))
    settings = replace(FIRST, buffering=Buffering(queue_messages_max=20))
    reader = Reader(cluster, "me@1", settings, QUEUES[0])
    cluster.pass_time(100.0)
    assert len(cluster.asked_of(RequestCode.LITE_PULL_MESSAGE)) == 2
    assert reader.poll_all() == [f"m{n}" for n in range(60)]


def test_room_is_shared_by_all_queues() -> None:
    cluster = Cluster()
    for n in range(4):
        cluster.store(*(f"m{n}" for _ in range(30)), queue_id=n)
    settings = replace(FIRST, buffering=Buffering(messages_max=10))
    reader = Reader(cluster, "me@1", settings, *QUEUES)
    cluster.pass_time(1.0)
    assert len(cluster.asked_of(RequestCode.LITE_PULL_MESSAGE)) <= 4
    assert len(reader.poll_all()) == 120


def test_queues_take_turns() -> None:
    cluster = Cluster()
    for n in range(2):
        cluster.store(*(f"{n}" for _ in range(4)), queue_id=n)
    reader = Reader(cluster, "me@1", replace(FIRST, pull_batch=2), *QUEUES[:2])
    cluster.pass_time(1.0)
    one_by_one = [bodies(reader.lite.take(1))[0] for _ in range(8)]
    assert one_by_one == ["0", "0", "1", "1", "0", "0", "1", "1"]


# ---------------------------------------------------------------------- listeners and ends


def test_a_listener_is_told_of_new_queues() -> None:
    cluster = Cluster()
    reader = Reader(cluster)
    heard: list[tuple[str, int]] = []
    reader.lite.on_queues_changed("T", lambda topic, now: heard.append((topic, len(now))))
    cluster.pass_time(60.0)
    assert heard == []
    cluster.add_topic("T", queues=6)
    cluster.pass_time(31.0)
    assert heard == [("T", 6)]


def test_a_waiting_call_is_woken_by_the_close() -> None:
    cluster = Cluster()
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    ends: list[object] = []

    async def wait() -> None:
        ends.append(await reader.lite.next_message())

    cluster.driver.start(wait(), "waits", reader.client.id)
    cluster.pass_time(5.0)
    assert ends == []
    reader.client.run(reader.lite.close())
    cluster.driver.settle()
    assert ends == [None]
    with pytest.raises(StateError, match="SHUTDOWN_ALREADY"):
        reader.poll()


def test_heartbeats_say_the_kind_of_consumer() -> None:
    reader = Reader(Cluster())
    reader.lite.subscribe("T", "a")
    data = reader.lite.data
    assert (data.consume_type, data.message_model) == ("CONSUME_ACTIVELY", "CLUSTERING")
    assert [each.topic for each in data.subscriptions] == ["T"]
    assert list(reader.lite.topics) == ["T"]


def test_a_strategy_that_fails_once_is_asked_again() -> None:
    cluster = Cluster()
    cluster.store("a")
    calls: list[str] = []

    def mine(own: str, queues: Sequence[MessageQueue], ids: Sequence[str]) -> list[MessageQueue]:
        calls.append(own)
        if len(calls) == 1:
            raise ValueError("once")
        return list(queues)

    reader = Reader(cluster, "me@1", replace(FIRST, allocate=mine))
    reader.lite.subscribe("T")
    assert reader.poll(10.0) == ["a"]


def sharing(cluster: Cluster, during_change: Callable[[Reader], None]) -> Reader:
    """One whose share becomes another one; what is done while a broker is told of the progress of
    the queue that it gives up."""
    share = [slice(0, 2)]

    def mine(_own: str, queues: list[MessageQueue], _ids: list[str]) -> list[MessageQueue]:
        return queues[share[0]]

    reader = Reader(cluster, "me@1", replace(FIRST, allocate=mine))
    reader.lite.subscribe("T")
    cluster.pass_time(5.0)
    assert reader.lite.assignment == QUEUES[:2]

    def meanwhile(_address: str, command: Command) -> Command:
        if not command.flag & FLAG_ONEWAY:
            cluster.faults.clear()
            during_change(reader)
        return command

    assert reader.poll_all() == ["a"]
    cluster.faults[RequestCode.UPDATE_CONSUMER_OFFSET] = meanwhile
    share[0] = slice(1, 3)
    cluster.pass_time(30.0)
    assert not cluster.faults
    return reader


def test_a_topic_can_be_unsubscribed_during_a_rebalance() -> None:
    cluster = Cluster(topics={"T": 4, "T2": 4})
    cluster.store("a")
    reader = sharing(cluster, lambda reader: reader.lite.unsubscribe("T"))
    assert reader.lite.assignment == []
    reader.lite.subscribe("T2")
    cluster.pass_time(5.0)
    assert {queue.topic for queue in reader.lite.assignment} == {"T2"}


def test_queues_can_be_assigned_while_others_are_released() -> None:
    cluster = Cluster()
    cluster.store("a")

    def assign(reader: Reader) -> None:
        reader.lite.unsubscribe("T")
        cluster.driver.start(reader.lite.assign(QUEUES[3:]), "assign", "me@1")

    reader = sharing(cluster, assign)
    assert reader.lite.assignment == QUEUES[3:]


def test_buffered_messages_are_returned_without_waiting() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    cluster.pass_time(0.1)
    assert [bodies(reader.lite.at_hand(limit)) for limit in (1, 0, 0)] == [["a"], ["b", "c"], []]


def test_only_one_task_can_poll() -> None:
    """Another one would say that what this one was given is done."""
    cluster = Cluster()
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    refusals: list[str] = []

    async def poll_too() -> None:
        try:
            await reader.lite.poll(1.0)
        except StateError as error:
            refusals.append(str(error))
        with pytest.raises(StateError, match="another task waits"):
            reader.lite.at_hand()

    def begin() -> None:
        cluster.driver.start(poll_too(), "other")

    clock = cluster.driver.clock
    cluster.driver.at(clock.monotonic() + 1.0, begin)
    cluster.driver.at(clock.monotonic() + 2.0, lambda: cluster.store("late"))
    assert reader.poll(timeout_s=60.0) == ["late"]
    assert refusals[0].startswith("another task waits for messages of this consumer already")
    assert reader.poll(timeout_s=1.0) == []


def test_a_subscription_replaces_an_older_one_whatever_the_clock_says() -> None:
    """It may have been set back; brokers heed the higher version."""
    cluster = Cluster()
    reader = Reader(cluster)
    versions = []
    for expression in ("*", "a", "b"):
        reader.lite.subscribe("T", expression)
        versions += [each.sub_version for each in reader.lite.data.subscriptions]
    assert versions == sorted(set(versions))


def asked(reader: Reader, code: RequestCode, ext: dict[str, str], body: bytes = b"") -> JsonObject:
    answer = reader.client.run(reader.instance.serve("broker", Command(code, ext=ext, body=body)))
    return {} if answer is None else object_of(javajson.loads(answer.body), "an answer")


def test_operators_get_the_running_info() -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", replace(FIRST, pull_batch=1), QUEUES[0])
    assert reader.poll() == ["a"]
    assert reader.poll() == ["b"]
    key = QUEUES[0].to_key()
    bean = asked(reader, RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G"})
    properties = object_of(bean["properties"], "properties")
    assert properties["PROP_CONSUME_TYPE"] == "CONSUME_ACTIVELY"
    queue = object_of(object_of(bean["mqTable"], "queues")[key], "a queue")
    assert (queue["commitOffset"], queue["cachedMsgCount"], queue["cachedMsgMinOffset"]) == (
        1,
        1,
        2,
    )
    ext = {"group": "G", "topic": "T"}
    bean = asked(reader, RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ext)
    assert bean["messageQueueTable"] == {key: 1}


def test_operators_reset_the_offset() -> None:
    """Or else it would store its own progress over theirs."""
    cluster = Cluster()
    cluster.store("a", "b", "c")
    reader = Reader(cluster, "me@1", FIRST, QUEUES[0])
    assert reader.poll() == ["a", "b", "c"]
    ext = {"group": "G", "topic": "T", "timestamp": "0", "isForce": "true"}
    body = javajson.dumps_fastjson(ResetOffsetBody({QUEUES[0]: 1}).to_json())
    asked(reader, RequestCode.RESET_CONSUMER_CLIENT_OFFSET, ext, body)
    cluster.pass_time(6.0)
    assert stored(cluster) == 1
    assert reader.poll() == ["b", "c"]
    reader.client.run(reader.lite.close())
    assert stored(cluster) == 3
