"""The filters of groups, and consumerFilter.json as Java lays it out."""

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.broker.core.messages import File
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.sql92.tokens import SelectorError
from gantrymq.broker.core.tables import filters as filters_module
from gantrymq.broker.core.tables.consumer_group import Client
from gantrymq.fakes.brokers.broker import START_MS, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.pulls import PulledBroker, bodies
from gantrymq.fakes.brokers.sends import add_topic
from gantrymq.wire import javajson
from gantrymq.wire.bodies.heartbeat import ConsumerData, SubscriptionData
from gantrymq.wire.jsonvalue import JsonObject, object_of

# Java 5.3.3 wrote it.
JAVA = b"""{
\t"filterDataByTopic":{
\t\t"T":{
\t\t\t"groupFilterData":{
\t\t\t\t"G":{
\t\t\t\t\t"bloomFilterData":{
\t\t\t\t\t\t"bitNum":216,
\t\t\t\t\t\t"bitPos":[184,66,51]
\t\t\t\t\t},
\t\t\t\t\t"bornTime":1795301189617,
\t\t\t\t\t"clientVersion":4,
\t\t\t\t\t"consumerGroup":"G",
\t\t\t\t\t"dead":false,
\t\t\t\t\t"deadTime":0,
\t\t\t\t\t"expression":"a > 3",
\t\t\t\t\t"expressionType":"SQL92",
\t\t\t\t\t"topic":"T"
\t\t\t\t}
\t\t\t},
\t\t\t"topic":"T"
\t\t}
\t}
}"""


@pytest.fixture
def pulls() -> PulledBroker:
    return PulledBroker()


def sql(text: str, version: int = 1, topic: str = "T") -> SubscriptionData:
    return SubscriptionData(
        topic=topic, sub_string=text, expression_type="SQL92", sub_version=version
    )


def join(broker: OpenedBroker, *said: SubscriptionData, group: str = "G") -> FakeChannel:
    """A consumer that says this."""
    channel = FakeChannel()
    client = Client(channel, "c", 0, 0, broker.now, broker.wall_ms)
    broker.state.clients.add_consumer(
        ConsumerData(group_name=group, subscriptions=tuple(said)), client
    )
    return channel


def kept(broker: OpenedBroker) -> JsonObject:
    """The filters of topic T in the file as it would be written now, by group."""
    topics = object_of(javajson.loads(broker.state.filters.content()), "file")["filterDataByTopic"]
    filters = object_of(object_of(topics, "topics").get("T") or {}, "T").get("groupFilterData")
    return object_of(filters or {}, "filters")


def test_a_group_goes_by_the_expression_it_said(pulls: PulledBroker) -> None:
    pulls.store("a", price="1")
    pulls.store("b", price="9")
    join(pulls.broker, sql("price > 3"))
    assert bodies(pulls.ask(sys_flag=0, sub_version=1)) == ["b"]
    join(pulls.broker, sql("price < 3", version=2))
    assert bodies(pulls.ask(sys_flag=0, sub_version=2)) == ["a"]


def test_invalid_expression_is_refused_with_the_position_of_the_error(pulls: PulledBroker) -> None:
    join(pulls.broker, sql("price >"))
    answer = pulls.ask(sys_flag=0)
    assert answer.code == 27
    assert answer.remark is not None
    assert answer.remark.startswith(
        "The broker's consumer filter data is not exist!Your expression may be wrong! at character"
    )
    assert len(pulls.state.filters) == 0


def test_text_after_an_expression_is_ignored_and_logged(pulls: PulledBroker) -> None:
    join(pulls.broker, sql("a LIKE 'x%'"))
    pulls.ask(sys_flag=0)
    assert any("LIKE 'x%'" in line.text for line in pulls.broker.lines)


def test_a_filter_is_written_ten_seconds_after_it_came(pulls: PulledBroker) -> None:
    join(pulls.broker, sql("a > 3"))
    pulls.ask(sys_flag=0)
    pulls.broker.pass_time(9.0)
    assert File.FILTERS not in pulls.broker.saved
    pulls.broker.pass_time(1.5)
    assert b"a > 3" in pulls.broker.saved[File.FILTERS]


