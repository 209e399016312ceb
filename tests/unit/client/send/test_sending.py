"""Tries of a send, in virtual time, against brokers' cores."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.client.core.errors import BrokerError, RouteError, SendError
from gantrymq.client.core.message.message import Message
from gantrymq.client.core.message.results import SendResult, SendStatus
from gantrymq.client.core.send.producer_settings import ProducerSettings
from gantrymq.client.core.send.send_request import SendRequest, of_message
from gantrymq.client.core.send.sending import Sender, SendMode
from gantrymq.fakes.brokers.cluster import NAME_SERVER, Cluster, Fault, gone
from gantrymq.fakes.flows import Late
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command


def request(settings: ProducerSettings, topic: str = "T") -> SendRequest:
    return of_message(
        Message(topic, b"hello"), settings=settings, group="G", wrapped_in="", new_id="ID"
    )


def sender(cluster: Cluster, **settings: object) -> Sender:
    return Sender(cluster.instance, "G", ProducerSettings(**settings), ())  # type: ignore[arg-type]


def send(cluster: Cluster, mode: SendMode = SendMode.SYNC, **settings: object) -> SendResult:
    one = sender(cluster, **settings)
    return cluster.run(one.send(request(one.settings), mode=mode))


def refuses(code: ResponseCode, after_s: float = 0.0) -> Fault:
    return lambda address, command: Late(Command(code, remark="no"), after_s)


def sent_to(cluster: Cluster) -> list[str]:
    return [
        address for address, command in cluster.asked if command.code == RequestCode.SEND_MESSAGE_V2
    ]


def test_a_message_gets_to_a_broker() -> None:
    cluster = Cluster("a")
    result = send(cluster)
    assert (result.status, result.message_id) == (SendStatus.SEND_OK, "ID")
    assert cluster.brokers["a"].bodies("T", result.queue.queue_id) == [b"hello"]


def test_queues_are_chosen_round_robin() -> None:
    cluster = Cluster("a", topics={"T": 3})
    one = sender(cluster)
    results = [cluster.run(one.send(request(one.settings))) for _ in range(6)]
    ids = [result.queue.queue_id for result in results]
    assert sorted(ids[:3]) == [0, 1, 2]
    assert ids[3:] == ids[:3]


@pytest.mark.parametrize("code", [1, 2, 14, 16, 17, 204, 205, 1500])
def test_a_temporary_refusal_is_retried_at_another_broker(code: int) -> None:
    cluster = Cluster("a", "b")
    cluster.faults[cluster.address("a")] = refuses(ResponseCode(code))
    results = [send(cluster) for _ in range(3)]
    assert {result.queue.broker_name for result in results} == {"b"}
    assert cluster.address("a") in sent_to(cluster)


@pytest.mark.parametrize("code", [13, 29])
def test_other_refusals_are_raised_at_once(code: int) -> None:
    cluster = Cluster("a")
    cluster.faults[cluster.address("a")] = refuses(ResponseCode(code))
    with pytest.raises(BrokerError, match="no") as raised:
        send(cluster)
    assert raised.value.code == code
    assert len(sent_to(cluster)) == 1


def test_async_mode_retries_only_network_failures() -> None:
    cluster = Cluster("a")
    cluster.faults[cluster.address("a")] = refuses(ResponseCode.SYSTEM_BUSY)
    with pytest.raises(BrokerError):
        send(cluster, SendMode.ASYNC)
    assert len(sent_to(cluster)) == 1
    cluster.faults[cluster.address("a")] = gone
    with pytest.raises(SendError):
        send(cluster, SendMode.ASYNC, async_retries=4)
    assert len(sent_to(cluster)) == 1 + 5


def test_a_send_error_has_the_cause_of_each_attempt() -> None:
    cluster = Cluster("a")
    cluster.faults[cluster.address("a")] = gone
    with pytest.raises(SendError, match=r"Send \[3\] times, still failed") as raised:
        send(cluster)
    here = cluster.address("a")
    assert [str(cause) for cause in raised.value.causes] == [f"no server listens at {here}"] * 3


def test_all_attempts_share_one_timeout() -> None:
    cluster = Cluster("a")
    cluster.faults[cluster.address("a")] = refuses(ResponseCode.SYSTEM_BUSY, after_s=1.6)
    with pytest.raises(SendError, match=r"call timeout: Send \[2\] times") as raised:
        send(cluster)
    assert len(raised.value.causes) == 2
    assert cluster.driver.clock.monotonic() == pytest.approx(3.0)


def test_a_silent_broker_uses_the_whole_timeout() -> None:
    cluster = Cluster("a")
    cluster.faults[cluster.address("a")] = lambda address, command: None
    with pytest.raises(SendError, match=r"call timeout: Send \[1\] times"):
        send(cluster)
    assert cluster.driver.clock.monotonic() == pytest.approx(3.0)


def test_a_silent_broker_is_left_after_the_attempt_timeout() -> None:
    cluster = Cluster("a", "b")
    cluster.faults[cluster.address("a")] = lambda address, command: None
    brokers = {send(cluster, try_timeout_s=1.0).queue.broker_name for _ in range(8)}
    assert brokers == {"b"}
    assert cluster.address("a") in sent_to(cluster)


def test_the_same_id_is_sent_each_time() -> None:
    cluster = Cluster("a")
    cluster.faults[cluster.address("a")] = refuses(ResponseCode.SYSTEM_BUSY)
    with pytest.raises(SendError):
        send(cluster)
    commands = cluster.asked_of(RequestCode.SEND_MESSAGE_V2)
    assert {(command.ext or {})["i"] for command in commands} == {"UNIQ_KEY\x01ID\x02"}
    assert len({id(command) for command in commands}) == 3


@pytest.mark.parametrize("status", [10, 11, 12])
def test_a_message_stored_without_durability_is_a_result(status: int) -> None:
    cluster = Cluster("a", topics={"T": 1})
    assert send(cluster).status is SendStatus.SEND_OK

    def unsafe(address: str, command: Command) -> Command:
        del address, command
        ext = {"msgId": "M", "queueId": "0", "queueOffset": "7", "MSG_REGION": "R"}
        return Command(status, ext={**ext, "TRACE_ON": "false"})

    cluster.faults[cluster.address("a")] = unsafe
    result = send(cluster)
    assert (result.status, result.queue_offset, result.region_id) == (status, 7, "R")
    assert not result.is_traced
    assert len(sent_to(cluster)) == 2
    assert send(cluster, retry_when_not_stored=True).status == status
    assert len(sent_to(cluster)) == 2 + 3


@pytest.mark.parametrize(
    ("ext", "wrong"),
    [
        (None, "<msgId> is null"),
        ({"msgId": "M", "queueId": "0"}, "<queueOffset> is null"),
        ({"msgId": "M", "queueId": "zero", "queueOffset": "1"}, "<queueId> is 'zero'"),
    ],
)
def test_an_invalid_response_is_explained(ext: dict[str, str] | None, wrong: str) -> None:
    cluster = Cluster("a", topics={"T": 1})
    cluster.faults[cluster.address("a")] = lambda address, command: Command(0, ext=ext)
    with pytest.raises(BrokerError, match=wrong):
        send(cluster)
    assert len(sent_to(cluster)) == 1


def test_a_missing_topic_is_created_by_its_first_message() -> None:
    cluster = Cluster("a", topics={}, settings=BrokerSettings(auto_create_topic_enable=True))
    result = send(cluster)
    assert cluster.brokers["a"].bodies("T", result.queue.queue_id) == [b"hello"]
    config = cluster.brokers["a"].state.topics.find("T")
    assert config is not None
    assert config.write_queue_nums == 4


def test_without_any_route_a_route_error_is_raised() -> None:
    cluster = Cluster("a", topics={})
    cluster.faults[NAME_SERVER] = lambda address, command: Command(ResponseCode.TOPIC_NOT_EXIST)
    with pytest.raises(RouteError, match="No route info of this topic: T"):
        send(cluster)


def test_a_given_queue_is_used_or_the_send_fails() -> None:
    cluster = Cluster("a")
    one = sender(cluster)
    queue = MessageQueue("T", "a", 3)
    assert cluster.run(one.send(request(one.settings), queue=queue)).queue == queue
    cluster.faults[cluster.address("a")] = gone
    with pytest.raises(SendError, match="no server listens") as failed:
        cluster.run(one.send(request(one.settings), queue=queue))
    assert [type(cause) for cause in failed.value.causes] == [ConnectError]
    with pytest.raises(RouteError, match=r"The broker\[other\] not exist"):
        cluster.run(one.send(request(one.settings), queue=MessageQueue("T", "other", 0)))


def test_oneway_sends_are_sent_once() -> None:
    cluster = Cluster("a", topics={"T": 1})
    one = sender(cluster)
    cluster.run(one.send_oneway(request(one.settings)))
    assert cluster.brokers["a"].bodies("T") == [b"hello"]
    assert sent_to(cluster) == [cluster.address("a")]


def test_a_slow_broker_is_avoided_for_a_while() -> None:
    cluster = Cluster("a", "b")
    one = sender(cluster, latency_faults=True)
    cluster.faults[cluster.address("a")] = gone
    for _ in range(8):
        cluster.run(one.send(request(one.settings)))
    assert sent_to(cluster).count(cluster.address("a")) == 1
    del cluster.faults[cluster.address("a")]
    cluster.driver.pass_time(10.0)
    for _ in range(8):
        cluster.run(one.send(request(one.settings)))
    assert sent_to(cluster).count(cluster.address("a")) > 1
