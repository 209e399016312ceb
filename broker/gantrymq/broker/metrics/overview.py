"""Reads the metrics of the broker as a whole: role, permission, topics, groups, replication."""

from __future__ import annotations

from collections.abc import Iterator

from gantrymq.broker.core.broker import Broker
from gantrymq.broker.core.state import State
from gantrymq.metrics.samples import Samples, one
from gantrymq.metrics.tables import broker, rocketmq5


def samples(core: Broker, base: str) -> Iterator[Samples]:
    """All metrics of this module."""
    state = core.state
    yield one(rocketmq5.BROKER_PERMISSION, state.settings.broker_permission, base)
    yield one(rocketmq5.TOPIC_NUMBER, len(state.topics), base)
    yield one(rocketmq5.CONSUMER_GROUP_NUMBER, len(state.groups), base)
    yield one(broker.TOPICS, len(state.topics), base)
    yield one(broker.GROUPS, len(state.groups), base)
    yield one(broker.IS_MASTER, state.identity.is_master, base)
    changes = sorted(core.services.role_controller.changes.items())
    yield Samples(broker.ROLE_CHANGES, [((role,), count) for role, count in changes], base)
    yield from _slaves(state, base) if state.identity.is_master else _master(core, base)


def _slaves(state: State, base: str) -> Iterator[Samples]:
    """The metrics that a master has about each connected slave."""
    slaves = state.replication.followers(state.now)
    behind = [((each.address,), each.behind_bytes) for each in slaves]
    yield Samples(broker.SLAVE_BEHIND, behind, base)
    in_sync = [((each.address,), int(each.is_in_sync)) for each in slaves]
    yield Samples(broker.SLAVE_IN_SYNC, in_sync, base)
    rates = [((each.address,), each.bytes_per_second) for each in slaves]
    yield Samples(broker.SLAVE_RATE, rates, base)


def _master(core: Broker, base: str) -> Iterator[Samples]:
    """The metrics that a slave has about its master."""
    state, synchronizer = core.state, core.services.slave_synchronizer
    following = state.replication.following()
    heard_ms = 0 if following is None else following.last_read_ms
    yield one(broker.MASTER_KNOWN, bool(state.master_address), base)
    yield one(broker.MASTER_HEARD, heard_ms / 1000, base)
    failed = sum(fault is not None for fault in synchronizer.faults.values())
    yield one(broker.TABLES_NOT_COPIED, failed, base)
