"""Tests which consumers are notified when clients come, go and fall silent."""

from __future__ import annotations

from gantrymq.broker.core.client.client_watch import QUIET_SECONDS
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.fakes.brokers.broker import FakeChannel, OpenedBroker
from gantrymq.fakes.brokers.heartbeats import beat, consumer
from gantrymq.wire.bodies.groups import GroupConfig
from gantrymq.wire.bodies.heartbeat import BROADCASTING
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.headers.client import UnregisterClientRequest

EXPIRY_SECONDS = 120.0
SCAN_SECONDS = 10.0


def told(channel: FakeChannel) -> list[str]:
    """The groups it was told of."""
    assert all(each.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED for each in channel.told)
    assert all(each.is_oneway for each in channel.told)
    return [(each.ext or {})["consumerGroup"] for each in channel.told]


def test_all_members_are_notified_of_a_new_member_at_once() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T"), client_id="c")
    assert told(one) == ["G"]
    broker.pass_time(1.0)
    beat(broker, two, consumer("G", "T"), client_id="d")
    assert told(one) == ["G", "G"]
    assert told(two) == ["G"]


def test_members_are_not_notified_without_a_change() -> None:
    broker, one = OpenedBroker(), FakeChannel()
    for _ in range(3):
        beat(broker, one, consumer("G", "T"))
        broker.pass_time(30.0)
    assert told(one) == ["G"]


def test_members_are_notified_of_a_new_topic_of_their_group() -> None:
    broker, one = OpenedBroker(), FakeChannel()
    beat(broker, one, consumer("G", "T"))
    broker.pass_time(1.0)
    beat(broker, one, consumer("G", "T", "U"))
    assert told(one) == ["G", "G"]


def test_members_are_notified_once_of_many_new_members() -> None:
    broker = OpenedBroker()
    channels = [FakeChannel() for _ in range(50)]
    for number, channel in enumerate(channels):
        beat(broker, channel, consumer("G", "T"), client_id=f"c{number}")
    broker.pass_time(QUIET_SECONDS)
    assert told(channels[0]) == ["G", "G"]
    assert told(channels[-1]) == ["G"]


def test_members_of_a_broadcasting_group_are_not_notified() -> None:
    broker, one = OpenedBroker(), FakeChannel()
    beat(broker, one, consumer("G", "T", model=BROADCASTING))
    assert told(one) == []


def test_group_that_disables_notifications_is_notified_of_lost_members_only() -> None:
    broker, one, two, three = OpenedBroker(), FakeChannel(), FakeChannel(), FakeChannel()
    config = GroupConfig(group_name="G", notify_consumer_ids_changed_enable=False)
    broker.state.groups.put(config, 0)
    for number, channel in enumerate((one, two, three)):
        beat(broker, channel, consumer("G", "T"), client_id=f"c{number}")
    header = UnregisterClientRequest(client_id="c1", consumer_group="G")
    broker.ask(RequestCode.UNREGISTER_CLIENT, header, channel=two)
    broker.pass_time(1.0)
    assert told(one) == []
    broker.close(three)
    assert told(one) == ["G"]


def test_broker_notifies_no_consumer_when_its_configuration_forbids_it() -> None:
    broker = OpenedBroker(BrokerSettings(notify_consumer_ids_changed_enable=False))
    one = FakeChannel()
    beat(broker, one, consumer("G", "T"))
    assert told(one) == []


def test_members_are_notified_at_once_of_a_closed_connection() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T"), client_id="c")
    beat(broker, two, consumer("G", "T"), client_id="d")
    broker.pass_time(1.0)
    before = len(told(two))
    broker.close(one)
    assert broker.state.clients.consumers["G"].client_ids() == ["d"]
    assert len(told(two)) == before + 1


def test_closing_connection_is_not_notified() -> None:
    broker, one, two = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, one, consumer("G", "T"), client_id="c")
    broker.pass_time(1.0)
    one.is_closing = True
    beat(broker, two, consumer("G", "T"), client_id="d")
    assert told(one) == ["G"]


def test_silent_clients_leave_and_their_connections_are_closed() -> None:
    broker, consuming, producing = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, consuming, consumer("G", "T"))
    beat(broker, producing, producers=("P",))
    broker.pass_time(EXPIRY_SECONDS - SCAN_SECONDS)
    assert len(broker.state.clients) == 2
    broker.pass_time(2 * SCAN_SECONDS)
    assert len(broker.state.clients) == 0
    assert consuming.close_reason is not None
    assert producing.close_reason is not None


def test_members_are_notified_of_a_silent_member() -> None:
    broker, silent, alive = OpenedBroker(), FakeChannel(), FakeChannel()
    beat(broker, silent, consumer("G", "T"), client_id="c")
    for _ in range(5):
        beat(broker, alive, consumer("G", "T"), client_id="d")
        broker.pass_time(30.0)
    assert broker.state.clients.consumers["G"].client_ids() == ["d"]
    assert told(alive) == ["G", "G"]
    assert alive.close_reason is None


def test_connection_stays_when_only_one_of_its_groups_fell_silent() -> None:
    broker, one = OpenedBroker(), FakeChannel()
    beat(broker, one, producers=("P", "Q"))
    for _ in range(5):
        broker.pass_time(30.0)
        beat(broker, one, producers=("Q",))
    assert list(broker.state.clients.producers) == ["Q"]
    assert one.close_reason is None


def test_expiry_is_a_setting() -> None:
    broker = OpenedBroker(BrokerSettings(channel_expired_timeout=20_000))
    beat(broker, FakeChannel(), producers=("P",))
    broker.pass_time(20.0 + SCAN_SECONDS)
    assert len(broker.state.clients) == 0


def test_watch_has_no_deadline_while_no_client_is_connected() -> None:
    broker = OpenedBroker()
    assert broker.services.client_watch.deadline() == float("inf")
    channel = FakeChannel()
    beat(broker, channel, producers=("P",))
    assert broker.services.client_watch.deadline() <= broker.now + SCAN_SECONDS
    broker.close(channel)
    assert broker.services.client_watch.deadline() == float("inf")
