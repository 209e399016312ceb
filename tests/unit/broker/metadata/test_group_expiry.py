"""Unused groups that consumers created: when they are removed, and which."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.metadata import group_creation, group_expiry
from gantrymq.broker.core.metadata.group_expiry import HOUR_SECONDS, is_unused
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.broker.core.state import State
from gantrymq.fakes.brokers.broker import IDENTITY, FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.fakes.brokers.pulls import PulledBroker
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.offset import UpdateConsumerOffsetRequest


@pytest.fixture
def pulls() -> PulledBroker:
    return PulledBroker()


def pass_hours(pulls: PulledBroker, hours: int) -> None:
    """The clock goes on at once: there are many deadlines of others in between."""
    pulls.broker.now += hours * HOUR_SECONDS
    pulls.broker.settle()


def is_there(pulls: PulledBroker, group: str) -> bool:
    return pulls.state.groups.find(group) is not None


def test_a_group_that_a_pull_created_expires(pulls: PulledBroker) -> None:
    pulls.ask(consumer_group="invented")
    pass_hours(pulls, 23)
    assert is_there(pulls, "invented")
    pass_hours(pulls, 1)
    assert not is_there(pulls, "invented")
    assert any("autoCreatedGroupExpireHours" in line.text for line in pulls.broker.lines)


def test_pulls_keep_their_group(pulls: PulledBroker) -> None:
    for _ in range(3):
        pulls.ask(consumer_group="poller")
        pass_hours(pulls, 20)
    assert is_there(pulls, "poller")


def test_a_group_with_members_stays_and_expires_with_its_retry_topic(pulls: PulledBroker) -> None:
    channel = FakeChannel()
    pulls.state.settings = BrokerSettings(channel_expired_timeout=10**9)
    beat(pulls.broker, channel, consumer("members", "T"))
    pass_hours(pulls, 48)
    assert is_there(pulls, "members")
    pulls.broker.close(channel)
    pass_hours(pulls, 23)
    assert is_there(pulls, "members")
    assert pulls.state.topics.find("%RETRY%members") is not None
    pass_hours(pulls, 1)
    assert not is_there(pulls, "members")
    assert pulls.state.topics.find("%RETRY%members") is None


def test_a_group_with_offsets_stays(pulls: PulledBroker) -> None:
    pulls.store("a")
    pulls.ask(consumer_group="committer")
    pulls.broker.ask(
        RequestCode.UPDATE_CONSUMER_OFFSET,
        UpdateConsumerOffsetRequest(
            consumer_group="committer", topic="T", queue_id=0, commit_offset=1
        ),
    )
    pass_hours(pulls, 48)
    assert is_there(pulls, "committer")


def test_a_group_with_messages_to_retry_stays(pulls: PulledBroker) -> None:
    channel = FakeChannel()
    beat(pulls.broker, channel, consumer("retrying", "T"))
    pulls.store("again", topic="%RETRY%retrying")
    pulls.broker.close(channel)
    pass_hours(pulls, 48)
    assert is_there(pulls, "retrying")


def test_a_group_that_an_administrator_made_or_restricted_stays(pulls: PulledBroker) -> None:
    pulls.ask(consumer_group="restricted")
    pulls.state.groups.forbid("restricted", "T", 4, 1)
    config = GroupConfig(group_name="administrators")
    body = javajson.dumps_fastjson(config.to_json())
    pulls.broker.ask(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=body)
    pass_hours(pulls, 48)
    assert is_there(pulls, "restricted")
    assert is_there(pulls, "administrators")


@pytest.mark.parametrize(
    "settings",
    [
        BrokerSettings(auto_created_group_expire_hours=0),
        BrokerSettings(auto_create_subscription_group=False),
    ],
)
def test_no_group_expires_where_the_settings_forbid_it(
    pulls: PulledBroker, settings: BrokerSettings
) -> None:
    pulls.ask(consumer_group="invented")
    pulls.state.settings = settings
    pass_hours(pulls, 48)
    assert is_there(pulls, "invented")


def test_after_a_start_a_group_has_all_its_hours_again(pulls: PulledBroker) -> None:
    pulls.ask(consumer_group="invented")
    content = pulls.state.groups.content()
    again = PulledBroker(OpenedBroker(files={File.GROUPS: content}))
    pass_hours(again, 1)
    pass_hours(again, 23)
    assert is_there(again, "invented")
    pass_hours(again, 1)
    assert not is_there(again, "invented")


def test_many_groups_expire_in_several_looks(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_expiry, "SCAN_GROUPS", 2)
    for number in range(5):
        pulls.ask(consumer_group=f"invented-{number}")
    pass_hours(pulls, 24)
    assert len(pulls.state.groups.auto_created) == 3
    pulls.broker.pass_time(2 * group_expiry.REST_SECONDS)
    assert not pulls.state.groups.auto_created


def test_a_slave_leaves_the_groups_to_its_master() -> None:
    slave = OpenedBroker(identity=replace(IDENTITY, broker_id=1))
    slave.state.groups.create(GroupConfig(group_name="copied"), 1, 0.0)
    slave.now += 48 * HOUR_SECONDS
    slave.settle()
    assert slave.state.groups.find("copied") is not None


# ---------------------------------------------------------------------- room for new groups


def fill(pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """There may be so many groups beside those of the system, and pulls make them."""
    monkeypatch.setattr(group_creation, "CREATED_GROUPS_MAX", len(pulls.state.groups) + count)
    monkeypatch.setattr(group_expiry, "ROOM_GROUPS", 2)
    for number in range(count):
        pulls.ask(consumer_group=f"invented-{number}")
        pulls.broker.pass_time(1.0)


def test_groups_unused_for_the_longest_time_give_way_to_new_ones(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(pulls, monkeypatch, 5)
    pulls.ask(consumer_group="invented-0")  # it is used after all
    assert pulls.ask(consumer_group="real").code == ResponseCode.PULL_NOT_FOUND
    assert is_there(pulls, "real")
    left = [number for number in range(5) if is_there(pulls, f"invented-{number}")]
    assert left == [0, 3, 4]


def test_used_groups_give_way_to_none(pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(pulls, monkeypatch, 2)
    channel = FakeChannel()
    beat(pulls.broker, channel, *(consumer(f"invented-{number}", "T") for number in range(2)))
    refused = pulls.ask(consumer_group="real")
    assert refused.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert "all of them are used" in (refused.remark or "")
    pulls.broker.close(channel)
    pulls.broker.pass_time(group_expiry.ROOM_SECONDS)
    assert pulls.ask(consumer_group="real").code == ResponseCode.PULL_NOT_FOUND


def test_a_name_that_is_refused_anyway_removes_no_group(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(pulls, monkeypatch, 2)
    assert pulls.ask(consumer_group="with blank").code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert is_there(pulls, "invented-0")


def test_a_look_that_found_no_room_is_not_repeated_at_once(
    pulls: PulledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(pulls, monkeypatch, 2)
    beat(pulls.broker, FakeChannel(), consumer("invented-0", "T"), consumer("invented-1", "T"))
    looks: list[str] = []

    def noted(state: State, group: str) -> bool:
        looks.append(group)
        return is_unused(state, group)

    monkeypatch.setattr(group_expiry, "is_unused", noted)
    for number in range(100):
        pulls.ask(consumer_group=f"more-{number}")
    assert len(looks) == 2
