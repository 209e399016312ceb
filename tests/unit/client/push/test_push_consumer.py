"""Push consumers against real brokers, in virtual time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.client.core.errors import StateError
from gantrymq.client.core.flow.flow_steps import FOREVER, Wait
from gantrymq.client.core.group.subscriptions import Sql, SubscriptionError
from gantrymq.client.core.instance.hooks import ConsumeContext
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.message.outcomes import LATER, Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.push.consume_settings import ConsumeSettings
from gantrymq.client.core.push.push_consumer import PushGroupMember
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.offsets import ResetOffsetBody
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import QueryConsumerOffsetRequest
from gantrymq.wire.message import record

BROADCAST = dataclasses.replace(FIRST, broadcasting=True)


def stored_offset(cluster: Cluster, queue_id: int = 0, topic: str = "T") -> int:
    header = QueryConsumerOffsetRequest(
        consumer_group="G", topic=topic, queue_id=queue_id, set_zero_if_not_found=False
    )
    answer = cluster.broker.ask(RequestCode.QUERY_CONSUMER_OFFSET, header)
    assert answer.ext is not None, answer
    return int(answer.ext["offset"])


def test_stored_and_new_messages_are_consumed() -> None:
    cluster = Cluster()
    cluster.store("a", "b", queue_id=0)
    cluster.store("c", queue_id=3)
    consumer = Consumer(cluster).start()
    assert sorted(consumer.bodies) == ["a", "b", "c"]
    cluster.store("d", queue_id=2)
    cluster.pass_time(0.1)
    assert consumer.bodies[-1] == "d"


def test_progress_is_stored_every_five_seconds_and_at_the_end() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    consumer = Consumer(cluster).start()
    cluster.pass_time(5.0)
    assert stored_offset(cluster) == 2
    cluster.store("c")
    cluster.pass_time(0.1)
    consumer.close()
    assert stored_offset(cluster) == 3
    again = Consumer(cluster, "other@1").start()
    cluster.store("d")
    cluster.pass_time(0.1)
    assert again.bodies == ["d"]


def unknown_until_stored(cluster: Cluster) -> Callable[[str, Command], Command]:
    """A broker whose topic is so old that it does not say 0 where there is no progress."""

    def answer(_address: str, command: Command) -> Command:
        ext = command.ext or {}
        place = ext["consumerGroup"], ext["topic"], int(ext["queueId"])
        is_known = cluster.broker.state.offsets.find(*place) is not None
        return command if is_known else Command(ResponseCode.QUERY_NOT_FOUND)

    return answer


@pytest.mark.parametrize("broadcasting", [False, True])
@pytest.mark.parametrize("orderly", [False, True])
@pytest.mark.parametrize("old", [[], ["old"]])
def test_the_start_offset_is_progress_before_the_first_message(
    old: list[str], *, orderly: bool, broadcasting: bool
) -> None:
    cluster = Cluster(topics={"T": 1})
    cluster.store(*old)
    cluster.faults[RequestCode.QUERY_CONSUMER_OFFSET] = unknown_until_stored(cluster)
    settings = ConsumeSettings(orderly=orderly, broadcasting=broadcasting)
    first = Consumer(cluster, settings=settings).start()
    cluster.pass_time(10.0)
    first.close()
    cluster.store("meanwhile")
    again = Consumer(cluster, settings=settings).start()
    cluster.pass_time(40.0)
    assert first.bodies == []
    assert again.bodies == ["meanwhile"]


def test_a_guessed_start_offset_is_not_progress() -> None:
    cluster = Cluster(topics={"T": 1})
    cluster.faults[RequestCode.QUERY_CONSUMER_OFFSET] = unknown_until_stored(cluster)
    consumer = Consumer(cluster).start()
    cluster.pass_time(10.0)
    assert [each.commit_offset for each in consumer.member.status()] == [None, None]
    assert not cluster.asked_of(RequestCode.UPDATE_CONSUMER_OFFSET)
    cluster.store("a")
    cluster.pass_time(10.0)
    assert stored_offset(cluster) == 1


def test_members_share_queues_as_they_come_and_go() -> None:
    cluster = Cluster("broker-a", "broker-b")
    every = [(name, number) for name in ("broker-a", "broker-b") for number in range(4)]
    first = Consumer(cluster, "c@1").start()
    assert first.queues == every
    second = Consumer(cluster, "c@2").start()
    cluster.pass_time(3.0)
    assert (first.queues, second.queues) == (every[:4], every[4:])
    third = Consumer(cluster, "c@3").start()
    cluster.pass_time(3.0)
    assert [*first.queues, *second.queues, *third.queues] == every
    second.close()
    cluster.pass_time(3.0)
    assert [*first.queues, *third.queues] == every


def test_nothing_is_lost_while_members_come_and_go() -> None:
    cluster = Cluster()
    sent: list[str] = []

    def send() -> None:
        for queue_id in range(4):
            sent.append(f"{len(sent)}")
            cluster.store(sent[-1], queue_id=queue_id)
        cluster.pass_time(1.0)

    members = [Consumer(cluster, f"c@{number}") for number in range(3)]
    for member in members:
        member.start()
        for _ in range(5):
            send()
    for member in members[:2]:
        member.close()
        for _ in range(5):
            send()
    members[2].close()
    assert {body for member in members for body in member.bodies} == set(sent)
    for queue_id in range(4):
        assert stored_offset(cluster, queue_id) == len(sent) // 4


def test_all_members_of_a_broadcast_group_get_all() -> None:
    cluster = Cluster()
    cluster.store("a")
    hosts = [ClientSettings(client_ip=f"10.0.0.{number}") for number in (1, 2)]
    members = [
        Consumer(cluster, f"{each.client_ip}@x", BROADCAST, client_settings=each).start()
        for each in hosts
    ]
    assert [member.bodies for member in members] == [["a"], ["a"]]
    members[0].close()
    assert "/home/offsets/10.0.0.1@DEFAULT/G/offsets.json" in cluster.driver.files
    cluster.store("b")
    again = Consumer(cluster, "10.0.0.1@y", BROADCAST, client_settings=hosts[0]).start()
    assert again.bodies == ["b"]
    assert not cluster.asked_of(RequestCode.UPDATE_CONSUMER_OFFSET)


def test_a_broadcast_group_drops_what_fails() -> None:
    cluster = Cluster()
    cluster.store("a")
    consumer = Consumer(cluster, settings=BROADCAST, outcome=lambda _: LATER).start()
    cluster.pass_time(60.0)
    assert consumer.bodies == ["a"]
    assert any("BROADCASTING, the message consume failed" in line for line in cluster.driver.lines)


def test_calls_are_traced_if_enabled() -> None:
    cluster = Cluster()
    cluster.add_topic("Traces", queues=1)
    cluster.store("a")
    settings = dataclasses.replace(FIRST, trace=True, trace_topic="Traces")
    consumer = Consumer(cluster, settings=settings).start()
    consumer.close()
    (sent,) = cluster.asked_of(RequestCode.SEND_MESSAGE_V2)
    lines = sent.body.decode().split("\x02")
    assert [line.partition("\x01")[0] for line in lines] == ["SubBefore", "SubAfter", ""]


def test_an_offset_beyond_the_end_is_corrected_by_the_broker() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    answer_once(cluster, RequestCode.QUERY_CONSUMER_OFFSET, Command(0, ext={"offset": "77"}))
    consumer = Consumer(cluster).start()
    cluster.pass_time(2.0)
    cluster.store("c")
    cluster.pass_time(0.1)
    assert consumer.bodies == ["c"]
    assert any("offset illegal" in line for line in cluster.driver.lines)


@pytest.mark.parametrize(
    "code",
    [
        RequestCode.PULL_MESSAGE,
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        RequestCode.LOCK_BATCH_MQ,
    ],
)
def test_an_invalid_response_is_survived(code: RequestCode) -> None:
    cluster = Cluster()
    cluster.store("a")
    answer_once(cluster, code, Command(0, ext={}, body=b"[nonsense"))
    consumer = Consumer(cluster, settings=dataclasses.replace(FIRST, orderly=True)).start()
    cluster.pass_time(3.0)
    assert consumer.bodies == ["a"]


@pytest.mark.parametrize("code", [RequestCode.PULL_MESSAGE, RequestCode.LOCK_BATCH_MQ])
def test_consumption_continues_after_a_request_hook_failed(code: RequestCode) -> None:
    cluster = Cluster()
    cluster.store("a")
    answer_once(cluster, code, ValueError("the hook's own"))
    consumer = Consumer(cluster, settings=dataclasses.replace(FIRST, orderly=True)).start()
    cluster.pass_time(3.0)
    assert consumer.bodies == ["a"]
    assert any("the hook's own" in line for line in cluster.driver.lines)


def answer_once(cluster: Cluster, code: RequestCode, answer: Command | Exception) -> None:
    """Instead of the broker, to the first such request about T, or about no topic."""
    answers = [answer]

    def instead(address: str, command: Command) -> Command | Exception:
        del address
        if answers and (command.ext or {}).get("topic", "T") == "T":
            return answers.pop()
        return command

    cluster.faults[code] = instead


@pytest.mark.parametrize("is_for_cpp", [False, True])
def test_a_reset_restarts_consumption_at_the_offset(*, is_for_cpp: bool) -> None:
    cluster = Cluster()
    cluster.store("a", "b", "c")
    consumer = Consumer(cluster).start()
    body = ResetOffsetBody({MessageQueue("T", "broker-a", 0): 1})
    bean = body.to_json_for_cpp() if is_for_cpp else body.to_json()
    ext = {"topic": "T", "group": "G", "timestamp": "1", "isForce": "true"}
    code = RequestCode.RESET_CONSUMER_CLIENT_OFFSET
    request = Command(code, ext=ext, body=javajson.dumps_fastjson(bean))
    assert consumer.client.run(consumer.client.instance.serve("broker", request)) is None
    cluster.pass_time(2.0)
    assert consumer.bodies == ["a", "b", "c", "b", "c"]
    consumer.close()
    assert stored_offset(cluster) == 3


def test_operators_get_the_progress() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    consumer = Consumer(cluster).start()
    ext = {"group": "G", "topic": "T"}
    bean = asked(consumer, RequestCode.GET_CONSUMER_STATUS_FROM_CLIENT, ext)
    table = bean["messageQueueTable"]
    assert isinstance(table, dict)
    assert table[MessageQueue("T", "broker-a", 0).to_key()] == 2
    bean = asked(consumer, RequestCode.GET_CONSUMER_RUNNING_INFO, {"consumerGroup": "G"})
    table = bean["mqTable"]
    assert isinstance(table, dict)
    assert len(table) == 5  # and one of the retry topic
    assert [*bean] == [
        *("mqPopTable", "mqTable", "properties", "statusTable", "subscriptionSet"),
        "userConsumerInfo",
    ]


def asked(
    consumer: Consumer, code: RequestCode, ext: dict[str, str], body: bytes = b""
) -> dict[str, object]:
    request = Command(code, ext=ext, body=body)
    answer = consumer.client.run(consumer.client.instance.serve("broker", request))
    assert answer is not None
    assert answer.code == 0
    bean = javajson.loads(answer.body)
    assert isinstance(bean, dict)
    return {str(name): value for name, value in bean.items()}


def test_an_operator_has_a_message_consumed_directly() -> None:
    cluster = Cluster()
    cluster.store("a")
    consumer = Consumer(cluster, "me@1").start()
    (stored,) = cluster.broker.records("T", 0)
    ext = {"consumerGroup": "G", "clientId": "me@1", "brokerName": "broker-a"}
    body = record.encode(stored)
    bean = asked(consumer, RequestCode.CONSUME_MESSAGE_DIRECTLY, ext, body)
    assert bean["consumeResult"] == "CR_SUCCESS"
    assert consumer.bodies == ["a", "a"]
    consumer.outcome = lambda _: LATER
    bean = asked(consumer, RequestCode.CONSUME_MESSAGE_DIRECTLY, ext, body)
    assert bean["consumeResult"] == "CR_LATER"


def test_a_full_consumer_does_not_pull() -> None:
    cluster = Cluster()
    cluster.store(*(f"{number}" for number in range(200)))

    async def hang(messages: list[ReceivedMessage]) -> None:
        del messages
        await Wait(FOREVER)

    settings = dataclasses.replace(FIRST, pull_threshold=50, close_timeout_s=1.0)
    consumer = Consumer(cluster, settings=settings).start(listener=hang)
    cluster.pass_time(10.0)
    (status,) = [each for each in consumer.member.status() if each.cached]
    assert (status.cached, status.commit_offset) == (64, 0)
    consumer.close()
    assert stored_offset(cluster) == 0


def test_a_suspended_consumer_pulls_when_it_is_resumed() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    consumer.member.suspend()
    cluster.pass_time(20.0)  # what the broker holds is answered first
    cluster.store("a")
    cluster.pass_time(5.0)
    assert consumer.bodies == []
    consumer.member.resume()
    cluster.pass_time(1.0)
    assert consumer.bodies == ["a"]


def test_consumption_resumes_when_a_broker_returns() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    cluster.stop("broker-a")
    cluster.pass_time(10.0)
    troubles = [each.trouble or "" for each in consumer.member.status()]
    assert all("pulls from offset" in trouble for trouble in troubles)
    assert len([line for line in cluster.driver.lines if "pulls from" in line]) == len(troubles)
    cluster.restart("broker-a")
    cluster.store("a")
    cluster.pass_time(16.0)  # what finds nothing is held for 15
    assert consumer.bodies == ["a"]
    assert not any(each.trouble for each in consumer.member.status())


def test_a_topic_is_subscribed_and_left_at_any_time() -> None:
    cluster = Cluster()
    cluster.add_topic("U", queues=1)
    cluster.store("t")
    cluster.store("u", topic="U")
    consumer = Consumer(cluster).start()
    consumer.member.subscribe("U", "*", consumer.listen)
    cluster.pass_time(3.0)
    assert consumer.bodies == ["t", "u"]
    consumer.member.unsubscribe("T")
    cluster.pass_time(3.0)
    assert consumer.queues == [("broker-a", 0)]


def test_tags_are_compared_by_the_consumer_as_well() -> None:
    cluster = Cluster()
    cluster.store("a", TAGS="Aa")
    cluster.store("b", TAGS="BB")  # has the same hash
    consumer = Consumer(cluster)
    consumer.member.subscribe("T", "BB", consumer.listen)
    consumer.client.instance.start()
    consumer.client.run(consumer.member.start())
    cluster.pass_time(6.0)
    assert consumer.bodies == ["b"]
    assert stored_offset(cluster) == 2


def test_a_refused_filter_fails_the_start() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster)
    consumer.member.subscribe("T", Sql("a >"), consumer.listen)
    with pytest.raises(SubscriptionError):
        consumer.client.run(consumer.member.start())


def test_listeners_see_names_without_the_namespace() -> None:
    cluster = Cluster()
    cluster.add_topic("ns%T")
    cluster.store("a", topic="ns%T")
    topics: list[str] = []

    def listen(messages: list[ReceivedMessage]) -> Outcome:
        topics.extend(message.topic for message in messages)
        return None

    settings = ClientSettings(name_servers=(NAME_SERVER,), namespace="ns")
    consumer = Consumer(cluster, client_settings=settings).start(listener=listen)
    assert topics == ["T"]
    assert consumer.member.data.group_name == "ns%G"
    topics_told = {each.topic for each in consumer.member.data.subscriptions}
    assert topics_told == {"ns%T", "%RETRY%ns%G"}


class Hook:
    def __init__(self) -> None:
        self.seen: list[tuple[str, int]] = []

    def before_consume(self, context: ConsumeContext) -> None:
        self.seen.append(("before", len(context.messages)))

    def after_consume(self, context: ConsumeContext) -> None:
        self.seen.append(("after", context.outcome))


def test_hooks_are_around_each_call() -> None:
    cluster = Cluster()
    cluster.store("a")
    hook = Hook()

    async def listen(messages: list[ReceivedMessage]) -> Outcome:
        return LATER if messages[0].body == b"b" else None

    Consumer(cluster, hooks=[hook]).start(listener=listen)
    assert hook.seen == [("before", 1), ("after", 0)]
    cluster.store("b")
    cluster.pass_time(0.1)
    assert hook.seen[2:] == [("before", 1), ("after", 4)]


def test_a_second_consumer_of_a_group_does_not_end_the_first() -> None:
    cluster = Cluster()
    consumer = Consumer(cluster).start()
    second = PushGroupMember(consumer.client.instance, "G", FIRST)
    with pytest.raises(StateError, match=r"group\[G\] has been created before"):
        consumer.client.run(second.start())
    consumer.client.run(second.close())
    cluster.store("a")
    cluster.pass_time(0.1)
    assert consumer.bodies == ["a"]
    assert not cluster.asked_of(RequestCode.UNREGISTER_CLIENT)


@pytest.mark.parametrize("group", ["", "a b", "DEFAULT_CONSUMER"])
def test_invalid_group_names_are_refused(group: str) -> None:
    with pytest.raises(StateError):
        Consumer(Cluster(), group=group)


@pytest.mark.parametrize("name", ["consume_threads", "consume_batch", "pull_batch", "max_span"])
def test_settings_have_javas_bounds(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}=0 must be a whole number from 1 to"):
        dataclasses.replace(FIRST, **{name: 0})  # type: ignore[arg-type]  # one of its names


def test_a_subscription_replaces_an_older_one_whatever_the_clock_says() -> None:
    """It may have been set back; brokers heed the higher version."""
    consumer = Consumer(Cluster()).start()
    versions = []
    for expression in ("*", "a", "b"):
        consumer.member.subscribe("T", expression, consumer.listen)
        versions += [each.sub_version for each in consumer.member.data.subscriptions]
    consumer.cluster.pass_time(0.1)
    of_topic = versions[1::2]
    assert of_topic == sorted(set(of_topic))
