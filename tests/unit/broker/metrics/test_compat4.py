"""Tests the page that has the names of rocketmq-exporter."""

from gantrymq.broker.metrics import compat4
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.metrics import page_of, values_of
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode

TOPIC = '{cluster="DefaultCluster",broker="broker-a",topic="T"}'
GROUP = '{cluster="DefaultCluster",broker="broker-a",topic="T",group="G"}'


def page(broker: OpenedBroker) -> dict[str, float]:
    page_of(broker)  # reads the store
    return values_of(compat4.samples(broker.broker))


def sending(count: int) -> OpenedBroker:
    """A broker with `count` messages in a topic, and a group that has consumed one of them."""
    broker = OpenedBroker()
    add_topic(broker, queues=1)
    for _ in range(count):
        broker.ask(RequestCode.SEND_MESSAGE_V2, message(), b"x")
    broker.state.groups.put(GroupConfig(group_name="G"), broker.wall_ms)
    broker.state.offsets.commit("G", "T", 0, 1)
    broker.pass_time(1.0)
    return broker


def test_offsets_and_what_lies_between_them() -> None:
    shown = page(sending(5))
    assert shown[f"rocketmq_producer_offset{TOPIC}"] == 5
    assert shown[f"rocketmq_consumer_offset{GROUP}"] == 1
    assert shown[f"rocketmq_message_accumulation{GROUP}"] == 4
    assert shown[f"rocketmq_group_get_latency_by_storetime{GROUP}"] == 1000


def test_the_lag_of_a_group_says_how_many_of_it_are_online() -> None:
    broker = sending(3)
    diff = 'rocketmq_group_diff{group="G",topic="T",countOfOnlineConsumers="%d",msgModel="1"}'
    assert page(broker)[diff % 0] == 2
    beat(broker, FakeChannel(), consumer("G", "T"))
    shown = page(broker)
    assert shown[diff % 1] == 2
    assert sum(name.startswith("rocketmq_group_count{") for name in shown) == 1


def test_retries_and_dead_letters_have_metrics_of_their_own() -> None:
    broker = sending(1)
    for topic in ("%RETRY%G", "%DLQ%G"):
        add_topic(broker, topic, queues=1)
        broker.ask(RequestCode.SEND_MESSAGE_V2, message(topic), b"x")
    shown = page(broker)
    labels = '{group="G",topic="%s",countOfOnlineConsumers="0",msgModel="1"}'
    assert shown["rocketmq_group_retrydiff" + labels % "%RETRY%G"] >= 1
    assert shown["rocketmq_group_dlqdiff" + labels % "%DLQ%G"] == 1
    assert not any("%DLQ%" in name for name in shown if "producer_offset" in name)


def test_runtime_figures_name_the_broker() -> None:
    shown = page(sending(2))
    totals = {name: value for name, value in shown.items() if "msg_put_total_today_now" in name}
    ((name, value),) = totals.items()
    assert value == 2
    for label in ('brokerIP="127.0.0.1:10911"', 'brokerHost="127.0.0.1"', 'broker_version="'):
        assert label in name
