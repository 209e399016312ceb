"""Push consumers hand each message of their topics to the listener, through failures too."""

from __future__ import annotations

import dataclasses

import pytest

from gantrymq.base.errors import ConfigurationError
from gantrymq.client.core.instance.hooks import ConsumeContext
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.client.core.message.outcomes import LATER, Outcome
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster
from gantrymq.fakes.brokers.consumers import FIRST, Consumer, answer_once
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command


def test_stored_and_new_messages_are_consumed() -> None:
    cluster = Cluster()
    cluster.store("a", "b", queue_id=0)
    cluster.store("c", queue_id=3)
    consumer = Consumer(cluster).start()
    assert sorted(consumer.bodies) == ["a", "b", "c"]
    cluster.store("d", queue_id=2)
    cluster.pass_time(0.1)
    assert consumer.bodies[-1] == "d"


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


@pytest.mark.parametrize(
    "code",
    [
        RequestCode.PULL_MESSAGE,
        RequestCode.QUERY_CONSUMER_OFFSET,
        RequestCode.GET_CONSUMER_LIST_BY_GROUP,
        RequestCode.LOCK_BATCH_MQ,
    ],
)
def test_consumption_continues_after_an_invalid_response(code: RequestCode) -> None:
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


def test_hooks_run_before_and_after_each_listener_call() -> None:
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


@pytest.mark.parametrize("name", ["consume_threads", "consume_batch", "pull_batch", "max_span"])
def test_settings_have_javas_bounds(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name}=0 must be a whole number from 1 to"):
        dataclasses.replace(FIRST, **{name: 0})  # type: ignore[arg-type]  # one of its names
