"""Topics share placements; equal ones are one object."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.namesrv.core.placement import TopicTable
from gantrymq.wire.bodies.route import QueueData

A = QueueData("a", 4, 4, 6)
B = QueueData("b", 4, 4, 6)
C = QueueData("c", 8, 8, 6)


def table(**topics: tuple[QueueData, ...]) -> TopicTable:
    made = TopicTable()
    for topic, queues in topics.items():
        made.place((topic, queue) for queue in queues)
    return made


def queues(made: TopicTable, topic: str) -> tuple[QueueData, ...]:
    placement = made.get(topic)
    return () if placement is None else placement.queues


def test_topics_on_the_same_brokers_share_one_placement() -> None:
    made = table(T=(A, B), U=(B, A), V=(A,))
    assert made.get("T") is made.get("U")
    assert made.get("T") is not made.get("V")
    assert len(made.placements()) == 2


def test_queues_stand_by_broker_name() -> None:
    assert queues(table(T=(C, A, B)), "T") == (A, B, C)


def test_a_brokers_queues_are_found() -> None:
    placement = table(T=(A, C)).get("T")
    assert placement is not None
    assert (placement.on("a"), placement.on("b"), placement.on("c")) == (A, None, C)
    assert (placement.on(""), placement.on("z")) == (None, None)


def test_placing_again_replaces_the_brokers_queues() -> None:
    made = table(T=(A, B))
    wider = replace(A, read_queue_nums=16)
    made.place([("T", wider)])
    assert queues(made, "T") == (wider, B)


def test_changing_one_topic_leaves_its_companions() -> None:
    made = table(T=(A,), U=(A,))
    made.place([("T", B)])
    assert queues(made, "U") == (A,)


def test_a_topic_ends_with_its_last_broker() -> None:
    made = table(T=(A, B), U=(A,))
    ended = made.remove_brokers(["T", "U"], frozenset({"a"}))
    assert ended == ["U"]
    assert (list(made), queues(made, "T")) == (["T"], (B,))


def test_a_brokers_queues_change_in_every_topic() -> None:
    made = table(T=(A, B), U=(A,), V=(B,))
    assert made.replace("a", lambda queue: replace(queue, perm=4)) == 2
    assert queues(made, "T") == (replace(A, perm=4), B)
    assert queues(made, "V") == (B,)


def test_topics_are_chosen_by_placement() -> None:
    made = table(T=(A, B), U=(A,), V=(B,))
    assert made.topics_where(lambda placement: "b" in placement) == ["T", "V"]


def test_a_placement_nobody_has_is_forgotten() -> None:
    made = table(T=(A,))
    made.remove("T")
    assert len(made._shared) == 0
