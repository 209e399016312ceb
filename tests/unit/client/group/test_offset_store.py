"""How far a group is, in memory and where it lasts."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import CorruptionError
from gantrymq.client.core.errors import BrokerError, RouteError
from gantrymq.client.core.group.offset_store import LocalOffsets, RemoteOffsets, offset_store
from gantrymq.client.core.instance.settings import ClientSettings
from gantrymq.fakes.brokers.cluster import Cluster, gone
from gantrymq.fakes.flows import VirtualDriver
from gantrymq.remoting.failures import ConnectError
from gantrymq.wire.bodies.shared import MessageQueue
from gantrymq.wire.codes import RequestCode
from gantrymq.wire.command import Command

QUEUE = MessageQueue("T", "broker-a", 1)
OTHER = MessageQueue("T", "broker-b", 1)

# What Java wrote for these, in this order.
JAVAS = """{
	"offsetTable":{{
			"brokerName":"broker-v",
			"queueId":3,
			"topic":"VecTopic"
		}:2,{
			"brokerName":"broker-v",
			"queueId":2,
			"topic":"VecTopic"
		}:2,{
			"brokerName":"broker-v",
			"queueId":1,
			"topic":"VecTopic"
		}:77,{
			"brokerName":"broker-v",
			"queueId":0,
			"topic":"VecTopic"
		}:82
	}
}"""
JAVAS_OFFSETS = {
    MessageQueue("VecTopic", "broker-v", 3 - n): m for n, m in enumerate([2, 2, 77, 82])
}


def test_offsets_in_memory_only_advance_unless_they_are_reset() -> None:
    offsets = RemoteOffsets(Cluster().client("me").instance, "G")
    offsets.update(QUEUE, 5)
    offsets.update(QUEUE, 3, increase_only=True)
    assert offsets.find(QUEUE) == 5
    offsets.update(QUEUE, 3)
    assert offsets.offsets("T") == {QUEUE: 3}
    assert offsets.offsets("U") == {}
    offsets.forget(QUEUE)
    assert offsets.find(QUEUE) is None


@pytest.mark.parametrize("confirm", [False, True])
def test_a_broker_stores_persisted_offsets(confirm: bool) -> None:
    cluster = Cluster()
    cluster.add_group("G")
    cluster.store("a", "b", "c", queue_id=1)
    client = cluster.client("me@1")
    offsets = RemoteOffsets(client.instance, "G")
    offsets.update(QUEUE, 2)
    client.run(offsets.persist([QUEUE], confirm=confirm))
    fresh = RemoteOffsets(client.instance, "G")
    assert client.run(fresh.read(QUEUE)) == 2
    assert fresh.find(QUEUE) == 2
    (told,) = cluster.asked_of(RequestCode.UPDATE_CONSUMER_OFFSET)
    assert told.is_oneway is not confirm


def test_offsets_are_read_from_memory_first() -> None:
    cluster = Cluster()
    client = cluster.client("me@1")
    offsets = RemoteOffsets(client.instance, "G")
    offsets.update(QUEUE, 2)
    assert client.run(offsets.read(QUEUE)) == 2
    assert not cluster.asked


def test_a_broker_without_an_offset_is_final() -> None:
    cluster = Cluster()
    client = cluster.client("me@1")
    cluster.add_group("G")
    assert client.run(RemoteOffsets(client.instance, "G").read(QUEUE)) is None


def test_a_refusal_is_raised_when_confirmation_is_requested() -> None:
    client = Cluster().client("me@1")
    offsets = RemoteOffsets(client.instance, "nobody")
    offsets.update(QUEUE, 2)
    client.run(offsets.persist([QUEUE]))
    with pytest.raises(BrokerError, match="SUBSCRIPTION_GROUP_NOT_EXIST"):
        client.run(offsets.persist([QUEUE], confirm=True))


def test_a_dead_broker_does_not_stop_persisting_at_others() -> None:
    cluster = Cluster("broker-a", "broker-b")
    cluster.add_group("G")
    for name in ("broker-a", "broker-b"):
        cluster.store("a", "b", queue_id=1, broker_name=name)
    client = cluster.client("me@1")
    offsets = RemoteOffsets(client.instance, "G")
    offsets.update(QUEUE, 1)
    offsets.update(OTHER, 2)
    client.run(client.instance.route("T"))
    cluster.stop("broker-a")
    with pytest.raises(ConnectError):
        client.run(offsets.persist([QUEUE, OTHER]))
    assert cluster.brokers["broker-b"].state.offsets.find("G", "T", 1) == 2


def test_a_queue_of_an_unknown_broker_has_no_offset() -> None:
    client = Cluster().client("me@1")
    offsets = RemoteOffsets(client.instance, "G")
    with pytest.raises(RouteError, match=r"broker\[broker-b\] not exist"):
        client.run(offsets.read(OTHER))


# ---------------------------------------------------------------------- files


class Machine:
    """One with a disk, and no network."""

    def __init__(self) -> None:
        self.driver = VirtualDriver(_no_broker)

    def opened(self) -> LocalOffsets:
        offsets = LocalOffsets("/home/.rocketmq_offsets", "me@1", "G")
        self.driver.run(offsets.load())
        return offsets


def _no_broker(address: str, command: Command, *, is_oneway: bool) -> Exception:
    raise AssertionError("a broadcast group asks no broker")


PATH = "/home/.rocketmq_offsets/me@1/G/offsets.json"


def test_the_file_is_javas() -> None:
    machine = Machine()
    offsets = machine.opened()
    assert offsets.path == PATH
    for queue, offset in JAVAS_OFFSETS.items():
        offsets.update(queue, offset)
    machine.driver.run(offsets.persist(JAVAS_OFFSETS))
    assert machine.driver.files == {PATH: JAVAS.encode()}
    assert machine.opened().offsets() == JAVAS_OFFSETS


def test_the_previous_file_is_kept() -> None:
    machine = Machine()
    offsets = machine.opened()
    offsets.update(QUEUE, 1)
    machine.driver.run(offsets.persist([QUEUE]))
    first = machine.driver.files[PATH]
    machine.driver.run(offsets.persist([QUEUE]))
    assert PATH + ".bak" not in machine.driver.files
    offsets.update(QUEUE, 2)
    machine.driver.run(offsets.persist([QUEUE]))
    assert machine.driver.files[PATH + ".bak"] == first


@pytest.mark.parametrize("content", [b"", b'{"offsetTable":'])
def test_a_damaged_file_is_replaced_by_the_previous_one(content: bytes) -> None:
    machine = Machine()
    machine.driver.files = {PATH: content, PATH + ".bak": JAVAS.encode()}
    assert machine.opened().offsets() == JAVAS_OFFSETS


def test_two_damaged_files_are_an_error() -> None:
    machine = Machine()
    machine.driver.files = {PATH: b"{", PATH + ".bak": b"["}
    with pytest.raises(CorruptionError, match="readLocalOffset Exception"):
        machine.opened()


def test_a_released_queue_keeps_its_stored_offset() -> None:
    machine = Machine()
    offsets = machine.opened()
    offsets.update(QUEUE, 4)
    machine.driver.run(offsets.persist([QUEUE]))
    offsets.forget(QUEUE)
    offsets.update(OTHER, 5)
    machine.driver.run(offsets.persist([OTHER]))
    assert machine.opened().offsets() == {QUEUE: 4, OTHER: 5}
    assert machine.driver.run(offsets.read(QUEUE)) == 4


def test_a_broadcast_group_finds_its_file_again() -> None:
    settings = ClientSettings(client_ip="10.0.0.1")
    paths = set()
    for process in ("1#1", "2#2"):
        client = Cluster().client(f"10.0.0.1@{process}", settings)
        store = offset_store(client.instance, "G", "/home/offsets")
        assert isinstance(store, LocalOffsets)
        paths.add(store.path)
    assert paths == {"/home/offsets/10.0.0.1@DEFAULT/G/offsets.json"}


def test_unchanged_offsets_are_persisted_now_and_then() -> None:
    cluster = Cluster()
    cluster.add_group("G")
    cluster.store(*"123456789", queue_id=QUEUE.queue_id)
    store = RemoteOffsets(cluster.instance, "G")
    cluster.run(cluster.instance.route("T"))

    def told(seconds: float) -> int:
        """How often, by a consumer that persists every 5 s."""
        before = len(cluster.asked_of(RequestCode.UPDATE_CONSUMER_OFFSET))
        for _ in range(round(seconds / 5.0)):
            cluster.pass_time(5.0)
            cluster.run(store.persist([QUEUE]))
        return len(cluster.asked_of(RequestCode.UPDATE_CONSUMER_OFFSET)) - before

    store.update(QUEUE, 7)
    assert told(60.0) == 2
    store.update(QUEUE, 8)
    assert told(5.0) == 1
    cluster.faults[RequestCode.UPDATE_CONSUMER_OFFSET] = gone
    store.update(QUEUE, 9)
    with pytest.raises(ConnectError):
        told(5.0)
    del cluster.faults[RequestCode.UPDATE_CONSUMER_OFFSET]
    assert told(5.0) == 1
    assert cluster.broker.state.offsets.find("G", QUEUE.topic, QUEUE.queue_id) == 9
