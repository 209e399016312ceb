"""Defines names, paths and addresses of the test cluster.

There is one local cluster per machine: its bridge, addresses and control groups are fixed, so its
state folder is fixed too, and any checkout can find, reuse or take down a running cluster.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
SOURCES = CHECKOUT / "cluster"

NODE_COUNT = 3
BRIDGE = "gantry0"
CGROUP = "gantry-cluster"
NETWORK = "172.30.0"  # first three octets: the control plane is .1, node N is .1N
POD_NETWORK = "10.244"  # node N has 10.244.N.0/24
SERVICE_RANGE = "10.96.0.0/16"
API_SERVICE_ADDRESS = "10.96.0.1"
DNS_ADDRESS = "10.96.0.10"
API_PORT = 6443
ETCD_PORT = 24790  # on loopback, like the next port, which is for etcd's peers
CNI_PLUGINS = Path("/usr/lib/cni")
VOLUMES = "/var/lib/gantry-volumes"  # inside a node: the folder of its local volumes

PAUSE_IMAGE = "gantry.local/pause:1"
COREDNS_IMAGE = "gantry.local/coredns:1"
BASE_IMAGE = "gantry.local/python:3.11"

NODES = range(1, NODE_COUNT + 1)


def node_name(node: int) -> str:
    return f"node{node}"


def node_address(node: int) -> str:
    return f"{NETWORK}.{10 + node}"


def node_link(node: int) -> str:
    """The host's end of the virtual Ethernet pair of the node."""
    return f"gantry-node{node}"


def pod_range(node: int) -> str:
    return f"{POD_NETWORK}.{node}.0/24"


HOST_ADDRESS = f"{NETWORK}.1"
API_URL = f"https://{HOST_ADDRESS}:{API_PORT}"


@dataclass(frozen=True)
class Layout:
    """The paths of the cluster's files: `state` exists from `up` to `down`, `cache` survives."""

    state: Path
    cache: Path

    @property
    def kubeconfig(self) -> Path:
        return self.state / "kubeconfig"

    @property
    def bin(self) -> Path:
        """A symbolic link to the binaries that the running cluster was started with."""
        return self.state / "bin"

    @property
    def pki(self) -> Path:
        return self.state / "pki"

    @property
    def run(self) -> Path:
        return self.state / "run"

    @property
    def logs(self) -> Path:
        return self.state / "log"

    @property
    def images(self) -> Path:
        """Archives of the images that every node must have."""
        return self.state / "images"

    @property
    def api_control(self) -> Path:
        """The control socket of the proxy in front of the API server."""
        return self.run / "api-proxy.sock"

    def node(self, node: int) -> Path:
        return self.state / "nodes" / node_name(node)

    def component_kubeconfig(self, component: str) -> Path:
        return self.pki / f"{component}.kubeconfig"


def layout_from_environment() -> Layout:
    """The layout; GANTRY_CLUSTER_STATE and GANTRY_CACHE replace the default folders."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("GANTRY_CACHE") or caches / "gantrymq")
    state = Path(os.environ.get("GANTRY_CLUSTER_STATE") or "/var/lib/gantry-cluster")
    return Layout(state=state.absolute(), cache=cache.absolute() / "cluster")
