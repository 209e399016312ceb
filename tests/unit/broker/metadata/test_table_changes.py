"""Changes of tables are answered once all that may become master have them."""

from __future__ import annotations

from gantrymq.broker.core.messages import File, Request
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.sends import message
from gantrymq.fakes.groups.members import FakeMembers, Member
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.group import DeleteSubscriptionGroupRequest
from gantrymq.wire.headers.topic import CreateTopicRequest, DeleteTopicRequest

SUCCESS = ResponseCode.SUCCESS
TOPIC = CreateTopicRequest(
    topic="T", default_topic="TBW102", read_queue_nums=1, write_queue_nums=1, perm=6,
    topic_filter_type="SINGLE_TAG", topic_sys_flag=0, order=False,
)  # fmt: skip


def opened(*lacking: str, settings: BrokerSettings | None = None) -> OpenedBroker:
    broker = OpenedBroker(settings)
    broker.state.members = FakeMembers(*lacking)
    return broker


def stores(broker: OpenedBroker) -> None:
    """Every member has the tables now."""
    members = broker.state.members
    assert isinstance(members, FakeMembers)
    members.missing.clear()


def changes(broker: OpenedBroker) -> list[Request]:
    """A change of each table."""
    group = javajson.dumps_fastjson(GroupConfig(group_name="G").to_json())
    mode = b'{"topic":"T","consumerGroup":"G","mode":"POP"}'
    topic = broker.send(RequestCode.UPDATE_AND_CREATE_TOPIC, TOPIC)
    broker.settle()
    return [
        topic,
        broker.send(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group),
        broker.send(RequestCode.SET_MESSAGE_REQUEST_MODE, body=mode),
        broker.send(
            RequestCode.DELETE_SUBSCRIPTIONGROUP,
            DeleteSubscriptionGroupRequest(group_name="G", clean_offset=True),
        ),
        broker.send(RequestCode.DELETE_TOPIC_IN_BROKER, DeleteTopicRequest(topic="T")),
    ]


def test_a_change_waits_for_the_members() -> None:
    broker = opened("member 2")
    requests = changes(broker)
    broker.pass_time(1.0)
    assert all(broker.is_held(request) for request in requests)
    stores(broker)
    broker.pass_time(0.1)
    answers = [broker.answer(request) for request in requests]
    assert [answer and answer.code for answer in answers] == [SUCCESS] * len(requests)


def test_answer_after_the_timeout_names_members_that_have_not_stored_the_change() -> None:
    broker = opened("member 2", "member 3")
    request = broker.send(RequestCode.UPDATE_AND_CREATE_TOPIC, TOPIC)
    broker.pass_time(2.9)
    assert broker.is_held(request)
    broker.pass_time(0.2)
    answer = broker.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "member 2, member 3" in (answer.remark or "")
    assert broker.state.topics.find("T") is not None


def test_repeated_change_waits_again() -> None:
    broker = opened("member 2")
    group = javajson.dumps_fastjson(GroupConfig(group_name="G").to_json())

    def ask() -> list[ResponseCode | None]:
        requests = [
            broker.send(RequestCode.UPDATE_AND_CREATE_TOPIC, TOPIC),
            broker.send(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group),
        ]
        broker.pass_time(3.1)
        answers = [broker.answer(request) for request in requests]
        return [answer and ResponseCode(answer.code) for answer in answers]

    refused = [ResponseCode.SYSTEM_ERROR] * 2
    assert (ask(), ask()) == (refused, refused), "nothing changes by the second one"
    stores(broker)
    assert ask() == [SUCCESS] * 2


def test_former_master_does_not_confirm_a_change() -> None:
    master = Member(1)
    master.state.members = FakeMembers("member 2")
    master.lead()
    request = master.send(RequestCode.UPDATE_AND_CREATE_TOPIC, TOPIC)
    master.pass_time(0.5)
    stores(master)
    master.follow("127.0.0.1:20911")
    master.pass_time(0.1)
    answer = master.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "not master any more" in (answer.remark or "")


def test_master_of_a_later_epoch_does_not_confirm_an_earlier_change() -> None:
    master = Member(1)
    members = FakeMembers("member 2")
    master.state.members = members
    master.lead()
    request = master.send(RequestCode.UPDATE_AND_CREATE_TOPIC, TOPIC)
    master.pass_time(0.5)
    master.broker.follow(master.now, master.wall_ms)
    members.epoch = 2
    master.broker.lead(2, master.now, master.wall_ms)
    stores(master)
    master.pass_time(0.1)
    answer = master.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SYSTEM_ERROR


def test_change_is_not_confirmed_when_the_epoch_changed_during_its_write() -> None:
    master = Member(1)
    members = FakeMembers()
    master.state.members = members
    master.lead()
    master.files_are_stuck = True
    request = master.send(RequestCode.UPDATE_AND_CREATE_TOPIC, TOPIC)
    [save] = [each for each in master.unwritten if each.file is File.TOPICS]
    master.follow("127.0.0.1:20911")
    members.epoch = 3
    master.lead(3)
    master.write(save)
    master.settle()
    answer = master.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SYSTEM_ERROR


def test_brokers_of_fixed_roles_wait_for_no_member() -> None:
    broker = OpenedBroker()
    assert broker.ask(RequestCode.UPDATE_AND_CREATE_TOPIC, TOPIC).code == SUCCESS
    assert broker.now == 0.0


def test_a_topic_made_by_a_message_waits_too() -> None:
    broker = opened("member 2", settings=BrokerSettings(auto_create_topic_enable=True))
    request = broker.send(RequestCode.SEND_MESSAGE_V2, message("New"), b"a")
    broker.pass_time(1.0)
    assert broker.is_held(request)
    stores(broker)
    broker.pass_time(0.1)
    answer = broker.answer(request)
    assert answer is not None
    assert answer.code == SUCCESS


def test_a_message_of_a_topic_that_may_be_forgotten_is_refused() -> None:
    broker = opened("member 2", settings=BrokerSettings(auto_create_topic_enable=True))
    request = broker.send(RequestCode.SEND_MESSAGE_V2, message("New"), b"a")
    broker.pass_time(3.1)
    answer = broker.answer(request)
    assert answer is not None
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert "member 2" in (answer.remark or "")
    assert not broker.bodies("New")
