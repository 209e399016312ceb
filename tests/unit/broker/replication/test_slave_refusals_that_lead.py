"""Tests a slave of fixed roles that is started again as master.

Everything that its last master had accepted arrives, in order.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from gantrymq.broker.core.messages import File
from gantrymq.broker.core.replication.slave_synchronizer import (
    LOG_END_FIELD,
    OWN_MARK,
    ROUND_SECONDS,
)
from gantrymq.broker.core.schedule.timer_checkpoint import TimerCheckpoint
from gantrymq.broker.core.schedule.timer_progress import TimerProgress
from gantrymq.broker.core.tables.offsets import offset_table_of
from gantrymq.fakes.brokers.broker import STORE_SETTINGS, OpenedBroker
from gantrymq.fakes.brokers.pops import PoppedBroker, bodies
from gantrymq.fakes.brokers.pulls import PulledBroker
from gantrymq.fakes.brokers.replicas import (
    MASTER,
    FakeReplication,
    copy_log,
    follower,
    opened_slave,
    registered,
)
from gantrymq.fakes.brokers.sends import add_topic, message
from gantrymq.fakes.brokers.transactions import COMMIT, Transactions
from gantrymq.testing.memory_disk import MemoryDisk
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.send import ConsumerSendMsgBackRequest

SHORT = replace(STORE_SETTINGS, file_reserved_time=1)
SEND = RequestCode.SEND_MESSAGE_V2


def sent(broker: OpenedBroker, body: bytes, **named: str) -> None:
    fields = message(properties={"UNIQ_KEY": body.decode(), **named})
    assert broker.ask(SEND, fields, body).code == ResponseCode.SUCCESS


def timed(broker: OpenedBroker, body: bytes, seconds: int) -> None:
    sent(broker, body, TIMER_DELIVER_MS=str(broker.wall_ms + seconds * 1000))


def follow(slave: OpenedBroker, master: OpenedBroker) -> None:
    """The slave gets all that the master's log has, and then its tables."""
    copy_log(slave, master)
    slave.reachable[MASTER] = master
    registered(slave)
    slave.pass_time(2 * ROUND_SECONDS)


def restarted_as_master(slave: OpenedBroker) -> OpenedBroker:
    """Its process ended, and its settings say something else now."""
    disk = slave.opened.disk
    assert isinstance(disk, MemoryDisk)
    disk.end_process()
    after = OpenedBroker(store_settings=slave.state.store.settings, disk=disk, files=slave.saved)
    after.now = slave.now
    after.settle()
    return after


def test_delays_and_timers_come_once_and_in_order() -> None:
    master, slave = OpenedBroker(), opened_slave()
    add_topic(master)
    for name in ("a", "b"):
        sent(master, name.encode(), DELAY="1")
    timed(master, b"c", 2)
    master.pass_time(25.0)  # it tells what is on its disk
    assert master.bodies("T") == [b"a", b"b", b"c"]
    for name in ("d", "e"):
        sent(master, name.encode(), DELAY="5")
    timed(master, b"f", 90)
    follow(slave, master)
    after = restarted_as_master(slave)
    after.pass_time(100.0)
    assert after.bodies("T") == [b"a", b"b", b"c", b"d", b"e", b"f"]


def test_timers_that_were_rolled_come_once() -> None:
    master, slave = OpenedBroker(store_settings=SHORT), opened_slave(store_settings=SHORT)
    add_topic(master)
    timed(master, b"timed", 7200)
    master.pass_time(2710.0)
    assert master.services.timer_service.counters["rolled"] == 1
    follow(slave, master)
    after = restarted_as_master(slave)
    after.pass_time(5000.0)
    assert after.bodies("T") == [b"timed"]


def test_only_gantrys_slaves_get_the_whole_timer_progress() -> None:
    place = b'{"delivered":1700000050,"low":0,"taken":9,"earlier":[[7,1700000900]]}'
    master = OpenedBroker()
    master.broker.loaders[File.TIMERS](place)
    told = {
        is_own: master.ask(
            RequestCode.GET_TIMER_CHECK_POINT, ext=dict(OWN_MARK) if is_own else None
        ).body
        for is_own in (False, True)
    }
    assert len(told[False]) == 56
    assert told[True].startswith(told[False])
    assert TimerCheckpoint.decode(told[True]).place == TimerProgress.decode(place)


