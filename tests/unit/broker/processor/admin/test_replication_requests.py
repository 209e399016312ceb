"""What is asked about replication by others than the tables' owners."""

from __future__ import annotations

from dataclasses import replace

from gantrymq.fakes.brokers.broker import OpenedBroker
from gantrymq.fakes.brokers.replicas import (
    FakeReplication,
    follower,
    opened_slave,
    registered,
    replication_of,
)
from gantrymq.fakes.metrics import page_of
from gantrymq.ha.status import FollowingStatus
from gantrymq.wire import javajson
from gantrymq.wire.bodies.ha_status import FollowerStatus, HaStatus, SlaveStatus
from gantrymq.wire.codes import RequestCode, ResponseCode
from gantrymq.wire.headers.ha import ResetMasterFlushOffsetRequest


def status_of(broker: OpenedBroker) -> HaStatus:
    return HaStatus.from_json(javajson.loads(broker.ask(RequestCode.GET_BROKER_HA_STATUS).body))


def test_a_master_without_slaves_says_so() -> None:
    broker = OpenedBroker()
    assert status_of(broker) == HaStatus(is_master=True, log_end=broker.state.store.log.end)


def test_a_master_tells_how_far_its_slaves_are() -> None:
    broker = OpenedBroker()
    replication = FakeReplication()
    near = follower("10.0.0.1:5", acknowledged=90, behind_bytes=10, bytes_per_second=7)
    far = replace(follower("10.0.0.2:5", acknowledged=1, behind_bytes=99), is_in_sync=False)
    replication.slaves = [near, far]
    broker.state.replication = replication
    status = status_of(broker)
    assert (status.is_master, status.in_sync_slaves) == (True, 1)
    assert status.slaves[0] == SlaveStatus(
        address="10.0.0.1:5",
        behind_bytes=10,
        is_in_sync=True,
        acknowledged=90,
        sends_from=90,
        bytes_per_second=7,
    )
    assert (status.slaves[1].behind_bytes, status.slaves[1].is_in_sync) == (99, False)


def test_ha_status_of_a_slave_names_its_master() -> None:
    slave = opened_slave()
    assert status_of(slave).follower == FollowerStatus()
    replication_of(slave).status = FollowingStatus("10.0.0.1:10912", 50, 3, 4, 9)
    header = ResetMasterFlushOffsetRequest(master_flush_offset=17)
    assert slave.ask(RequestCode.RESET_MASTER_FLUSH_OFFSET, header).code == ResponseCode.SUCCESS
    assert status_of(slave) == HaStatus(
        is_master=False,
        log_end=0,
        follower=FollowerStatus(
            master="10.0.0.1:10912",
            last_read_ms=3,
            last_write_ms=4,
            master_flushed=17,
            bytes_per_second=9,
        ),
    )


def test_metrics_tell_of_slaves_and_of_the_master() -> None:
    broker = OpenedBroker()
    replication = FakeReplication()
    replication.slaves = [follower("10.0.0.1:5", behind_bytes=10)]
    broker.state.replication = replication
    assert metrics_of(broker, "slave") == {
        "gantry_broker_slave_behind_bytes": 10,
        "gantry_broker_slave_bytes_per_second": 0,
        "gantry_broker_slave_in_sync": 1,
    }
    slave = opened_slave()
    replication_of(slave).heard(5_000)
    registered(slave)
    assert metrics_of(slave, "master") == {
        "gantry_broker_master_heard_timestamp_seconds": 5,
        "gantry_broker_master_known": 1,
        "gantry_broker_master_tables_not_copied": 7,
    }


def metrics_of(broker: OpenedBroker, kind: str) -> dict[str, float]:
    prefix = f"gantry_broker_{kind}_"
    return {
        name.partition("{")[0]: value
        for name, value in page_of(broker).items()
        if name.startswith(prefix)
    }


def test_there_are_no_epochs_of_a_controller() -> None:
    answer = OpenedBroker().ask(RequestCode.GET_BROKER_EPOCH_CACHE)
    assert answer.code == ResponseCode.SYSTEM_ERROR
    assert (answer.remark or "").startswith("this request only for controllerMode")


def test_every_group_pulls() -> None:
    answer = OpenedBroker().ask(RequestCode.GET_ALL_MESSAGE_REQUEST_MODE)
    assert answer.body == b'{"messageRequestModeMap":{}}'


def test_a_masters_flush_offset_is_nobodys_to_set() -> None:
    answer = OpenedBroker().ask(
        RequestCode.RESET_MASTER_FLUSH_OFFSET, ext={"masterFlushOffset": "0"}
    )
    assert answer.code == ResponseCode.SUCCESS
