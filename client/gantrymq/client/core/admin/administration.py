"""Collects all administration requests in one object for the CLI, the console and the operator."""

from __future__ import annotations

from typing import Final, final

from gantrymq.client.core.admin.accounts import Accounts
from gantrymq.client.core.admin.asking import Asking
from gantrymq.client.core.admin.brokers import Brokers
from gantrymq.client.core.admin.clusters import Clusters
from gantrymq.client.core.admin.connections import Connections
from gantrymq.client.core.admin.groups import Groups
from gantrymq.client.core.admin.messages import Messages
from gantrymq.client.core.admin.name_servers import NameServerOrders
from gantrymq.client.core.admin.offsets import Offsets
from gantrymq.client.core.admin.quotas import Quotas
from gantrymq.client.core.admin.topics import Topics
from gantrymq.client.core.admin.tracks import Tracks
from gantrymq.client.core.admin.users import Policies, Users
from gantrymq.client.core.instance.instance import Instance
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.client.core.pace import Pace
from gantrymq.wire.bodies.shared import TopicConfig

TIMEOUT_S: Final = 5.0
"""Timeout of one request; mqadmin has the same."""

QUEUES: Final = 8
"""Default number of queues of a new topic at each broker; mqadmin has the same."""


@final
class Administration:
    """The administration requests of one client, grouped by the kind of resource."""

    def __init__(self, instance: Instance, timeout_s: float = TIMEOUT_S) -> None:
        asking = self._asking = Asking(instance, timeout_s)
        self.instance = instance
        self.ports = instance.ports
        self.clusters = Clusters(asking)
        self.topics = Topics(asking)
        self.groups = Groups(asking, self.topics)
        self.offsets = Offsets(asking, self.clusters, self.topics)
        self.connections = Connections(asking, self.topics, self.groups)
        self.messages = Messages(asking, self.topics)
        self.tracks = Tracks(self.clusters, self.topics, self.groups, self.connections)
        self.brokers = Brokers(asking)
        self.name_servers = NameServerOrders(asking)
        self.accounts = Accounts(asking)
        self.users = Users(asking)
        self.policies = Policies(asking)
        self.quotas = Quotas(asking)

    @property
    def pace(self) -> Pace:
        """Receives the progress of long operations."""
        return self._asking.pace

    @pace.setter
    def pace(self, pace: Pace) -> None:
        self._asking.pace = pace

    # ------------------------------------------------------------------ most used

    async def create_topic(self, topic: str, *, queues: int = QUEUES, cluster: str = "") -> None:
        """Create the topic, or change its number of queues, at every master of a cluster, or of all
        clusters if none is given. Raises the first refusal of a broker; other brokers may have
        applied it."""
        config = TopicConfig(topic, read_queue_nums=queues, write_queue_nums=queues)
        (await self.topics.create(await self._masters(cluster), config)).all()

    async def delete_topic(self, topic: str, *, cluster: str = "") -> None:
        """Delete the topic with its messages and all consumer offsets, at every master of a cluster
        (or of all clusters) and at the name servers."""
        (await self.topics.delete(topic, await self._masters(cluster))).all()
        (await self.topics.forget(topic, cluster or None)).all()

    async def _masters(self, cluster: str) -> list[str]:
        if cluster:
            return await self.clusters.masters(cluster)
        brokers = (await self.clusters.info()).brokers.values()
        return [each.addresses[MASTER_ID] for each in brokers if MASTER_ID in each.addresses]
