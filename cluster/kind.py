"""Runs the test cluster with kind, on machines that have docker, kind and its node image.

The verbs are those of the local cluster, carried out by docker: a node is a container. This backend
needs a registry or a node image that docker has already, and has not been run where neither exists.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from cluster.local.components import NODE_GRACE, TOLERATION_S
from cluster.settings import NODE_COUNT, NODES, Layout
from cluster.shell import ClusterError, run, succeeds

NAME = "gantry"
CONTROL_PLANE = f"{NAME}-control-plane"
NETWORK = "kind"  # the docker network that kind makes for its nodes
UP_TIMEOUT_S = 900.0  # the node image is pulled the first time
API_MANIFEST = "/etc/kubernetes/manifests/kube-apiserver.yaml"  # the kubelet runs what lies here
API_MANIFEST_ASIDE = "/etc/kubernetes/kube-apiserver.stopped.yaml"
STORAGE_CLASS = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: local-ssd
provisioner: rancher.io/local-path
volumeBindingMode: WaitForFirstConsumer
reclaimPolicy: Delete
"""


def is_usable() -> bool:
    """Whether docker answers and kind is installed."""
    return shutil.which("kind") is not None and succeeds("docker", "info")


def is_up() -> bool:
    return shutil.which("kind") is not None and NAME in run("kind", "get", "clusters").split()


def kubeconfig(layout: Layout) -> Path:
    return layout.cache / "kind-kubeconfig"


def node_container(node: int) -> str:
    return f"{NAME}-worker" if node == 1 else f"{NAME}-worker{node}"


def configuration() -> str:
    """kind's configuration, with the same short periods as in the local cluster."""
    patch = {
        "kind": "ClusterConfiguration",
        "apiServer": {
            "extraArgs": {
                "default-not-ready-toleration-seconds": str(TOLERATION_S),
                "default-unreachable-toleration-seconds": str(TOLERATION_S),
            }
        },
        "controllerManager": {"extraArgs": {"node-monitor-grace-period": NODE_GRACE}},
    }
    workers = [
        {"role": "worker", "labels": {"topology.kubernetes.io/zone": f"zone{node}"}}
        for node in NODES
    ]
    config = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "name": NAME,
        "kubeadmConfigPatches": [json.dumps(patch)],
        "nodes": [{"role": "control-plane"}, *workers],
    }
    return json.dumps(config)


def up(layout: Layout) -> None:
    if not is_usable():
        raise ClusterError(
            "CLUSTER=kind needs kind on the PATH and a docker that answers `docker info`; "
            "CLUSTER=local needs neither"
        )
    if not is_up():
        layout.cache.mkdir(parents=True, exist_ok=True)
        try:
            run(
                *("kind", "create", "cluster", "--config=-", "--wait=120s"),
                *("--kubeconfig", kubeconfig(layout)),
                stdin=configuration(),
                timeout_s=UP_TIMEOUT_S,
            )
        except ClusterError as error:
            raise ClusterError(
                "kind made no cluster; if its node image cannot be pulled, use CLUSTER=local\n"
                f"{error}"
            ) from error
    kubectl(layout, "apply", "--filename=-", stdin=STORAGE_CLASS)


def down(layout: Layout) -> None:
    run("kind", "delete", "cluster", "--name", NAME)
    kubeconfig(layout).unlink(missing_ok=True)


def status(layout: Layout) -> bool:
    if not is_up():
        print("no kind cluster is up: make cluster-up CLUSTER=kind")
        return False
    print(f"kubeconfig  {kubeconfig(layout)}")
    print(kubectl(layout, "get", "nodes", "--output=wide"), end="")
    return kubectl(layout, "get", "nodes", "--no-headers").split().count("Ready") == NODE_COUNT + 1


def load(archive: Path) -> None:
    run("kind", "load", "image-archive", archive, "--name", NAME)


def change_node(verb: str, node: int) -> None:
    container = node_container(node)
    commands = {
        "on": ("start", container),
        "off": ("kill", container),
        "freeze": ("pause", container),
        "thaw": ("unpause", container),
        "cut": ("network", "disconnect", NETWORK, container),
        "mend": ("network", "connect", NETWORK, container),
    }
    run("docker", *commands[verb])


def change_api(verb: str, request_ms: int, response_ms: int) -> None:
    if verb == "stop":
        _on_control_plane("mv", API_MANIFEST, API_MANIFEST_ASIDE)
        _on_control_plane("pkill", "-KILL", "-x", "kube-apiserver")
    elif verb == "start":
        _on_control_plane("mv", API_MANIFEST_ASIDE, API_MANIFEST)
    elif verb in {"freeze", "thaw"}:
        signal = "-STOP" if verb == "freeze" else "-CONT"
        _on_control_plane("pkill", signal, "-x", "kube-apiserver")
    elif verb == "slow":
        # one delay for all that the control plane sends, so the round trip has the requested
        # latency
        delay = f"{request_ms + response_ms}ms"
        shape = ("tc", "qdisc", "replace", "dev", "eth0", "root", "netem", "delay")
        _on_control_plane(*shape, delay)
    elif verb == "fast":
        _on_control_plane("tc", "qdisc", "delete", "dev", "eth0", "root")


def kubectl(layout: Layout, *arguments: str, stdin: str | None = None) -> str:
    return run("kubectl", "--kubeconfig", kubeconfig(layout), *arguments, stdin=stdin)


def _on_control_plane(*command: str) -> None:
    run("docker", "exec", CONTROL_PLANE, *command)
