"""Runs RocketMQ's proxy in cluster mode in front of a name server and broker, and a gRPC client."""

import json
import socket
from collections.abc import Sequence
from pathlib import Path

from gantrymq.interop import ports, toolchain
from gantrymq.interop.clients.drivers import REPLY_SECONDS, Driver
from gantrymq.interop.servers import BROKER_DEFAULTS, NameServer, Server, java_command
from gantrymq.interop.toolchain import JarSet

CONNECT_SECONDS = 1.0


class Proxy(Server):
    """A proxy: its address is the gRPC port, `remoting` the port of RocketMQ's own protocol."""

    def __init__(self, version: str, folder: Path, name_server: NameServer) -> None:
        port = ports.free_port(also=(1,))
        command = java_command(toolchain.proxy(version), folder)
        config = folder / "rmq-proxy.json"
        settings = {
            "rocketMQClusterName": BROKER_DEFAULTS["brokerClusterName"],
            "proxyMode": "CLUSTER",
            "namesrvAddr": name_server.address,
            "grpcServerPort": port,
            "remotingListenPort": port + 1,
            "localServeAddr": "127.0.0.1",
        }
        config.write_text(json.dumps(settings))
        command += ["org.apache.rocketmq.proxy.ProxyStartup", "-pc", str(config)]
        super().__init__(f"Java {version} proxy", folder, port, command, self.listens)
        self.remoting = Server("port of the older protocol", folder, port + 1, (), self.listens)

    def listens(self) -> bool:
        """Whether both ports accept connections."""
        return all(_connects(address) for address in (self.address, self.remoting.address))


def _connects(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


class GrpcClient(Driver):
    """A JVM with producers and consumers of `rocketmq-client-java` at one proxy."""

    def __init__(self, version: str, folder: Path, proxy: Proxy) -> None:
        super().__init__(JarSet.GRPC, version, folder)
        self._endpoint = proxy.address

    def ask(self, what: str, topic: str, **order: object) -> dict[str, object]:
        """Send one order; returns its result."""
        self.order({"do": what, "endpoint": self._endpoint, "topic": topic, **order})
        return self.outcome(2 * REPLY_SECONDS)

    def messages(self, what: str, topic: str, **order: object) -> Sequence[dict[str, object]]:
        """The messages that `pop` or `received` found."""
        found = self.ask(what, topic, **order)["messages"]
        assert isinstance(found, list)
        return found
