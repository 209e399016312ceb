"""Members of a group that do what they must not: seen, said once, and forgotten when over."""

from __future__ import annotations

import pytest

from gantrymq.broker.core.messages import Level
from gantrymq.broker.core.tables import conflicts as module
from gantrymq.broker.core.tables import consumer_group
from gantrymq.broker.core.tables.conflicts import Kind
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.client import UnregisterClientRequest


def warnings(broker: OpenedBroker) -> list[str]:
    return [line.text for line in broker.lines if line.level is Level.WARNING]


def kinds(broker: OpenedBroker) -> list[Kind]:
    return [conflict.kind for conflict in broker.state.conflicts.lasting]


def test_members_that_subscribe_alike_are_no_conflict() -> None:
    broker = OpenedBroker()
    beat(broker, FakeChannel(), consumer("G", "T", sub_version=1), client_id="c")
    beat(broker, FakeChannel(), consumer("G", "T", sub_version=2), client_id="d")
    assert kinds(broker) == []
    assert warnings(broker) == []


def test_warning_of_different_subscriptions_names_clients_and_remedy_once() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    for _ in range(3):
        beat(broker, one, consumer("G", "T", "U"), client_id="c")
        beat(broker, two, consumer("G", "T", expression="A"), client_id="d")
    (warning,) = warnings(broker)
    assert "c at " in warning
    assert "d at " in warning
    assert "T by TAG 'A'" in warning
    assert "U by TAG '*'" in warning
    assert "group of its own" in warning
    assert kinds(broker) == [Kind.SUBSCRIPTIONS]
    assert broker.state.conflicts.arisen[Kind.SUBSCRIPTIONS] == 1


def test_long_quotes_of_a_conflict_are_cut() -> None:
    broker = OpenedBroker()
    for client_id in "cd":
        said = consumer("G", "T" * 1_000, expression=client_id * 100_000)
        beat(broker, FakeChannel(), said, client_id=client_id)
    (conflict,) = broker.state.conflicts.lasting
    assert len(conflict.text) < 1_000


def test_conflict_of_subscriptions_is_over_when_members_agree_again() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T"), client_id="c")
    beat(broker, two, consumer("G", "U"), client_id="d")
    beat(broker, two, consumer("G", "T"), client_id="d")
    assert kinds(broker) == []
    texts = [line.text for line in broker.lines]
    assert "the conflict of subscriptions in group G is over" in texts


def test_conflict_of_subscriptions_is_over_when_the_other_leaves() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T"), client_id="c")
    beat(broker, two, consumer("G", "U"), client_id="d")
    broker.close(two)
    assert kinds(broker) == []


def test_conflict_goes_with_its_group() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T"), client_id="c")
    beat(broker, two, consumer("G", "U"), client_id="d")
    broker.pass_time(200.0)
    assert kinds(broker) == []


def test_other_groups_keep_their_conflicts() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    for group in ("G", "H"):
        beat(broker, one, consumer(group, "T"), client_id="c")
        beat(broker, two, consumer(group, "U"), client_id="d")
    header = UnregisterClientRequest(client_id="d", consumer_group="G")
    broker.ask(RequestCode.UNREGISTER_CLIENT, header, channel=two)
    assert [conflict.group for conflict in broker.state.conflicts.lasting] == ["H"]
    broker.ask(RequestCode.UNREGISTER_CLIENT, header, channel=one)
    assert [conflict.group for conflict in broker.state.conflicts.lasting] == ["H"]


def test_client_that_connects_anew_is_no_duplicate() -> None:
    broker, old, new = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, old, consumer("G", "T"), client_id="c")
    for _ in range(3):
        beat(broker, new, consumer("G", "T"), client_id="c")
    assert kinds(broker) == []


def test_two_processes_with_one_client_id_are_logged_once_with_a_remedy() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    for _ in range(3):
        beat(broker, one, consumer("G", "T", sub_version=1), client_id="c")
        beat(broker, two, consumer("G", "T", sub_version=2), client_id="c")
    (warning,) = warnings(broker)
    assert one.peer in warning
    assert two.peer in warning
    assert "instanceName" in warning
    (conflict,) = broker.state.conflicts.lasting
    assert (conflict.kind, conflict.group, conflict.client_id) == (Kind.CLIENT_ID, "G", "c")


