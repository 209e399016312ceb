"""Where queues are, by the routes that name servers tell."""

from __future__ import annotations

from gantrymq.spark.options.assignment import QueueKey
from gantrymq.spark.options.read_options import Selection
from gantrymq.spark.source.planning.layout import Member, layout_of
from gantrymq.wire.bodies.route import BrokerData, QueueData, TopicRouteData

READ_WRITE, WRITE_ONLY = 6, 2


def route(*queues: QueueData, **addresses: dict[int, str]) -> TopicRouteData:
    brokers = tuple(
        BrokerData(cluster="c", broker_name=name, addresses=each)
        for name, each in addresses.items()
    )
    return TopicRouteData(brokers=brokers, queues=queues)


def test_readable_queues_are_selected() -> None:
    queues = (QueueData("a", 2, 8, READ_WRITE), QueueData("b", 4, 4, WRITE_ONLY))
    layout = layout_of(Selection(("t",)), {"t": route(*queues, a={0: "h:1"}, b={0: "h:2"})})
    assert layout.queues == {QueueKey("t", "a", 0), QueueKey("t", "a", 1)}
    assert layout.topics_by_broker == [("a", "t")]
    assert layout.topics == {"t"}


def test_a_slave_is_read_when_the_master_is_missing() -> None:
    queues = (QueueData("a", 1, 1, READ_WRITE), QueueData("b", 1, 1, READ_WRITE))
    layout = layout_of(
        Selection(("t",)), {"t": route(*queues, a={0: "h:1", 1: "h:2"}, b={2: "h:4", 1: "h:3"})}
    )
    assert layout.members == {"a": Member("h:1", True), "b": Member("h:3", False)}


def test_an_assignment_selects_only_its_queues() -> None:
    chosen = frozenset({QueueKey("t", "a", 1), QueueKey("t", "a", 9)})
    routes = {"t": route(QueueData("a", 4, 4, READ_WRITE), a={0: "h:1"})}
    assert layout_of(Selection(queues=chosen), routes).queues == {QueueKey("t", "a", 1)}
