"""Topics share placements; equal ones are one object."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.namesrv.core.routing.placement import TopicTable
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


def test_an_unused_placement_is_forgotten() -> None:
    made = table(T=(A,))
    made.remove("T")
    assert made.placements() == set()
    assert made.placed_queues == 0


def test_a_placement_left_and_taken_again_in_one_go_is_one() -> None:
    made = TopicTable()
    other = replace(A, perm=4)
    made.place([("T", A), ("T", other), ("W", other), ("W", A), ("U", A)])
    assert made.get("W") is made.get("U")
    assert made.placements() == {made.get(topic) for topic in made}
    assert made.placed_queues == 2


TOPICS = st.sampled_from("TUV")
QUEUES = st.builds(
    QueueData, st.sampled_from("abc"), st.integers(1, 2), st.just(4), st.just(6), st.just(0)
)


@given(
    st.lists(st.tuples(st.sampled_from(["place", "leave"]), st.lists(st.tuples(TOPICS, QUEUES))))
)
def test_the_queues_placed_are_counted_and_never_more_than_foretold(
    steps: list[tuple[str, list[tuple[str, QueueData]]]],
) -> None:
    made = TopicTable()
    for step, items in steps:
        before = made.placed_queues
        if step == "place":
            # Each topic once, as a registration has it.
            each_once = list(dict(items).items())
            most = before + made.growth(each_once)
            made.place(each_once)
        else:
            known = {topic for topic, _ in items if topic in made}
            fits = [made.has_room_without(known, most) for most in range(20)]
            most = fits.index(True)
            made.remove_brokers(known, frozenset("a"))
        assert made.placed_queues <= max(most, before)
        used = {made.get(topic) for topic in made}
        assert made.placements() == used
        assert made.placed_queues == sum(len(each.queues) for each in made.placements())
        assert len({each.queues for each in made.placements()}) == len(made.placements())