def test_two_processes_are_seen_by_heartbeats_that_leave_their_subscriptions_out() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T", sub_version=1), client_id="c", fingerprint=7)
    beat(broker, two, consumer("G", "T", sub_version=2), client_id="c", fingerprint=7)
    for channel in (one, two):
        beat(broker, channel, consumer("G"), client_id="c", fingerprint=7, without_sub=True)
    assert kinds(broker) == [Kind.CLIENT_ID]


def test_one_process_on_two_connections_is_no_duplicate() -> None:
    broker, by_group, by_own = OpenedBroker(), FakeChannel(), FakeChannel()
    for _ in range(3):
        for channel in (by_own, by_group):
            beat(broker, channel, consumer("G", "T"), client_id="c")
    assert warnings(broker) == []


@pytest.mark.parametrize("newer_first", [False, True])
def test_one_process_that_subscribes_anew_on_two_connections_is_no_duplicate(
    newer_first: bool,
) -> None:
    broker, older, newer = OpenedBroker(), FakeChannel(), FakeChannel()
    for sub_version in range(1, 5):
        channels = (older, newer) if sub_version == 1 or not newer_first else (newer, older)
        for channel in channels:
            beat(broker, channel, consumer("G", "T", sub_version=sub_version), client_id="c")
    assert warnings(broker) == []


def test_processes_that_broke_unnoticed_one_after_the_other_are_no_duplicates() -> None:
    broker, last = OpenedBroker(), FakeChannel()
    for sub_version in range(1, 4):
        last = FakeChannel()
        for _ in range(2):
            beat(broker, last, consumer("G", "T", sub_version=sub_version), client_id="c")
    assert warnings(broker) == []
    assert len(broker.state.clients.consumers["G"].clients) == 3


def test_one_process_on_two_connections_beside_a_broken_one_is_no_duplicate() -> None:
    broker, broken, one, two = OpenedBroker(), FakeChannel(), FakeChannel(), FakeChannel()
    beat(broker, broken, consumer("G", "T", sub_version=1), client_id="c")
    for _ in range(3):
        for channel in (one, two):
            beat(broker, channel, consumer("G", "T", sub_version=2), client_id="c")
    assert warnings(broker) == []


def test_duplicate_is_over_when_one_of_the_processes_ends() -> None:
    broker, one, two, also_two = OpenedBroker(), FakeChannel(), FakeChannel(), FakeChannel()
    for _ in range(2):
        beat(broker, one, consumer("G", "T", sub_version=1), client_id="c")
        for channel in (two, also_two):
            beat(broker, channel, consumer("G", "T", sub_version=2), client_id="c")
    assert kinds(broker) == [Kind.CLIENT_ID]
    broker.close(one)
    assert kinds(broker) == []
    for channel in (two, also_two):
        beat(broker, channel, consumer("G", "T", sub_version=2), client_id="c")
    assert kinds(broker) == []


def test_heartbeat_is_compared_with_a_bounded_number_of_connections(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumer_group, "COMPARED_MAX", 2)
    broker, other, two = OpenedBroker(), FakeChannel(), [FakeChannel(), FakeChannel()]
    beat(broker, other, consumer("G", "T", sub_version=1), client_id="c")
    for channel in two:
        beat(broker, channel, consumer("G", "T", sub_version=2), client_id="c")
    assert not broker.state.clients.consumers["G"]._suspects
    beat(broker, other, consumer("G", "T", sub_version=1), client_id="c")
    beat(broker, two[0], consumer("G", "T", sub_version=2), client_id="c")
    assert kinds(broker) == [Kind.CLIENT_ID]


def test_long_lists_of_topics_are_cut() -> None:
    broker = OpenedBroker()
    many = [f"T{number}" for number in range(100)]
    beat(broker, FakeChannel(), consumer("G", *many), client_id="c")
    beat(broker, FakeChannel(), consumer("G"), client_id="d")
    (warning,) = warnings(broker)
    assert "and more" in warning
    assert "nothing else" in warning
    assert warning.count(" by TAG ") == module.WANTS_SHOWN_MAX


def test_number_of_conflicts_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONFLICTS_MAX", 1)
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    for group in ("G", "H"):
        beat(broker, one, consumer(group, "T"), client_id="c")
        beat(broker, two, consumer(group, "U"), client_id="d")
    assert len(broker.state.conflicts.lasting) == 1
    assert len(warnings(broker)) == 1


def test_member_without_a_known_subscription_is_no_conflict() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T"), client_id="c", fingerprint=7)
    beat(broker, two, consumer("G"), client_id="d", fingerprint=7, without_sub=True)
    assert kinds(broker) == []
