"""Popping, acknowledging and keeping, against a broker in virtual time."""

from __future__ import annotations

from gantrymq.client.core.pop.pop_member import PopMember
from gantrymq.client.core.pop.pops import Handle, Out, Pops, PopSettings
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.wire.codes import RequestCode

FIRST = PopSettings(from_first=True, invisible_s=30.0)


class Worker:
    def __init__(self, cluster: Cluster, name: str = "me@1", settings: PopSettings = FIRST) -> None:
        self.client = cluster.client(name)
        self.member = PopMember(self.client.instance, "G", settings)
        self.member.subscribe("T")
        self.client.instance.start()
        self.client.run(self.member.start())

    def receive(self, timeout_s: float = 2.0) -> tuple[Pops, Out] | None:
        return self.client.run(self.member.receive(timeout_s))

    def work(self, timeout_s: float = 2.0) -> list[str]:
        """The messages that are there, acknowledged."""
        done = []
        while (found := self.receive(timeout_s)) is not None:
            pops, out = found
            self.client.run(pops.ack(out))
            done.append(out.message.body.decode())
        return done


def text(found: tuple[Pops, Out] | None) -> str:
    assert found is not None
    return found[1].message.body.decode()


def test_messages_are_shared_one_by_one() -> None:
    cluster = Cluster()
    cluster.store("a", "b", queue_id=0)
    cluster.store("c", queue_id=3)
    worker = Worker(cluster)
    assert sorted(worker.work()) == ["a", "b", "c"]
    cluster.pass_time(100.0)
    assert worker.work() == []


def test_a_message_that_comes_later_is_waited_for() -> None:
    cluster = Cluster()
    worker = Worker(cluster)
    cluster.driver.at(20.0, lambda: cluster.store("late"))
    assert text(worker.receive(60.0)) == "late"
    assert cluster.driver.clock.monotonic() < 21.0


def test_unacknowledged_messages_are_delivered_again() -> None:
    cluster = Cluster()
    cluster.store("a")
    worker = Worker(cluster)
    assert text(worker.receive()) == "a"
    assert worker.receive(20.0) is None
    cluster.pass_time(20.0)
    found = worker.receive(20.0)
    assert text(found) == "a"
    assert found is not None
    assert found[1].message.topic == "T"
    assert found[1].handle.kind == "1"
    worker.client.run(found[0].ack(found[1]))
    cluster.pass_time(100.0)
    assert worker.work() == []


def test_a_message_is_kept_for_longer_and_acknowledged_by_its_new_handle() -> None:
    cluster = Cluster()
    cluster.store("a")
    worker = Worker(cluster)
    found = worker.receive()
    assert found is not None
    pops, out = found
    before = out.handle
    cluster.pass_time(20.0)
    worker.client.run(pops.keep(out, 100.0))
    assert out.handle != before
    assert worker.receive(60.0) is None
    worker.client.run(pops.ack(out))
    cluster.pass_time(100.0)
    assert worker.work() == []


def test_a_message_is_given_back() -> None:
    cluster = Cluster()
    cluster.store("a")
    worker = Worker(cluster)
    found = worker.receive()
    assert found is not None
    worker.client.run(found[0].keep(found[1], 0.0))
    assert text(worker.receive(5.0)) == "a"


def test_many_are_acknowledged_with_one_request() -> None:
    cluster = Cluster()
    cluster.store(*(f"m{n}" for n in range(10)), queue_id=0)
    cluster.store(*(f"n{n}" for n in range(10)), queue_id=1)
    worker = Worker(cluster)
    out = []
    pops: Pops | None = None
    while (found := worker.receive()) is not None:
        pops = found[0]
        out.append(found[1])
    assert len(out) == 20
    assert pops is not None
    worker.client.run(pops.ack_all(out))
    assert len(cluster.asked_of(RequestCode.BATCH_ACK_MESSAGE)) == 1
    cluster.pass_time(100.0)
    assert worker.work() == []


def test_messages_that_waited_too_long_are_not_returned() -> None:
    cluster = Cluster()
    cluster.store("a", "b")
    worker = Worker(cluster)
    assert text(worker.receive()) == "a"
    cluster.pass_time(40.0)
    found = [text(worker.receive(5.0)) for _ in range(2)]
    assert sorted(found) == ["a", "b"]
    assert worker.receive(5.0) is None


def test_no_pop_is_sent_while_no_receive_waits() -> None:
    cluster = Cluster()
    worker = Worker(cluster)
    assert worker.receive(1.0) is None
    cluster.pass_time(60.0)
    count = len(cluster.asked_of(RequestCode.POP_MESSAGE))
    cluster.pass_time(600.0)
    assert len(cluster.asked_of(RequestCode.POP_MESSAGE)) == count


def test_a_dead_broker_does_not_block_the_others() -> None:
    cluster = Cluster("broker-a", "broker-b")
    worker = Worker(cluster)
    cluster.stop("broker-a")
    cluster.store("b", broker_name="broker-b")
    assert worker.work() == ["b"]
    cluster.restart("broker-a")
    cluster.store("a", broker_name="broker-a")
    assert worker.work(5.0) == ["a"]


def test_consumption_continues_after_a_request_hook_failed() -> None:
    cluster = Cluster()
    cluster.store("a")
    cluster.faults[RequestCode.POP_MESSAGE] = lambda *_: ValueError("the hook's own")
    worker = Worker(cluster)
    assert worker.receive(0.5) is None
    del cluster.faults[RequestCode.POP_MESSAGE]
    assert worker.work() == ["a"]
    assert any("the hook's own" in line for line in cluster.driver.lines)


def test_a_handle_is_its_text() -> None:
    written = "7 1700000000000 60000 0 1 broker-a 3 12"
    handle = Handle.parse(written)
    assert str(handle) == written
    assert handle.topic("G", "T") == "%RETRY%G_T"


def test_a_waiting_call_is_woken_by_the_close() -> None:
    cluster = Cluster()
    worker = Worker(cluster)
    ends: list[object] = []

    async def wait() -> None:
        ends.append(await worker.member.receive())

    cluster.driver.start(wait(), "waits", worker.client.id)
    cluster.pass_time(3.0)
    worker.client.run(worker.member.close())
    cluster.driver.settle()
    assert ends == [None]
