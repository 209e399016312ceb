"""Runs a name server, a master and its slave, all with pages of metrics, and their clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from gantrymq.interop.child import Child
from gantrymq.interop.ports import free_port
from gantrymq.interop.servers import Broker, NameServer, gantry_broker, gantry_name_server
from gantrymq.monitoring.clients import client
from gantrymq.monitoring.traffic import TOPICS

SETTINGS: Final = {
    "brokerName": "broker-a",
    "brokerClusterName": "watched",
    "transactionCheckInterval": "1000",
    "transactionTimeOut": "1000",
    "transactionCheckMax": "1000000",
    "autoCreateTopicEnable": "false",
    "messageDelayLevel": "1s 2s 3s",
    "flushDiskType": "SYNC_FLUSH",
}
# Brokers register each 10 s, which is the shortest time; a silent one expires soon after.
EXPIRES_MS: Final = "15000"


@final
@dataclass(frozen=True, slots=True)
class Cluster:
    """The processes of the cluster. `targets` has their metrics addresses by role."""

    names: NameServer
    master: Broker
    slave: Broker
    folder: Callable[[str], Path]
    targets: dict[str, str]

    @contextmanager
    def traffic(self, role: str) -> Iterator[Child]:
        """Run the clients of a role of traffic.py until the block ends."""
        with client(role, self.names.address, self.folder(f"traffic-{role}")) as child:
            yield child

    def run(self, role: str, seconds: float) -> None:
        """Run the clients of a role of traffic.py that end by themselves."""
        with self.traffic(role) as child:
            child.wait(seconds)


@contextmanager
def running(
    folder: Callable[[str], Path],
    more: Mapping[str, str] | None = None,
    *,
    master_role: str = "ASYNC_MASTER",
) -> Iterator[Cluster]:
    """Run the cluster with its topics. `more` has settings of both brokers."""
    ports = {each: free_port() for each in ("names", "master", "slave")}
    with ExitStack() as stack:
        names = stack.enter_context(
            gantry_name_server(
                folder("names"),
                {"metricsPort": str(ports["names"]), "brokerChannelExpiredTime": EXPIRES_MS},
            )
        )

        def broker(role: str, broker_role: str, number: int) -> Broker:
            settings = {
                **SETTINGS,
                **(more or {}),
                "metricsPort": str(ports[role]),
                "brokerRole": broker_role,
                "brokerId": str(number),
            }
            return stack.enter_context(gantry_broker(folder(role), [names], settings))

        master = broker("master", master_role, 0)
        slave = broker("slave", "SLAVE", 1)
        for topic in TOPICS:
            master.create_topic(topic, 2)
        ports["spare"] = free_port()
        targets = {role: f"127.0.0.1:{port}" for role, port in ports.items()}
        yield Cluster(names, master, slave, folder, targets)
