"""Connects a master and a slave in memory.

The slave's requests reach the master; its log is what a test puts there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gantrymq.broker.core.settings import BrokerRole, BrokerSettings
from gantrymq.fakes.brokers.broker import IDENTITY, OpenedBroker
from gantrymq.fakes.brokers.replicated import bytes_of_log
from gantrymq.ha.status import FollowerStatus, FollowingStatus
from gantrymq.wire.headers.route import RegisterBrokerResponse

MASTER = IDENTITY.address
MASTER_HA = IDENTITY.ha_address
SLAVE = replace(IDENTITY, broker_id=1, address="127.0.0.1:20911", ha_address="127.0.0.1:20912")
NAME_SERVER = "127.0.0.1:9876"


class FakeReplication:
    """Returns values that a test has set, and records the master to follow."""

    def __init__(self) -> None:
        self.slaves: list[FollowerStatus] = []
        self.status: FollowingStatus | None = None
        self.followed: list[str] = []

    def followers(self, now: float) -> Sequence[FollowerStatus]:
        return self.slaves

    def following(self) -> FollowingStatus | None:
        return self.status

    def follow(self, address: str) -> None:
        if self.followed[-1:] != [address]:
            self.followed.append(address)

    def heard(self, wall_ms: int) -> None:
        """The master sent something at that time."""
        self.status = FollowingStatus(MASTER_HA, 0, wall_ms, wall_ms, 0)


def follower(address: str = "127.0.0.1:33333", **more: int) -> FollowerStatus:
    values = {"acknowledged": 0, "behind_bytes": 0, "bytes_per_second": 0, **more}
    return FollowerStatus(address=address, is_in_sync=True, **values)


def opened_slave(settings: BrokerSettings | None = None, **more: object) -> OpenedBroker:
    """A slave that knows no master yet."""
    chosen = replace(settings or BrokerSettings(), broker_role=BrokerRole.SLAVE, broker_id=1)
    broker = OpenedBroker(chosen, identity=SLAVE, **more)  # type: ignore[arg-type]  # as they are
    broker.state.replication = FakeReplication()
    return broker


def replication_of(broker: OpenedBroker) -> FakeReplication:
    replication = broker.state.replication
    assert isinstance(replication, FakeReplication)
    return replication


def registered(
    broker: OpenedBroker,
    master: str | None = MASTER,
    ha_address: str | None = MASTER_HA,
    name_server: str = NAME_SERVER,
) -> None:
    """A name server answered the slave's registration."""
    told = RegisterBrokerResponse(ha_server_addr=ha_address, master_addr=master)
    broker.broker.registered(name_server, told, broker.now, broker.wall_ms)
    broker.settle()


def pair() -> tuple[OpenedBroker, OpenedBroker]:
    """A master, and a slave that has found it and copied its tables."""
    master, slave = OpenedBroker(), opened_slave()
    slave.reachable[MASTER] = master
    replication_of(slave).heard(slave.wall_ms)
    registered(slave)
    return master, slave


def copy_log(
    slave: OpenedBroker,
    master: OpenedBroker,
    up_to: int | None = None,
    *,
    is_flushed: bool = True,
) -> None:
    """Copy the master's log to the slave up to this position, by default all of it, and to its
    disk."""
    slave.now = max(slave.now, master.now)
    store = slave.state.store
    start = store.begin_copy() or 0
    data = bytes_of_log(master.opened, start, up_to)
    while data:
        size = store.settings.mapped_file_size_commit_log
        piece = data[: size - start % size]
        assert store.append_copy(start, piece, slave.now) is None
        start, data = start + len(piece), data[len(piece) :]
    if is_flushed:
        store.flush_soon(slave.now)
    slave.settle()


def warnings(broker: OpenedBroker) -> list[str]:
    """The log lines about tables that the slave did not get."""
    return [line.text for line in broker.lines if "Exception" in line.text]
