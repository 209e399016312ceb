"""Which sends are refused, with which code and words, and what the others are made into."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import IDENTITY, START_MS, OpenedBroker
from gantrymq.fakes.brokers.sends import BORN_MS, UNIQUE, add_topic, message
from gantrymq.wire import hosts
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.command import Command
from gantrymq.wire.header import Header
from gantrymq.wire.message import properties
from gantrymq.wire.message.record import Record

SEND = RequestCode.SEND_MESSAGE_V2


def asked(broker: OpenedBroker, header: Header, body: bytes = b"hello") -> Command:
    return broker.ask(SEND, header, body)


def stored(broker: OpenedBroker, topic: str = "T", queue_id: int = 0) -> Record:
    return broker.opened.records(topic, queue_id)[-1]


def assert_refused(answer: Command, code: ResponseCode, remark: str) -> None:
    assert answer.code == code
    assert (answer.remark or "").startswith(remark)
    assert answer.ext == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}


# ---------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("topic", "remark"),
    [
        ("", "The specified topic is blank."),
        (" ", "The specified topic is blank."),
        (
            "a/b",
            "The specified topic contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$",
        ),
        ("tópico", "The specified topic contains illegal characters"),
        ("a\n", "The specified topic contains illegal characters"),
        ("t" * 128, "The specified topic is longer than topic max length."),
    ],
)
def test_a_topic_has_to_have_a_legal_name(topic: str, remark: str) -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_topic_enable=True))
    add_topic(broker, "TBW102")
    assert_refused(asked(broker, message(topic)), ResponseCode.INVALID_PARAMETER, remark)


@pytest.mark.parametrize(
    "topic", ["SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC", "rmq_sys_wheel_timer"]
)
def test_send_to_a_topic_of_the_broker_itself_is_refused(topic: str) -> None:
    broker = OpenedBroker()
    add_topic(broker, topic)
    remark = f"Sending message to topic[{topic}] is forbidden."
    assert_refused(asked(broker, message(topic)), ResponseCode.NO_PERMISSION, remark)


def test_refusal_of_a_missing_topic_names_the_command_that_creates_it() -> None:
    answer = asked(OpenedBroker(), message("orders"))
    assert_refused(
        answer,
        ResponseCode.TOPIC_NOT_EXIST,
        "topic[orders] not exist, apply first please!",
    )
    assert "autoCreateTopicEnable is false" in (answer.remark or "")
    assert "mqadmin updateTopic -b 127.0.0.1:10911 -t orders" in (answer.remark or "")


@pytest.mark.parametrize("queue_id", [4, 2**31 - 1])
def test_a_queue_the_topic_does_not_have_is_refused(queue_id: int) -> None:
    broker = OpenedBroker()
    add_topic(broker)
    answer = asked(broker, message(queue_id=queue_id))
    assert_refused(
        answer, ResponseCode.INVALID_PARAMETER, f"request queueId[{queue_id}] is illegal, "
    )
    assert f"Producer: {broker.channel.peer}" in (answer.remark or "")


def test_queues_that_can_only_be_read_still_take_messages_as_in_java() -> None:
    broker = OpenedBroker()
    broker.state.topics.put(
        replace(add_topic(broker), read_queue_nums=4, write_queue_nums=2), broker.wall_ms
    )
    assert asked(broker, message(queue_id=3)).code == ResponseCode.SUCCESS


def test_any_queue_of_a_topic_with_none_to_write_is_none() -> None:
    broker = OpenedBroker()
    broker.state.topics.put(replace(add_topic(broker), write_queue_nums=0), broker.wall_ms)
    answer = asked(broker, message(queue_id=-1))
    assert_refused(answer, ResponseCode.INVALID_PARAMETER, "request queueId[-1] is illegal")


def test_order_topics_need_the_brokers_permission_and_others_do_not() -> None:
    broker = OpenedBroker(BrokerSettings(broker_permission=4))
    config = add_topic(broker)
    assert asked(broker, message()).code == ResponseCode.SUCCESS
    broker.state.topics.put(replace(config, order=True), broker.wall_ms)
    assert_refused(
        asked(broker, message()),
        ResponseCode.NO_PERMISSION,
        "the broker[127.0.0.1] sending message is forbidden",
    )


def test_no_message_is_taken_before_its_time() -> None:
    settings = BrokerSettings(start_accept_send_request_time_stamp=START_MS + 10_000)
    broker = OpenedBroker(settings)
    add_topic(broker)
    answer = asked(broker, message())
    assert_refused(answer, ResponseCode.SYSTEM_ERROR, "broker unable to service, until ")
    assert "in 10 s" in (answer.remark or "")
    broker.pass_time(10.0)
    assert asked(broker, message()).code == ResponseCode.SUCCESS


def test_a_slave_sends_producers_to_its_master() -> None:
    broker = OpenedBroker(identity=replace(IDENTITY, broker_id=1))
    add_topic(broker)
    assert_refused(asked(broker, message()), ResponseCode.SYSTEM_BUSY, "[REJECTREQUEST]system busy")


def test_a_header_without_a_required_field_is_an_error_and_nothing_else() -> None:
    broker = OpenedBroker()
    answer = broker.ask(SEND, ext={"b": "T"})
    assert answer.code == ResponseCode.SYSTEM_ERROR


numbers = st.sampled_from(["0", "-1", "3", str(2**31 - 1), str(-(2**31)), str(2**63), "x", ""])
absurd = st.fixed_dictionaries(
    {"b": st.sampled_from(["T", "new", "%RETRY%G", "%RETRY%", "%DLQ%", "\x00"])},
    optional={
        **dict.fromkeys("adefghjl", numbers),
        "c": st.sampled_from(["TBW102", "T", ""]),
        "i": st.one_of(
            st.text(max_size=20),
            st.lists(
                st.sampled_from(
                    [
                        "DELAY\x01-9",
                        "TRAN_MSG\x01true",
                        "TIMER_DELAY_MS\x019",
                        "WAIT\x01",
                        "a\ud800",
                    ]
                )
            ).map("\x02".join),
        ),
        "k": st.sampled_from(["true", "?"]),
        "m": st.sampled_from(["true", "false"]),
    },
)
sane = {name: str(value) for name, value in message().encode().items()}


def test_any_malformed_send_is_answered() -> None:
    broker = OpenedBroker(BrokerSettings(auto_create_topic_enable=True))
    add_topic(broker)

    @given(absurd, st.binary(max_size=30))
    def check(said: dict[str, str], body: bytes) -> None:
        answer = broker.ask(SEND, ext={**sane, **said}, body=body)
        assert answer.code == ResponseCode.SUCCESS or answer.remark

    check()


# ---------------------------------------------------------------------- records


def test_a_message_is_stored_as_it_came_with_the_brokers_properties_behind() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    header = message(
        queue_id=2,
        sys_flag=0x301,
        reconsume_times=3,
        properties={"TAGS": "a", "UNIQ_KEY": UNIQUE, "WAIT": "true", "mine": "ü"},
    )
    assert asked(broker, header, b"zip").code == ResponseCode.SUCCESS
    record = stored(broker, queue_id=2)
    assert (record.topic, record.body, record.queue_id) == (b"T", b"zip", 2)
    assert (record.flag, record.sys_flag, record.reconsume_times) == (7, 0x301, 3)
    assert record.born_timestamp_ms == BORN_MS
    assert record.born_host == hosts.parse(broker.channel.peer)
    assert record.store_host == IDENTITY.store_host
    assert record.properties == (header.properties or "").encode() + (
        b"MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02"
    )


def test_a_message_without_a_unique_key_gets_one() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    answers = [asked(broker, message(properties={"TAGS": "a"})) for _ in range(2)]
    keys = [properties.parse(each.properties)["UNIQ_KEY"] for each in broker.opened.records("T", 0)]
    assert [(answer.ext or {})["transactionId"] for answer in answers] == keys
    assert len(set(keys)) == 2
    assert all(key.startswith("7F000001") and len(key) == 32 for key in keys)


def test_properties_reserved_for_brokers_are_replaced() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    said = {"POP_CK": "x", "CLUSTER": "mine", "MSG_REGION": "mine", "a": "b", "UNIQ_KEY": UNIQUE}
    asked(broker, message(properties=said))
    assert properties.parse(stored(broker).properties) == {
        "a": "b",
        "UNIQ_KEY": UNIQUE,
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "CLUSTER": "DefaultCluster",
    }


def test_a_stripped_separator_is_put_back_before_the_brokers_properties() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    header = replace(message(), properties=f"UNIQ_KEY\x01{UNIQUE}\x02TAGS\x01a")
    asked(broker, header)
    assert properties.parse(stored(broker).properties)["TAGS"] == "a"


def test_a_negative_queue_is_any() -> None:
    broker = OpenedBroker()
    add_topic(broker)
    answers = [asked(broker, message(queue_id=-1)) for _ in range(40)]
    queues = {(answer.ext or {})["queueId"] for answer in answers}
    assert queues == {"0", "1", "2", "3"}
