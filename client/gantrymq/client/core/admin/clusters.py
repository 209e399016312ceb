"""Lists the clusters, their brokers, and the master of each broker name."""

from __future__ import annotations

from typing import final

from gantrymq.client.core.admin.asking import Asking
from gantrymq.client.core.errors import RouteError
from gantrymq.client.core.instance.routes import MASTER_ID
from gantrymq.wire import javajson
from gantrymq.wire.bodies.cluster import ClusterInfo
from gantrymq.wire.bodies.route import BrokerData
from gantrymq.wire.codes import RequestCode


@final
class Clusters:
    """Queries about clusters, answered by a name server."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def info(self) -> ClusterInfo:
        """Return all clusters and brokers."""
        answer = await self._asking.ask_a_name_server(RequestCode.GET_BROKER_CLUSTER_INFO)
        return ClusterInfo.from_json(javajson.loads(answer.body))

    async def brokers(self, cluster: str) -> list[BrokerData]:
        """Return the brokers of one cluster, sorted by name; raises RouteError for an unknown
        cluster."""
        info = await self.info()
        names = info.clusters.get(cluster)
        if names is None:
            known = ", ".join(sorted(info.clusters)) or "none"
            raise RouteError(
                "Make sure the specified clusterName exists or the name server connected to is"
                f" correct: there is no cluster {cluster}; there is: {known}"
            )
        return [info.brokers[name] for name in sorted(names) if name in info.brokers]

    async def masters(self, cluster: str) -> list[str]:
        """Return the addresses of the masters."""
        brokers = await self.brokers(cluster)
        return [each.addresses[MASTER_ID] for each in brokers if MASTER_ID in each.addresses]

    async def members(self, cluster: str) -> list[str]:
        """Return the addresses of all masters and slaves."""
        brokers = await self.brokers(cluster)
        return [each.addresses[number] for each in brokers for number in sorted(each.addresses)]

    async def master(self, broker_name: str) -> str:
        """Return the address of a broker name's master; raises RouteError if it has none."""
        info = await self.info()
        broker = info.brokers.get(broker_name)
        address = None if broker is None else broker.addresses.get(MASTER_ID)
        if address is None:
            known = ", ".join(sorted(info.brokers)) or "none"
            raise RouteError(
                f"No broker address for broker name {broker_name}: no master of it is at the name"
                f" servers; they know: {known}"
            )
        return address
