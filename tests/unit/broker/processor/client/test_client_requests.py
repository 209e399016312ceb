"""Heartbeats and what comes of them, unregistering, lists of members."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from gantrymq.broker.core.messages import AnsweredLater, Request
from gantrymq.broker.core.metadata import group_creation
from gantrymq.broker.core.processor.client import client_requests
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.heartbeat import BROADCASTING, ConsumerData, HeartbeatData
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.client import ConsumerGroupRequest, UnregisterClientRequest

TRAFFIC = Path(__file__).parents[4] / "vectors" / "traffic-5.3.3.json"


def members(broker: OpenedBroker, group: str) -> list[str]:
    answer = broker.ask(
        RequestCode.GET_CONSUMER_LIST_BY_GROUP, ConsumerGroupRequest(consumer_group=group)
    )
    assert answer.code == ResponseCode.SUCCESS
    ids: list[str] = json.loads(answer.body)["consumerIdList"]
    return ids


def unregister(broker: OpenedBroker, channel: FakeChannel, group: str) -> None:
    header = UnregisterClientRequest(
        client_id="10.0.0.1@1", producer_group=group, consumer_group=group
    )
    answer = broker.ask(RequestCode.UNREGISTER_CLIENT, header, channel=channel)
    assert answer.code == ResponseCode.SUCCESS


def test_every_captured_heartbeat_is_answered_as_java_did() -> None:
    exchanges = json.loads(TRAFFIC.read_text())
    beats = [each for each in exchanges if each["request"]["code"] == RequestCode.HEART_BEAT]
    assert beats
    broker = OpenedBroker()
    for each in beats:
        body = each["request"]["bodyText"].encode()
        answer = broker.ask(RequestCode.HEART_BEAT, body=body, channel=FakeChannel())
        assert answer.code == each["response"]["code"]
        assert answer.ext == each["response"]["ext"]


@pytest.mark.parametrize("padding", [0, 5_000])
def test_repeated_heartbeat_has_the_effect_of_the_first(padding: int) -> None:
    broker, channel, other = OpenedBroker(), FakeChannel(), FakeChannel()
    said = HeartbeatData(client_id="10.0.0.1@1", consumers=(consumer("G", "T"),))
    body = json.dumps(said.to_json()).encode() + b" " * padding
    first = broker.ask(RequestCode.HEART_BEAT, body=body, channel=channel)
    for again in range(1, 4):
        beat(broker, other, consumer("G", f"T{again}"), client_id="10.0.0.2@1")
        broker.pass_time(100.0)
        answer = broker.ask(RequestCode.HEART_BEAT, body=body, channel=channel)
        assert answer == first
        group = broker.state.clients.consumers["G"]
        assert list(group.subscriptions) == ["T"]
        assert group.clients[channel].heard_at == broker.now


def test_a_heartbeat_that_says_something_else_is_read() -> None:
    broker, channel = OpenedBroker(), FakeChannel()
    beat(broker, channel, consumer("G", "T"))
    beat(broker, channel, consumer("G", "U"))
    assert list(broker.state.clients.consumers["G"].subscriptions) == ["U"]
    unregister(broker, channel, "G")
    beat(broker, channel, consumer("G", "U"))
    assert members(broker, "G") == ["10.0.0.1@1"]


def begin_to_beat(broker: OpenedBroker, channel: FakeChannel, *groups: str) -> Request:
    """A heartbeat of so many groups, and not one turn."""
    data = HeartbeatData(client_id="c", consumers=tuple(consumer(each, "T") for each in groups))
    body = javajson.dumps_fastjson(data.to_json())
    request = Request(Command(RequestCode.HEART_BEAT, ext={}, body=body), channel)
    assert isinstance(broker.broker.handle(request, broker.now, broker.wall_ms), AnsweredLater)
    return request


def known_by_turn(broker: OpenedBroker) -> list[int]:
    """How many groups have members, after each turn in which they become more."""
    counts = [0]
    for _ in range(20):
        counts.append(len(broker.state.clients.consumers))
        broker.now += client_requests.PAUSE_SECONDS
        broker.broker.turn(broker.now, broker.wall_ms)
    return [count for before, count in itertools.pairwise(counts) if count > before]


def test_groups_of_a_heartbeat_are_registered_over_several_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_requests, "GROUPS_A_TURN", 2)
    broker = OpenedBroker()
    request = begin_to_beat(broker, FakeChannel(), "A", "B", "C", "D", "E")
    assert known_by_turn(broker) == [2, 4, 5]
    broker.settle()
    answer = broker.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SUCCESS
    assert not broker.state.clients.is_registering


def test_one_such_client_is_registered_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_requests, "GROUPS_A_TURN", 2)
    broker = OpenedBroker()
    for first in "AN":
        begin_to_beat(broker, FakeChannel(), *(f"{first}{number}" for number in range(6)))
    assert known_by_turn(broker) == [4, 6, 8, 10, 12]


def test_client_that_disconnects_during_its_registration_is_no_member(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(client_requests, "GROUPS_A_TURN", 2)
    broker, channel = OpenedBroker(), FakeChannel()
    request = begin_to_beat(broker, channel, "A", "B", "C", "D", "E")
    broker.close(channel)
    assert broker.answer(request) is None
    assert not broker.state.clients.consumers
    assert not broker.state.clients.is_registering


def test_consumer_makes_its_group_and_its_retry_topic() -> None:
    broker = OpenedBroker()
    beat(broker, FakeChannel(), consumer("G", "T"))
    assert broker.state.groups.find("G") == GroupConfig(group_name="G")
    retry = broker.state.topics.find("%RETRY%G")
    assert retry is not None
    assert (retry.read_queue_nums, retry.write_queue_nums, retry.perm) == (1, 1, 6)
    assert members(broker, "G") == ["10.0.0.1@1"]


def test_retry_topic_has_the_queues_of_the_group() -> None:
    broker = OpenedBroker()
    broker.state.groups.put(GroupConfig(group_name="G", retry_queue_nums=3), 0)
    broker.state.topics.put(TopicConfig("T", order=True), 0)
    beat(broker, FakeChannel(), consumer("G", "T", unit_mode=True))
    retry = broker.state.topics.find("%RETRY%G")
    assert retry is not None
    assert retry.read_queue_nums == 3
    assert retry.order
    assert retry.topic_sys_flag == 2


def test_group_that_may_not_consume_has_members_all_the_same() -> None:
    broker = OpenedBroker()
    broker.state.groups.put(GroupConfig(group_name="G", consume_enable=False), 0)
    beat(broker, FakeChannel(), consumer("G", "T"))
    assert members(broker, "G") == ["10.0.0.1@1"]


def test_group_is_passed_over_when_groups_are_not_made() -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_subscription_group=False))
    answer = beat(broker, FakeChannel(), consumer("G", "T"), consumer("CID_RMQ_SYS_G", "T"))
    assert answer.code == ResponseCode.SUCCESS
    assert list(broker.state.clients.consumers) == ["CID_RMQ_SYS_G"]


@pytest.mark.parametrize("name", ["", "with blank", "G" * 249, "grün", "G\n"])
def test_group_with_an_illegal_name_is_passed_over(name: str) -> None:
    broker = OpenedBroker()
    beat(broker, FakeChannel(), consumer(name, "T"))
    assert broker.state.groups.find(name) is None
    assert broker.state.clients.consumers == {}


def test_number_of_groups_that_consumers_create_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = OpenedBroker()
    monkeypatch.setattr(group_creation, "CREATED_GROUPS_MAX", len(broker.state.groups) + 2)
    beat(broker, FakeChannel(), *(consumer(f"G{number}", "T") for number in range(3)))
    beat(broker, FakeChannel(), consumer("CID_RMQ_SYS_G", "T"))
    assert list(broker.state.clients.consumers) == ["G0", "G1"]
    assert "updateSubGroup" in group_creation.why_no_group(broker.state, "G2")


def test_refusal_of_a_group_names_the_command_that_creates_it() -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_subscription_group=False))
    remark = group_creation.why_no_group(broker.state, "G")
    assert remark.startswith("subscription group [G] does not exist, ")
    assert "mqadmin updateSubGroup -b 127.0.0.1:10911 -g G" in remark


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"clientID":"c","consumerDataSet":7}', b'{"consumerDataSet":[]}']
)
def test_malformed_heartbeat_is_refused_as_a_whole(body: bytes) -> None:
    broker = OpenedBroker()
    answer = broker.ask(RequestCode.HEART_BEAT, body=body)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert len(broker.state.clients) == 0


def test_heartbeat_beyond_a_bound_is_refused_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_requests, "CLIENT_GROUPS_MAX", 2)
    monkeypatch.setattr(client_requests, "SUBSCRIPTIONS_MAX", 3)
    broker = OpenedBroker()
    channel = FakeChannel()
    for answer in (
        beat(broker, channel, consumer("G", "T"), producers=("P", "Q")),
        beat(broker, channel, consumer("G", "T", "U", "V", "W")),
        beat(broker, channel, consumer("G", "T"), client_id="c" * 1001),
        beat(broker, channel, producers=("P" * 256,)),
        broker.ask(RequestCode.HEART_BEAT, body=b'{"a":[%s' % (b"1," * 50_000), channel=channel),
    ):
        assert answer.code == ResponseCode.SYSTEM_ERROR
        assert answer.remark is not None
    assert len(broker.state.clients) == 0


def test_bounds_hold_over_all_heartbeats_of_a_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_requests, "CLIENT_GROUPS_MAX", 3)
    broker, channel = OpenedBroker(), FakeChannel()
    beat(broker, channel, consumer("G", "T"), producers=("P", "Q"))
    for _ in range(2):
        assert beat(broker, channel, consumer("G", "T"), producers=("P",)).code == 0
        assert beat(broker, channel, producers=("R",)).code == ResponseCode.SYSTEM_ERROR
    assert list(broker.state.clients.producers) == ["P", "Q"]
    unregister(broker, channel, "P")
    assert beat(broker, channel, producers=("R",)).code == ResponseCode.SUCCESS


def test_subscriptions_of_a_client_are_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_requests, "WEIGHT_MAX", 6_500)
    broker, channel = OpenedBroker(), FakeChannel()
    assert beat(broker, channel, consumer("G", "T", expression="a" * 900)).code == 0
    answer = beat(broker, channel, consumer("H", "T", expression="a" * 900))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "6500 bytes" in (answer.remark or "")
    bare = ConsumerData(group_name="G")
    assert beat(broker, channel, bare, fingerprint=1, without_sub=True).code == 0
    answer = beat(broker, channel, consumer("H", "T", expression="a" * 900))
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert beat(broker, channel, consumer("G", "T", expression="b")).code == 0
    assert beat(broker, channel, consumer("H", "T", expression="a" * 900)).code == 0


def test_list_of_a_group_without_members_is_refused() -> None:
    broker = OpenedBroker()
    header = ConsumerGroupRequest(consumer_group="G")
    answer = broker.ask(RequestCode.GET_CONSUMER_LIST_BY_GROUP, header)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert answer.remark is not None
    assert answer.remark.startswith("no consumer for this group, G")


def test_unregistered_client_is_removed_and_other_members_are_notified() -> None:
    broker = OpenedBroker()
    one, two = FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T"), producers=("G",))
    beat(broker, two, consumer("G", "T"), client_id="d")
    broker.pass_time(10.0)
    told = len(two.told)
    unregister(broker, one, "G")
    assert members(broker, "G") == ["d"]
    assert broker.state.clients.producers == {}
    assert len(two.told) == told + 1


def test_unregistration_of_an_unknown_client_succeeds() -> None:
    broker = OpenedBroker()
    unregister(broker, FakeChannel(), "G")


# ---------------------------------------------------------------------- fingerprints


def changed(answer_ext: dict[str, str] | None) -> str:
    assert answer_ext is not None
    assert answer_ext["IS_SUPPORT_HEART_BEAT_V2"] == "true"
    return answer_ext["IS_SUB_CHANGE"]


def test_same_fingerprint_need_not_say_its_subscriptions_again() -> None:
    broker, channel = OpenedBroker(), FakeChannel()
    assert changed(beat(broker, channel, consumer("G", "T"), fingerprint=7).ext) == "false"
    answer = beat(broker, channel, consumer("G"), fingerprint=7, without_sub=True)
    assert changed(answer.ext) == "false"
    assert list(broker.state.clients.consumers["G"].subscriptions) == ["T"]


def test_other_fingerprint_has_to_say_its_subscriptions() -> None:
    broker, channel = OpenedBroker(), FakeChannel()
    beat(broker, channel, consumer("G", "T"), fingerprint=7)
    answer = beat(broker, channel, consumer("G"), fingerprint=8, without_sub=True)
    assert changed(answer.ext) == "true"


def test_broker_that_forgot_the_subscriptions_asks_for_them() -> None:
    broker, channel = OpenedBroker(), FakeChannel()
    answer = beat(broker, channel, consumer("G"), fingerprint=7, without_sub=True)
    assert changed(answer.ext) == "true"


def test_broadcasting_group_has_a_retry_topic_too() -> None:
    broker = OpenedBroker()
    beat(broker, FakeChannel(), consumer("G", "T", model=BROADCASTING))
    assert broker.state.topics.find("%RETRY%G") is not None
