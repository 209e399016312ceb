"""All that an administrator can ask and order, by noun: what CLI, console and operator stand on."""

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
from gantrymq.client.core.admin.topics import Topics
from gantrymq.client.core.admin.tracks import Tracks
from gantrymq.client.core.instance import Instance

TIMEOUT_S: Final = 5.0
"""As long as mqadmin waits for an answer."""


@final
class Administration:
    """Of one client."""

    def __init__(self, instance: Instance, timeout_s: float = TIMEOUT_S) -> None:
        asking = Asking(instance, timeout_s)
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
