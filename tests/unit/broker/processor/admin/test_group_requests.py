"""Tests requests that read and change groups."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.processor.admin import group_requests
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.wire.bodies.consuming.consumption import GroupForbidden
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.shared import TopicConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.headers.group import (
    DeleteSubscriptionGroupRequest,
    GetSubscriptionGroupConfigRequest,
    UpdateGroupForbiddenRequest,
)
from gantrymq.wire.javajson import dumps_fastjson, loads
from gantrymq.wire.jsonvalue import object_of

# As mqadmin 5.3.3 sends it.
JAVAS = (
    b'{"attributes":{},"brokerId":0,"consumeBroadcastEnable":false,"consumeEnable":true,'
    b'"consumeFromMinEnable":false,"consumeMessageOrderly":false,"consumeTimeoutMinute":15,'
    b'"groupName":"g","groupRetryPolicy":{"type":"CUSTOMIZED"},"groupSysFlag":0,'
    b'"notifyConsumerIdsChangedEnable":true,"retryMaxTimes":1,"retryQueueNums":1,'
    b'"whichBrokerWhenConsumeSlowly":1}'
)

SYSTEM = frozenset(OpenedBroker().state.groups.all)


def made(broker: OpenedBroker) -> set[str]:
    """The groups that are not the broker's own."""
    return set(broker.state.groups.all) - SYSTEM


def create(broker: OpenedBroker, body: bytes = JAVAS) -> Command:
    return broker.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)


def forbid(broker: OpenedBroker, topic: str, *, readable: bool | None = None) -> Command:
    header = UpdateGroupForbiddenRequest(group="g", topic=topic, readable=readable)
    return broker.ask(RequestCode.UPDATE_AND_GET_GROUP_FORBIDDEN, header)


def get(broker: OpenedBroker, group: str) -> Command:
    header = GetSubscriptionGroupConfigRequest(group=group)
    return broker.ask(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, header)


def test_a_group_is_made_changed_and_in_the_file() -> None:
    broker = OpenedBroker()
    assert create(broker).code == ResponseCode.SUCCESS
    assert create(broker, JAVAS.replace(b'Times":1', b'Times":3')).code == ResponseCode.SUCCESS
    again = OpenedBroker(files=broker.saved)
    config = again.state.groups.find("g")
    assert config is not None
    assert (config.retry_max_times, config.consume_broadcast_enable) == (3, False)


def test_unchanged_group_is_not_written_again() -> None:
    broker = OpenedBroker()
    create(broker)
    broker.saved.clear()
    assert create(broker).code == ResponseCode.SUCCESS
    assert not broker.saved


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", ResponseCode.SYSTEM_ERROR),
        (b"{}", ResponseCode.SYSTEM_ERROR),
        (b'{"groupName":""}', ResponseCode.INVALID_PARAMETER),
        (b'{"groupName":"a@b"}', ResponseCode.INVALID_PARAMETER),
        (b'{"groupName":"g","retryQueueNums":-1}', ResponseCode.INVALID_PARAMETER),
        (b'{"groupName":"g","retryQueueNums":1000000000}', ResponseCode.INVALID_PARAMETER),
        (b'{"groupName":"g","attributes":{"+color":"red"}}', ResponseCode.SYSTEM_ERROR),
    ],
)
def test_groups_that_are_refused(body: bytes, code: ResponseCode) -> None:
    broker = OpenedBroker()
    assert create(broker, body).code == code
    assert not made(broker)


def test_a_list_is_made_as_a_whole() -> None:
    broker = OpenedBroker()
    for names, expected in ((["a", "b@"], set()), (["a", "b"], {"a", "b"})):
        groups = [GroupConfig(group_name=name).to_json() for name in names]
        body = dumps_fastjson({"groupConfigList": [*groups]})
        broker.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, body=body)
        assert made(broker) == expected


def test_there_is_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_requests, "GROUPS_MAX", len(SYSTEM) + 1)
    broker = OpenedBroker()
    assert create(broker).code == ResponseCode.SUCCESS
    assert "at most" in (create(broker, b'{"groupName":"h"}').remark or "")


@pytest.mark.parametrize("field", ["cleanOffset", "removeOffset"])
def test_offsets_of_a_deleted_group_are_removed_on_request(field: str) -> None:
    broker = OpenedBroker()
    state = broker.state
    for cleans in ("false", "true"):
        create(broker)
        state.offsets.commit("g", "T", 0, 5)
        state.resets.assign("g", "T", 0, 5)
        ext = {"groupName": "g", field: cleans}
        answer = broker.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, ext=ext)
        assert answer.code == ResponseCode.SUCCESS
        assert state.groups.find("g") is None
        assert state.offsets.find("g", "T", 0) == (5 if cleans == "false" else None)
    assert state.resets.pending("g", "T", 0) is None
    assert not made(OpenedBroker(files=broker.saved))


def test_deletion_of_an_unknown_group_succeeds_and_of_a_system_group_fails() -> None:
    broker = OpenedBroker()
    for group, code in (("g", ResponseCode.SUCCESS), ("CID_RMQ_SYS_TRANS", 29)):
        header = DeleteSubscriptionGroupRequest(group_name=group, clean_offset=True)
        assert broker.ask(RequestCode.DELETE_SUBSCRIPTIONGROUP, header).code == code


def test_a_topic_is_forbidden_to_a_group_and_allowed_again() -> None:
    broker = OpenedBroker()
    create(broker)
    broker.state.topics.put(TopicConfig("T"), 1)
    for readable in (False, True):
        for asked in (readable, None):
            answer = forbid(broker, "T", readable=asked)
            assert GroupForbidden.from_json(loads(answer.body)).readable is readable
    assert forbid(broker, "U", readable=False).code == ResponseCode.TOPIC_NOT_EXIST
    assert forbid(OpenedBroker(), "T", readable=False).code == 26


def test_asking_for_a_group_creates_it_as_javas_broker_does() -> None:
    broker = OpenedBroker()
    create(broker)
    assert get(broker, "g").body == JAVAS
    answer = get(broker, "h")
    assert answer.code == ResponseCode.SUCCESS
    assert object_of(loads(answer.body), "group")["groupName"] == "h"
    assert made(broker) == {"g", "h"}


@pytest.mark.parametrize(
    ("creates", "group", "cause"),
    [
        (False, "h", "autoCreateSubscriptionGroup is off"),
        (True, "bad^name", "contains illegal characters"),
    ],
)
def test_query_of_a_group_that_may_not_be_created_is_refused(
    creates: bool, group: str, cause: str
) -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_subscription_group=creates))
    answer = get(broker, group)
    assert answer.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert (answer.remark or "").startswith("No group in this broker")
    assert cause in (answer.remark or "")
    assert made(broker) == set()


def test_slaves_get_all_groups() -> None:
    broker = OpenedBroker()
    create(broker)
    bean = object_of(loads(broker.ask(RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG).body), "body")
    assert list(bean) == ["dataVersion", "forbiddenTable", "subscriptionGroupTable"]
    table = object_of(bean["subscriptionGroupTable"], "table")
    assert table["g"] == loads(JAVAS)
    assert table.keys() - {"g"} == SYSTEM