def test_transactions_that_are_open_can_be_decided_and_others_not_once_more() -> None:
    master, slave = OpenedBroker(), opened_slave()
    transactions = Transactions(master)
    decided, opened = transactions.prepare(b"decided"), transactions.prepare(b"open")
    transactions.end(decided, COMMIT)
    follow(slave, master)
    after = Transactions(restarted_as_master(slave))
    after.broker.pass_time(1.0)
    assert after.delivered() == [b"decided"]
    after.end(decided, COMMIT)
    after.end(opened, COMMIT)
    assert after.delivered() == [b"decided", b"open"]


@pytest.mark.parametrize("acknowledged", [0, 2])
def test_in_flight_messages_come_again_after_a_slave_becomes_master(acknowledged: int) -> None:
    master, slave = PoppedBroker(), opened_slave()
    master.store("a", "b", "c")
    popped = master.popped()
    for each in popped[:acknowledged]:
        master.ack(each)
    master.broker.pass_time(25.0)
    assert master.stored() == 3
    follow(slave, master.broker)
    after = PoppedBroker(broker=restarted_as_master(slave))
    assert bodies(after.popped()) == bodies(popped[acknowledged:])


def test_a_slave_that_lags_behind_a_retry_copy_gives_out_the_original() -> None:
    """It has the message and not the copy, which its last master had, and took the group past."""
    master, slave = PoppedBroker(), opened_slave()
    master.store("a", "b", "c")
    popped = master.popped(invisible_time=10_000)
    master.ack(popped[0])
    copy_log(slave, master.broker)
    master.broker.pass_time(25.0)  # the copies are in the master's log, on its disk
    assert (master.stored(), len(master.state.in_flight)) == (3, 0)
    slave.reachable[MASTER] = master.broker
    registered(slave)
    slave.pass_time(2 * ROUND_SECONDS)
    after = PoppedBroker(broker=restarted_as_master(slave))
    assert bodies(after.popped()) == ["b", "c"]


def test_a_slave_that_has_the_retry_copies_gives_out_nothing_else() -> None:
    master, slave = PoppedBroker(), opened_slave()
    master.store("a", "b", "c")
    master.popped(invisible_time=10_000)
    master.broker.pass_time(25.0)
    follow(slave, master.broker)
    after = PoppedBroker(broker=restarted_as_master(slave))
    assert after.stored() == 3
    assert bodies(after.popped()) == ["a", "b", "c"]
    assert after.popped() == []


@pytest.mark.parametrize("has_copy", [False, True])
def test_javas_slave_gets_offsets_that_all_connected_slaves_can_serve(*, has_copy: bool) -> None:
    master = PoppedBroker()
    master.store("a", "b", "c")
    first, *_ = master.popped(invisible_time=10_000)
    master.broker.pass_time(25.0)
    end = master.state.store.log.end
    replication = FakeReplication()
    replication.slaves = [
        follower(acknowledged=end if has_copy else end - 1),
        follower(acknowledged=end),
    ]
    master.state.replication = replication
    told = master.broker.ask(RequestCode.GET_ALL_CONSUMER_OFFSET)
    offset = 3 if has_copy else first.offset
    assert offset_table_of(told.body).offsets["T", "G"] == {0: offset}


def test_slave_that_lacks_a_sent_back_message_keeps_an_offset_before_it() -> None:
    master, slave = PulledBroker(OpenedBroker()), opened_slave()
    add_topic(master.broker)
    position = master.state.store.log.end
    sent(master.broker, b"a")
    copy_log(slave, master.broker)
    header = ConsumerSendMsgBackRequest(offset=position, group="G", delay_level=0)
    answer = master.broker.ask(RequestCode.CONSUMER_SEND_MSG_BACK, header)
    assert answer.code == ResponseCode.SUCCESS
    master.state.offsets.commit("G", "T", 0, 1)
    slave.reachable[MASTER] = master.broker
    registered(slave)
    assert slave.state.offsets.find("G", "T", 0) == 0
    copy_log(slave, master.broker)
    slave.pass_time(2 * ROUND_SECONDS)
    assert slave.state.offsets.find("G", "T", 0) == 1


def test_a_log_end_that_is_no_number_is_refused() -> None:
    master = OpenedBroker()
    answer = master.ask(RequestCode.GET_ALL_CONSUMER_OFFSET, ext={LOG_END_FIELD: "-1"})
    assert answer.code == ResponseCode.SYSTEM_ERROR
