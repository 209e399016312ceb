"""Runs pull consumers of a cluster in virtual time, and polls them."""

from __future__ import annotations

from gantrymq.client.core.group.offset_store import RemoteOffsets
from gantrymq.client.core.group.start_offset import ConsumeFrom
from gantrymq.client.core.message.received import ReceivedMessage
from gantrymq.client.core.pull.lite_pull import LitePull
from gantrymq.client.core.pull.lite_settings import LiteSettings
from gantrymq.fakes.brokers.cluster import Cluster
from gantrymq.wire.bodies.shared import MessageQueue

QUEUES = [MessageQueue("T", "broker-a", n) for n in range(4)]
FIRST = LiteSettings(consume_from=ConsumeFrom.FIRST_OFFSET)


class Reader:
    """A pull consumer of group G in its own client; a test creates one for each member."""

    def __init__(
        self,
        cluster: Cluster,
        name: str = "me@1",
        settings: LiteSettings = FIRST,
        *queues: MessageQueue,
    ) -> None:
        self.client = cluster.client(name)
        self.instance = self.client.instance
        self.lite = LitePull(self.instance, "G", settings, RemoteOffsets(self.instance, "G"))
        self.instance.start()
        self.client.run(self.lite.start())
        if queues:
            self.client.run(self.lite.assign(queues))
        cluster.driver.settle()

    def poll(self, timeout_s: float = 2.0) -> list[str]:
        return bodies(self.client.run(self.lite.poll(timeout_s)))

    def poll_all(self, timeout_s: float = 2.0) -> list[str]:
        found: list[str] = []
        while some := self.poll(timeout_s):
            found += some
        return found


def bodies(messages: list[ReceivedMessage]) -> list[str]:
    return [each.body.decode() for each in messages]


def stored(cluster: Cluster, queue_id: int = 0) -> int | None:
    """Return the offset that group G has committed at the broker; None without one."""
    return cluster.broker.state.offsets.find("G", "T", queue_id)
