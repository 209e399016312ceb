"""Properties of `plan_topics` in histories of users, brokers and failures."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from gantrymq.fakes.topics.topic_world import TopicWorld, topic
from gantrymq.operator.topics.plan import plan_topics
from gantrymq.operator.topics.removal import GONE_S
from gantrymq.operator.topics.values import BrokerTopic, ClusterStage, TopicsSnapshot

GROUPS = ("broker-0", "broker-1")
NAMES = ("a", "b")
TOPICS = ("T", "U")
POLICIES = ("Retain", "Delete", "DeleteWhenDrained")

counts = st.integers(1, 4).flatmap(lambda write: st.tuples(st.just(write), st.integers(write, 6)))


@st.composite
def specs(draw: st.DrawFn) -> dict[str, object]:
    write, read = draw(counts)
    spec: dict[str, object] = {
        "writeQueues": write,
        "readQueues": read,
        "deletionPolicy": draw(st.sampled_from(POLICIES)),
        "adopt": draw(st.booleans()),
        "order": draw(st.booleans()),
        "perm": draw(st.sampled_from(("RW", "R", "W"))),
    }
    if draw(st.booleans()):
        own_write, own_read = draw(counts)
        spec["groups"] = {"broker-1": {"writeQueues": own_write, "readQueues": own_read}}
    if draw(st.booleans()):
        spec["attributes"] = {"message.type": draw(st.sampled_from(("NORMAL", "FIFO")))}
    return spec


def held() -> st.SearchStrategy[BrokerTopic | None]:
    def config(pair: tuple[int, int], order: bool) -> BrokerTopic:
        return BrokerTopic(write=pair[0], read=pair[1], order=order)

    return st.none() | st.builds(config, counts, st.booleans())


creations = st.tuples(st.just("create"), st.sampled_from(NAMES), st.sampled_from(TOPICS), specs())
edits = st.tuples(st.just("edit"), st.sampled_from(NAMES), specs())
deletions = st.tuples(st.just("delete"), st.sampled_from(NAMES))
waits = st.tuples(st.just("wait"), st.sampled_from((1.0, 30.0, 61.0, 700.0)))
places = st.tuples(st.sampled_from(GROUPS), st.sampled_from(TOPICS))
events = st.one_of(
    creations,
    edits,
    edits,
    waits,
    deletions,
    st.tuples(st.just("by hand"), st.sampled_from(GROUPS), st.sampled_from(TOPICS), held()),
    st.tuples(st.just("away"), st.sets(st.sampled_from(GROUPS))),
    st.tuples(st.just("drained"), st.sets(places)),
    st.tuples(st.just("stage"), st.sampled_from(ClusterStage)),
    st.tuples(st.just("paused"), st.booleans()),
)
# What happens, and how many runs follow before the next event; the last of them may be killed after
# some broker calls and API writes.
runs = st.tuples(st.sampled_from((1, 1, 2, 0)), st.none() | st.integers(0, 5))
histories = st.builds(
    lambda first, rest: [(first, (1, None)), *rest],
    creations,
    st.lists(st.tuples(events, runs), max_size=15),
)


Event: TypeAlias = tuple[object, ...]
History: TypeAlias = list[tuple[Event, tuple[int, int | None]]]


def play(history: History) -> TopicWorld:
    """The world after these events; each action in between was checked."""
    world = TopicWorld()
    for number, (event, (count, killed_after)) in enumerate(history):
        happen(world, number, event)
        for _ in range(count):
            world.run()
        if killed_after is not None:
            world.run_and_crash(killed_after)
    return world


def happen(world: TopicWorld, number: int, event: Event) -> None:
    match event:
        case ("create", str(name), str(topic_name), dict(spec)) if name not in world.resources:
            uid = f"uid-{name}-{number}"
            world.add(topic(name, created=number, uid=uid, topicName=topic_name, **spec))
        case ("edit", str(name), dict(spec)) if name in world.resources:
            world.edit(name, **spec)
        case ("delete", str(name)) if name in world.resources:
            world.delete(name)
        case ("by hand", str(group), str(topic_name), config):
            assert config is None or isinstance(config, BrokerTopic)
            world.by_hand(group, topic_name, config)
        case _:
            _change_surroundings(world, event)


def _change_surroundings(world: TopicWorld, event: Event) -> None:
    match event:
        case ("away", set(groups)):
            world.away = groups
        case ("drained", set(undrained)):
            world.undrained = undrained
        case ("stage", ClusterStage() as stage):
            world.stage = stage
        case ("paused", bool(is_paused)):
            world.is_paused = is_paused
        case ("wait", float(seconds)):
            world.now += seconds


def heal(world: TopicWorld) -> None:
    world.away, world.undrained = set(), set()
    world.stage, world.is_paused = ClusterStage.PRESENT, False


@given(histories)
def test_every_history_ends_in_a_fixpoint_once_all_is_well(
    history: History,
) -> None:
    world = play(history)
    heal(world)
    world.settle()
    calls, writes = world.broker_calls, world.status_writes
    assert world.run().steps == ()
    assert (world.broker_calls, world.status_writes) == (calls, writes)


@given(histories)
def test_what_is_settled_is_as_the_oldest_resource_says_or_said_to_differ(
    history: History,
) -> None:
    world = play(history)
    heal(world)
    world.settle()
    for resource in world.resources.values():
        spec, ready = resource.spec, resource.status.condition("Ready")
        assert spec is not None
        assert ready is not None
        assert resource.deleted is None
        if ready.reason == "Applied":
            for group, table in world.tables.items():
                config, queues = table[spec.topic_name], spec.queues_of(group)
                assert (config.write, config.read) == (queues.write, queues.read)
                assert (config.perm, config.order) == (spec.perm, spec.order)
                assert set(spec.attributes) <= set(config.attributes)
        else:
            assert ready.reason in {"NameTaken", "Differs"}
            assert not ready.is_true


@given(histories)
def test_one_of_several_resources_of_a_name_has_it(history: History) -> None:
    world = play(history)
    heal(world)
    world.settle()
    by_name: dict[str, list[str]] = {}
    for resource in sorted(world.resources.values(), key=lambda each: each.age_key):
        ready = resource.status.condition("Ready")
        assert resource.spec is not None
        assert ready is not None
        by_name.setdefault(resource.spec.topic_name, []).append(ready.reason)
    for oldest, *others in by_name.values():
        assert oldest in {"Applied", "Differs"}
        assert all(reason == "NameTaken" for reason in others)


@given(
    histories,
    st.sampled_from(("missing", "terminating", "namespace", "gone")),
)
def test_no_finalizer_hangs(history: History, way: str) -> None:
    world = play(history)
    world.is_paused = False
    for name in tuple(world.resources):
        if world.resources[name].deleted is None:
            world.delete(name)
    if way == "missing":
        world.stage = ClusterStage.MISSING
    elif way == "terminating":
        world.stage = ClusterStage.TERMINATING
    elif way == "namespace":
        world.namespace_is_terminating = True
    else:
        world.away = set(GROUPS)
        world.now += GONE_S
    calls = world.broker_calls
    world.run()
    assert world.resources == {}
    assert world.broker_calls == calls


@given(histories)
def test_a_view_without_groups_plans_nothing_for_topics(
    history: History,
) -> None:
    world = play(history)
    heal(world)
    snapshot = world.snapshot()
    blind = TopicsSnapshot(replace(snapshot.cluster, groups=None), snapshot.topics)
    plan = plan_topics(blind, world.now)
    assert not any(step.changes or step.removals for step in plan.steps)
    assert plan.unmanaged is None
