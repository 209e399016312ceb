"""Quotas of requests that take the general path: sends, pulls and everything else."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.broker.core.messages import ANSWERED_LATER, Request
from gantrymq.broker.core.request_outcomes import TASKS_MAX
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.pulls import PulledBroker, bodies, pull
from gantrymq.fakes.brokers.quotas import CONSUME, PRODUCE, REQUESTS, limit, quota
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.wire.bodies.quotas import QuotaKind
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.offset import GetMaxOffsetRequest

SEND = RequestCode.SEND_MESSAGE_V2
MAX_OFFSET = GetMaxOffsetRequest(topic="T", queue_id=0)
ADDRESS, TOPIC, GROUP = QuotaKind.ADDRESS, QuotaKind.TOPIC, QuotaKind.GROUP


def opened() -> OpenedBroker:
    broker = OpenedBroker()
    broker.channel.peer = "10.1.2.3:5000"
    add_topic(broker)
    return broker


def test_send_is_charged_with_body_and_properties() -> None:
    broker = opened()
    limit(broker, quota(TOPIC, "T", {PRODUCE: 1000}))
    broker.ask(SEND, message(properties={"a": "p" * 400}), b"b" * 700)
    assert broker.channel.delays == [pytest.approx(0.2, abs=0.05)]


def test_every_request_counts_for_its_address() -> None:
    broker = opened()
    limit(broker, quota(ADDRESS, "10.1.2.3", {REQUESTS: 10}))
    for _ in range(15):
        assert broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET).code == ResponseCode.SUCCESS
    assert broker.channel.delays[-1] == pytest.approx(0.5)


def test_flood_of_requests_is_refused_with_the_quota_in_the_remark() -> None:
    broker = opened()
    limit(broker, quota(ADDRESS, "10.*", {REQUESTS: 10}))
    answers = [broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET) for _ in range(40)]
    assert answers[-1].code == ResponseCode.SYSTEM_BUSY
    assert "quota of address 10.1.2.3" in (answers[-1].remark or "")
    assert "set for address 10.*" in (answers[-1].remark or "")


def test_requests_that_end_work_are_never_refused() -> None:
    broker = opened()
    limit(broker, quota(ADDRESS, "*", {REQUESTS: 10}))
    for _ in range(40):
        broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET)
    ext = {"consumerGroup": "G", "topic": "T", "queueId": "0", "commitOffset": "0"}
    answer = broker.ask(RequestCode.UPDATE_CONSUMER_OFFSET, ext=ext)
    assert answer.code != ResponseCode.SYSTEM_BUSY
    assert broker.channel.delays[-1] == 1.0


def test_requests_that_are_never_refused_do_not_add_to_the_debt_for_ever() -> None:
    broker = opened()
    limit(broker, quota(ADDRESS, "*", {REQUESTS: 10}))
    for _ in range(1_000):
        broker.ask(RequestCode.HEART_BEAT, body=b'{"clientID":"c"}')
    broker.pass_time(2.0)
    assert broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET).code == ResponseCode.SUCCESS


def test_administrator_can_lift_a_quota_from_an_address_that_used_it_up() -> None:
    broker = opened()
    limit(broker, quota(ADDRESS, "*", {REQUESTS: 1}))
    for _ in range(40):
        broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET)
    assert broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET).code == ResponseCode.SYSTEM_BUSY
    ext = {"kind": "address", "name": "*"}
    assert broker.ask(RequestCode.GANTRY_DELETE_QUOTA, ext=ext).code == ResponseCode.SUCCESS
    assert broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET).code == ResponseCode.SUCCESS


def test_made_up_topics_have_no_meters() -> None:
    broker = opened()
    limit(broker, quota(TOPIC, "*", {REQUESTS: 1}))
    for number in range(50):
        broker.ask(SEND, message(f"none{number}"), b"x")
    assert broker.state.quotas.use() == []


def test_refused_connection_is_not_read_for_a_while() -> None:
    broker = opened()
    limit(broker, quota(ADDRESS, "*", {REQUESTS: 1}))
    for _ in range(10):
        broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET)
    assert broker.channel.delays[-1] == 1.0


def test_connection_that_ends_is_forgotten() -> None:
    broker = opened()
    limit(broker, quota(ADDRESS, "*", {REQUESTS: 1}))
    broker.ask(RequestCode.GET_MAX_OFFSET, MAX_OFFSET)
    assert broker.channel in broker.state.quotas.gate._addresses
    broker.close(broker.channel)
    assert broker.channel not in broker.state.quotas.gate._addresses


# ---------------------------------------------------------------------- pulls


def pulled(consume: int = 1000, name: str = "G", kind: QuotaKind = GROUP) -> PulledBroker:
    """Each answer has one message of 1 091 bytes or a little more."""
    consumers = PulledBroker()
    consumers.store(*["m" * 1000] * 30)
    consumers.ask(max_msg_nums=1)  # it makes the group
    limit(consumers.broker, quota(kind, name, {CONSUME: consume}))
    return consumers


@pytest.mark.parametrize(("kind", "name"), [(GROUP, "G"), (TOPIC, "T"), (ADDRESS, "127.*")])
def test_pull_of_those_in_debt_is_answered_later(kind: QuotaKind, name: str) -> None:
    consumers = pulled(kind=kind, name=name)
    consumers.ask(max_msg_nums=2)
    request = consumers.send(max_msg_nums=1)
    assert consumers.broker.is_held(request)
    consumers.broker.pass_time(1.0)
    assert consumers.broker.is_held(request)
    consumers.broker.pass_time(0.5)
    assert bodies(consumers.answer(request)) == ["m" * 1000]


def test_pulls_of_a_group_in_debt_wait_one_behind_the_other() -> None:
    consumers = pulled()
    gate = consumers.state.quotas
    consumers.ask(max_msg_nums=1)
    for meter in gate._meters.all():
        meter.answer_bytes = 1100
    first, second = consumers.send(max_msg_nums=1), consumers.send(max_msg_nums=1)
    consumers.broker.pass_time(1.0)
    assert not consumers.broker.is_held(first)
    assert consumers.broker.is_held(second)
    consumers.broker.pass_time(1.2)
    assert not consumers.broker.is_held(second)


def test_pull_that_would_wait_too_long_is_refused_and_its_connection_goes_on() -> None:
    consumers = pulled(consume=1000)
    consumers.ask(max_msg_nums=10)
    answer = consumers.ask(max_msg_nums=1)
    assert answer.code == ResponseCode.SYSTEM_BUSY
    assert "quota of group G" in (answer.remark or "")
    assert "consumeBytesPerSecond=1000" in (answer.remark or "")
    assert consumers.broker.channel.delays == []


def test_pulls_that_wait_for_quotas_leave_room_for_other_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gantrymq.broker.core.quotas.gate.HELD_MAX", 2)
    consumers = pulled()
    consumers.ask(max_msg_nums=2)
    for meter in consumers.state.quotas._meters.all():
        meter.answer_bytes = 1.0
    held = [consumers.send(max_msg_nums=1) for _ in range(2)]
    refused = consumers.ask(max_msg_nums=1)
    assert refused.code == ResponseCode.SYSTEM_BUSY
    assert "quota of group G" in (refused.remark or "")
    consumers.broker.pass_time(3.0)
    assert not any(map(consumers.broker.is_held, held))
    assert consumers.state.quotas.gate.held == 0


def test_pull_that_the_broker_is_too_busy_for_is_not_charged() -> None:
    consumers = pulled()
    consumers.ask(max_msg_nums=2)
    others: dict[int, Any] = dict.fromkeys(range(-TASKS_MAX, 0))
    requests_in_progress = consumers.state.task_runner._putting
    requests_in_progress.update(others)
    assert consumers.ask(max_msg_nums=1).code == ResponseCode.SYSTEM_BUSY
    assert consumers.ask(max_msg_nums=1).code == ResponseCode.SYSTEM_BUSY
    for number in others:
        del requests_in_progress[number]
    consumers.broker.pass_time(2.5)
    assert bodies(consumers.ask(max_msg_nums=1)) == ["m" * 1000]


def test_long_header_of_a_pull_that_waits_counts_as_memory() -> None:
    consumers = pulled()
    consumers.ask(max_msg_nums=2)
    header = pull(max_msg_nums=1)
    command = Command(RequestCode.PULL_MESSAGE, ext=header.encode())
    command.header_bytes = 1 << 20
    channel = FakeChannel()
    core, memory = consumers.broker.broker, consumers.state.memory
    request = Request(command, channel)
    assert core.handle(request, consumers.broker.now, consumers.broker.wall_ms) is ANSWERED_LATER
    assert memory.held_for(channel) == 1 << 20
    consumers.broker.pass_time(60.0)
    assert memory.held_for(channel) == 0


def test_other_groups_do_not_wait() -> None:
    consumers = pulled()
    consumers.ask(max_msg_nums=5)
    assert bodies(consumers.ask(max_msg_nums=1, consumer_group="H"))


def test_pull_whose_connection_ended_meanwhile_is_not_carried_out() -> None:
    consumers = pulled()
    channel = FakeChannel()
    consumers.ask(max_msg_nums=2)
    request = consumers.send(max_msg_nums=1, channel=channel)
    consumers.broker.close(channel)
    consumers.broker.pass_time(3.0)
    assert consumers.broker.answer(request) is None


def test_long_run_of_a_group_gets_its_quota() -> None:
    consumers = pulled(consume=10_000)
    broker, got = consumers.broker, 0
    began = broker.now
    while broker.now < began + 30:
        request = consumers.send(max_msg_nums=8)
        while broker.is_held(request):
            broker.pass_time(0.05)
        got += len(bodies(consumers.answer(request))) * 1095
    assert got / 30 == pytest.approx(10_000, rel=0.15)


def test_messages_that_queries_show_count_as_consumed() -> None:
    consumers = pulled(kind=ADDRESS, name="127.*")
    broker, view = consumers.broker, RequestCode.VIEW_MESSAGE_BY_ID
    first = {"offset": str(consumers.state.store.log.start)}
    assert b"m" * 1000 in broker.ask(view, ext=first).body
    request = broker.send(view, ext=first)
    assert broker.is_held(request)
    broker.pass_time(0.5)
    answer = broker.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SUCCESS
    assert broker.is_held(consumers.send(max_msg_nums=1))
