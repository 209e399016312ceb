"""The kernel beside the handlers: the same bytes in the log, the same answers; or not served."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import IDENTITY, START_MS, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.sends import UNIQUE, add_topic, message
from gantrymq.wire import frames
from gantrymq.wire.bodies.shared import TopicFilterType
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import FLAG_RESPONSE, Command
from gantrymq.wire.frames import FrameReader
from gantrymq.wire.headers.send import SendMessageV2Request
from gantrymq.wire.message import batch
from gantrymq.wire.message.batch import BatchPart
from gantrymq.wire.message.record import encode
from gantrymq.wire.version import OWN_VERSION

SEND = RequestCode.SEND_MESSAGE_V2
PEER = "10.1.2.3:54321"


def opened(settings: BrokerSettings | None = None, topic: str = "T") -> OpenedBroker:
    """With a topic whose first queue has a message: the kernel leaves the first to handlers."""
    broker = OpenedBroker(settings)
    broker.channel.peer = PEER
    add_topic(broker, topic)
    broker.ask(SEND, message(topic), b"first")
    return broker


def frame(header: SendMessageV2Request, body: bytes = b"hello", encoding: int = 0) -> bytes:
    made = Command(
        SEND, ext=header.encode(), body=body, opaque=9, version=OWN_VERSION, encoding=encoding
    )
    return frames.encode(made)


def fed(broker: OpenedBroker, data: bytes) -> int:
    """How many sends the kernel took."""
    _, count = broker.broker.feed(broker.channel, data, 0, broker.now, broker.wall_ms)
    broker.settle()
    return count


def is_quick(broker: OpenedBroker, topic: str = "T") -> bool:
    return fed(broker, frame(message(topic))) == 1


# ---------------------------------------------------------------------- the same

texts = st.text(st.characters(codec="utf-8", exclude_characters="\x00\x01\x02"), max_size=8)
headers = st.builds(
    replace,
    st.just(message()),
    sys_flag=st.sampled_from([0, 1, 0x301, 0x30]),
    flag=st.integers(-5, 5),
    reconsume_times=st.sampled_from([None, 0, 3]),
    properties=st.builds(
        lambda own, tags: f"{own}UNIQ_KEY\x01{UNIQUE}\x02TAGS\x01{tags}",
        st.sampled_from(["", "WAIT\x01true\x02", "TRACE_ON\x01\x02", "a\x01b\x02", "junk\x02"]),
        texts,
    ),
)


def test_both_ways_store_and_answer_the_same() -> None:
    quick, general = opened(), opened()

    @given(headers, st.sampled_from([0, 1]), st.binary(min_size=1, max_size=20))
    def check(header: SendMessageV2Request, encoding: int, body: bytes) -> None:
        data = frame(header, body, encoding)
        assert fed(quick, data) == 1
        (command,) = FrameReader().decode(data)
        answer = general.ask(SEND, ext=dict(command.ext or {}), body=command.body)
        stored, expected = (each.opened.records("T", 0)[-1] for each in (quick, general))
        assert encode(stored) == encode(expected)
        answer.opaque, answer.flag = command.opaque, FLAG_RESPONSE
        answer.version, answer.encoding = OWN_VERSION, encoding
        assert quick.replies[-1].frames == frames.encode(answer)

    check()


@pytest.mark.parametrize("encoding", [0, 1])
@pytest.mark.parametrize("own", [{"UNIQ_KEY": UNIQUE, "WAIT": "true"}, {}])
def test_both_ways_store_and_answer_a_batch_the_same(own: dict[str, str], encoding: int) -> None:
    quick, general = opened(), opened()
    parts = [BatchPart(b"%d" % n, n, b"KEYS\x01k\x02UNIQ_KEY\x01%d" % n) for n in range(20)]
    header, body = message(batch=True, properties=own), batch.encode(parts)
    assert fed(quick, frame(header, body, encoding)) == 1
    answer = general.ask(SEND, header, body)
    stored, expected = (each.opened.records("T", 0) for each in (quick, general))
    assert [encode(record) for record in stored] == [encode(record) for record in expected]
    answer.opaque, answer.flag = 9, FLAG_RESPONSE
    answer.version, answer.encoding = OWN_VERSION, encoding
    assert quick.replies[-1].frames == frames.encode(answer)


def test_both_ways_count_a_batch_the_same() -> None:
    quick, general = opened(), opened()
    header, body = message(batch=True), batch.encode([BatchPart(b"0"), BatchPart(b"1")])
    assert fed(quick, frame(header, body)) == 1
    general.ask(SEND, header, body)
    figures = []
    for broker in (quick, general):
        broker.pass_time(10.0)
        series = broker.state.stats.topic("T")
        assert series is not None
        figures.append((series.counts(broker.now), broker.state.stats.totals))
    assert figures[0] == figures[1]


# ---------------------------------------------------------------------- what is served


def test_an_ordinary_topic_is_served_until_it_goes() -> None:
    broker = opened()
    assert is_quick(broker)
    broker.state.topics.remove("T", broker.wall_ms)
    assert not is_quick(broker)


def test_a_topic_is_served_as_soon_as_it_comes() -> None:
    broker = opened()
    add_topic(broker, "later")
    broker.ask(SEND, message("later"), b"first")
    assert is_quick(broker, "later")


def test_more_queues_are_served_when_a_topic_grows() -> None:
    broker = opened()
    broker.state.topics.put(replace(add_topic(broker), read_queue_nums=9), broker.wall_ms)
    broker.ask(SEND, message(queue_id=8), b"first")
    assert fed(broker, frame(message(queue_id=8))) == 1


@pytest.mark.parametrize("topic", ["%RETRY%G", "%DLQ%G", "%any"])
def test_topics_that_are_judged_by_more_than_their_name_are_not_served(topic: str) -> None:
    assert not is_quick(opened(topic=topic), topic)


def test_topics_of_several_tags_are_not_served() -> None:
    broker = opened()
    many = replace(add_topic(broker), topic_filter_type=TopicFilterType.MULTI_TAG)
    broker.state.topics.put(many, broker.wall_ms)
    assert not is_quick(broker)


def test_names_that_no_send_may_have_are_not_served() -> None:
    broker = opened()
    for topic in ("", "a b", "t" * 128, "SCHEDULE_TOPIC_XXXX", "rmq_sys_wheel_timer"):
        add_topic(broker, topic)
        assert not is_quick(broker, topic)


@pytest.mark.parametrize("member", [b"language", b"serializeTypeCurrentRPC"])
def test_a_header_that_is_no_json_is_not_served_wherever_it_breaks(member: bytes) -> None:
    head, tail = frame(message()).split(b'"' + member + b'":"')
    assert fed(opened(), head + b'"' + member + b'":"\\V' + tail[2:]) == 0


def test_a_topic_is_not_served_before_it_is_safe() -> None:
    broker = opened()
    broker.state.topics.unsaved.add("T")
    broker.services.kernel_eligibility.look("T")
    assert not is_quick(broker)
    broker.ask(SEND, message(), b"safe now")
    assert is_quick(broker)


@pytest.mark.parametrize(
    "settings",
    [
        BrokerSettings(acl_enable=True),
        BrokerSettings(broker_permission=4),
        BrokerSettings(trace_on=False),
    ],
)
def test_nothing_is_served_where_handlers_have_more_to_say(settings: BrokerSettings) -> None:
    assert not is_quick(opened(settings))


def test_a_slave_serves_nothing() -> None:
    broker = OpenedBroker(identity=replace(IDENTITY, broker_id=1))
    assert broker.state.kernel is None


def test_settings_count_from_the_moment_they_change() -> None:
    broker = opened()
    broker.state.settings = replace(broker.state.settings, broker_permission=4)
    broker.settle()
    assert not is_quick(broker)
    broker.state.settings = replace(broker.state.settings, broker_permission=6, region_id="north")
    broker.settle()
    assert is_quick(broker)
    assert b"MSG_REGION\x01north" in broker.opened.records("T", 0)[-1].properties


def test_sends_are_served_from_their_time_on() -> None:
    settings = BrokerSettings(start_accept_send_request_time_stamp=START_MS + 10_000)
    broker = OpenedBroker(settings)
    add_topic(broker)
    assert broker.state.kernel is None
    broker.pass_time(10.0)
    broker.ask(SEND, message(), b"first")
    assert is_quick(broker)


def test_a_connection_from_elsewhere_is_where_its_messages_were_born() -> None:
    broker = opened()
    other = FakeChannel()
    broker.broker.feed(other, frame(message()), 0, broker.now, broker.wall_ms)
    broker.settle()
    first, second = broker.opened.records("T", 0)
    assert first.born_host != second.born_host
