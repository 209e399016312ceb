"""Defines the live brokers: their identity, addresses and last signs of life.

A `Member` is one broker process as it registered; a `Group` is a broker name with its members by
broker id, 0 being the master. Members with a `gantryEpoch` belong to a replicated group that elects
its master: see registration.py for the rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, final

from gantrymq.namesrv.core.messages import Channel
from gantrymq.wire.bodies.shared import DataVersion

MASTER_ID: Final = 0


@final
class Member:
    """One registered broker. Its place in the tables changes only inside `Routes`."""

    __slots__ = (
        "address",
        "broker_id",
        "broker_name",
        "channel",
        "cluster",
        "data_version",
        "digest",
        "epoch",
        "filter_servers",
        "ha_address",
        "leaves_at",
        "listeners",
        "seen_at",
        "timeout_seconds",
    )

    def __init__(
        self, cluster: str, address: str, broker_name: str, broker_id: int, now: float
    ) -> None:
        self.cluster = cluster
        self.address = address
        self.broker_name = broker_name
        self.broker_id = broker_id
        self.channel: Channel | None = None
        self.seen_at = now
        self.timeout_seconds = 0.0
        self.ha_address = ""
        self.data_version = DataVersion()
        self.filter_servers: tuple[str, ...] = ()
        self.listeners: Mapping[str, str] = {}
        self.epoch = 0
        self.leaves_at: float | None = None
        """When a disconnected member is removed, unless it returns before."""
        self.digest: tuple[bytes, bool] | None = None
        """The fingerprint of the last full registration's body, and whether it decided the queues:
        the same body from a broker in the same position changes nothing."""

    def address_for(self, listener: str) -> str:
        """The broker's address for clients of this listener."""
        return self.listeners.get(listener, self.address)


@final
class Group:
    """A broker name. `cluster` is the first member's cluster, while any member names it."""

    __slots__ = ("cluster", "enable_acting_master", "members", "name", "zone_name")

    def __init__(self, name: str, cluster: str) -> None:
        self.name = name
        self.cluster = cluster
        self.enable_acting_master = False
        self.zone_name: str | None = None
        self.members: dict[int, Member] = {}

    @property
    def master(self) -> Member | None:
        return self.members.get(MASTER_ID)

    def lowest_id(self) -> int:
        return min(self.members)