def test_javas_file_is_read_and_written_again(pulls: PulledBroker) -> None:
    join(pulls.broker, sql("a > 3", version=4))
    pulls.state.filters.load(JAVA)
    # fastjson leaves an int[] on one line.
    written = pulls.state.filters.content().replace(b"\t" * 7, b"")
    assert written.replace(b"[\n184,\n66,\n51\n\t\t\t\t\t\t]", b"[184,66,51]") == JAVA


def test_a_bloom_filter_stays_for_it_belongs_to_group_and_topic(pulls: PulledBroker) -> None:
    pulls.state.filters.load(JAVA)
    join(pulls.broker, sql("a > 4", version=5))
    pulls.state.filters.selector("G", sql("a > 4", version=5))
    filter_ = object_of(kept(pulls.broker)["G"], "G")
    assert filter_["expression"] == "a > 4"
    assert filter_["bloomFilterData"] == {"bitNum": 216, "bitPos": [184, 66, 51]}


@pytest.mark.parametrize(
    "content", [b"[]", b'{"filterDataByTopic":{"T":{"groupFilterData":{"G":{}}}}}']
)
def test_a_file_that_is_none_is_refused(pulls: PulledBroker, content: bytes) -> None:
    with pytest.raises(RemoteError):
        pulls.state.filters.load(content)


def test_filter_without_consumers_is_dead_and_removed_a_day_later(pulls: PulledBroker) -> None:
    channel = join(pulls.broker, sql("a > 3"))
    pulls.ask(sys_flag=0)
    assert object_of(kept(pulls.broker)["G"], "G")["dead"] is False
    pulls.state.clients.closed(channel)
    pulls.broker.pass_time(1.0)
    dead = object_of(kept(pulls.broker)["G"], "G")
    assert (dead["dead"], dead["deadTime"]) == (True, START_MS + 1000)
    pulls.broker.now += 24 * 3600.0
    pulls.broker.settle()
    assert kept(pulls.broker) == {}


def test_a_dead_filter_lives_again(pulls: PulledBroker) -> None:
    channel = join(pulls.broker, sql("a > 3"))
    pulls.ask(sys_flag=0)
    pulls.state.clients.closed(channel)
    kept(pulls.broker)
    join(pulls.broker, sql("a > 3"))
    pulls.broker.pass_time(1.0)
    pulls.ask(sys_flag=0)
    assert object_of(kept(pulls.broker)["G"], "G")["dead"] is False


def test_no_more_filters_are_kept_than_the_bound_but_all_work(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters_module, "FILTERS_MAX", 2)
    filters = pulls.state.filters
    join(pulls.broker, sql("a > 0"), group="G0")
    for number in range(4):
        selector = filters.selector(f"G{number}", sql(f"a > {number}"))
        assert selector.chooses({"a": f"{number + 1}"})
        assert len(filters) <= 2
    assert "G0" in kept(pulls.broker)


def test_no_longer_filters_are_kept_than_the_bound_but_all_work(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filters_module, "CHARACTERS_MAX", 12)
    filters = pulls.state.filters
    for number in range(4):
        join(pulls.broker, sql(f"a > {number}"), group=f"G{number}")
        assert filters.selector(f"G{number}", sql(f"a > {number}")).chooses({"a": "9"})
    assert len(filters) == 2
    assert filters.selector("G0", sql("a < 1", version=2)).chooses({"a": "0"})
    assert filters.selector("G0", sql("a < 100", version=3)).chooses({"a": "9"})
    assert sum(len(each.expression) for each in filters._table.values()) <= 12


def test_retried_messages_go_by_the_filter_of_their_topic_if_that_is_wanted() -> None:
    pulls = PulledBroker(OpenedBroker(BrokerSettings(filter_support_retry=True)))
    retry = "%RETRY%G"
    join(pulls.broker, sql("price > 3"), sql("nothing = 1", topic=retry))
    pulls.ask(sys_flag=0, topic="T")
    add_topic(pulls.broker, retry)
    pulls.store("a", topic=retry, price="1", RETRY_TOPIC="T")
    pulls.store("b", topic=retry, price="9", RETRY_TOPIC="T")
    pulls.store("c", topic=retry, price="1", RETRY_TOPIC="other")
    assert bodies(pulls.ask(sys_flag=0, topic=retry)) == ["b", "c"]


def test_another_kind_of_filter_is_unknown(pulls: PulledBroker) -> None:
    said = SubscriptionData(topic="T", sub_string="a", expression_type="XPATH")
    with pytest.raises(SelectorError, match="XPATH"):
        pulls.state.filters.selector("G", said)
