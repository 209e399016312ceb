"""Defines the command line and the configuration files of every component of the cluster.

Every function returns values made of values, so that the whole configuration can be compared: a
running cluster is reused only if it was started with the same configuration.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cluster.settings import (
    API_PORT,
    CGROUP,
    CNI_PLUGINS,
    DNS_ADDRESS,
    ETCD_PORT,
    HOST_ADDRESS,
    NODE_COUNT,
    NODES,
    PAUSE_IMAGE,
    POD_NETWORK,
    SERVICE_RANGE,
    Layout,
    node_address,
    node_name,
    pod_range,
)

ISSUER = "https://kubernetes.default.svc.cluster.local"
NODE_GRACE = "20s"  # half of the default: a dead node is noticed sooner, and tests wait less
# large enough for a run with ten thousand topics without rotation
AUDIT_LOG_MIB, AUDIT_LOGS = 64, 4
DELETIONS_AT_ONCE = 16
# Two processors serve three nodes and their control plane, and garbage collection takes a third of
# what thousands of writes cost the API server. This machine has memory to spare.
API_SERVER_ENVIRONMENT = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}
TOLERATION_S = 30  # until pods leave a dead node; the default of 300 s is too long for a test
NODE_STATUS_PERIOD = "4s"
LOOPBACK = "127.0.0.1"
ETCD_URL = f"http://{LOOPBACK}:{ETCD_PORT}"


def command(program: str, flags: dict[str, object]) -> list[str]:
    return [program, *(f"--{name}={value}" for name, value in flags.items())]


def etcd(layout: Layout) -> list[str]:
    peer = f"http://{LOOPBACK}:{ETCD_PORT + 1}"
    flags = {
        "data-dir": layout.state / "etcd",
        # survives kills, but not power cuts, after which the cluster is discarded
        "unsafe-no-fsync": "true",
        "listen-client-urls": ETCD_URL,
        "advertise-client-urls": ETCD_URL,
        "listen-peer-urls": peer,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
    }
    return command(f"{layout.bin}/etcd", flags)


def audit_policy_file(layout: Layout) -> Path:
    return layout.pki / "audit-policy.yaml"


def audit_log(layout: Layout) -> Path:
    return layout.logs / "audit.log"


def audit_policy() -> str:
    """Record what pods request of the API, without bodies: tests compare it with their rights."""
    pods = {"level": "Metadata", "userGroups": ["system:serviceaccounts"]}
    cluster_own = {"level": "None", "userGroups": ["system:serviceaccounts:kube-system"]}
    return _json(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [cluster_own, pods, {"level": "None"}],
        }
    )


def kube_apiserver(layout: Layout) -> list[str]:
    """The API server listens on loopback; clients reach it through the proxy at the advertised
    address."""
    pki = layout.pki
    flags = {
        "etcd-servers": ETCD_URL,
        "bind-address": LOOPBACK,
        "advertise-address": HOST_ADDRESS,
        "secure-port": API_PORT,
        "cert-dir": layout.run,
        "tls-cert-file": pki / "apiserver.crt",
        "tls-private-key-file": pki / "apiserver.key",
        "client-ca-file": pki / "ca.crt",
        "kubelet-client-certificate": pki / "apiserver-kubelet.crt",
        "kubelet-client-key": pki / "apiserver-kubelet.key",
        "kubelet-certificate-authority": pki / "ca.crt",
        "kubelet-preferred-address-types": "InternalIP,Hostname",
        "requestheader-client-ca-file": pki / "ca.crt",
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "proxy-client-cert-file": pki / "front-proxy.crt",
        "proxy-client-key-file": pki / "front-proxy.key",
        "service-account-issuer": ISSUER,
        "service-account-key-file": pki / "service-accounts.pub",
        "service-account-signing-key-file": pki / "service-accounts.key",
        "service-cluster-ip-range": SERVICE_RANGE,
        "authorization-mode": "Node,RBAC",
        # in addition to the defaults, such as PodSecurity
        "enable-admission-plugins": "NodeRestriction",
        "allow-privileged": "true",
        "audit-policy-file": audit_policy_file(layout),
        "audit-log-path": audit_log(layout),
        "audit-log-maxsize": AUDIT_LOG_MIB,
        "audit-log-maxbackup": AUDIT_LOGS - 1,
        # By default a namespace's objects are deleted one after the other: minutes for thousands.
        "delete-collection-workers": DELETIONS_AT_ONCE,
        "default-not-ready-toleration-seconds": TOLERATION_S,
        "default-unreachable-toleration-seconds": TOLERATION_S,
    }
    return command(f"{layout.bin}/kube-apiserver", flags)


def kube_controller_manager(layout: Layout) -> list[str]:
    pki = layout.pki
    flags = {
        "kubeconfig": layout.component_kubeconfig("kube-controller-manager"),
        "use-service-account-credentials": "true",
        "service-account-private-key-file": pki / "service-accounts.key",
        "root-ca-file": pki / "ca.crt",
        "cluster-signing-cert-file": pki / "ca.crt",
        "cluster-signing-key-file": pki / "ca.key",
        "bind-address": LOOPBACK,
        "node-monitor-grace-period": NODE_GRACE,
        "leader-elect": "false",
    }
    return command(f"{layout.bin}/kube-controller-manager", flags)


def kube_scheduler(layout: Layout) -> list[str]:
    flags = {
        "kubeconfig": layout.component_kubeconfig("kube-scheduler"),
        "bind-address": LOOPBACK,
        "leader-elect": "false",
    }
    return command(f"{layout.bin}/kube-scheduler", flags)


def reserved_memory(total_bytes: int) -> str:
    """The memory that each node withholds from pods. A node sees the memory of the whole machine,
    and the nodes together must not offer more than there is."""
    return f"{total_bytes * (NODE_COUNT - 1) // NODE_COUNT >> 20}Mi"


def node_files(layout: Layout, node: int, memory_bytes: int) -> dict[str, str]:
    """The configuration files of one node, by their names in its configuration folder."""
    return {
        "containerd.toml": containerd(),
        "cni.conflist": _json(pod_network(node)),
        "kubelet.yaml": _json(kubelet(layout, node, memory_bytes)),
        "kube-proxy.yaml": _json(kube_proxy(layout, node)),
    }


def containerd() -> str:
    """The configuration of containerd, with the restricted score adjustment: without
    CAP_SYS_RESOURCE, runc would fail with a lower one."""
    return f"""version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{PAUSE_IMAGE}"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "/etc/cni/net.d"
"""


def pod_network(node: int) -> dict[str, Any]:
    """A bridge per node without masquerade: the nodes have routes to each other's pods."""
    addresses = {
        "type": "host-local",
        "dataDir": "/run/cni-addresses",  # lost with the power, as the pods are
        "ranges": [[{"subnet": pod_range(node)}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return {"cniVersion": "0.4.0", "name": "gantry", "plugins": [bridge, ports]}


def kubelet(layout: Layout, node: int, memory_bytes: int) -> dict[str, Any]:
    name, pki = node_name(node), layout.pki
    return {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": node_address(node),
        "tlsCertFile": f"{pki}/{name}-serving.crt",
        "tlsPrivateKeyFile": f"{pki}/{name}-serving.key",
        "authentication": {
            "anonymous": {"enabled": False},
            "webhook": {"enabled": True},
            "x509": {"clientCAFile": f"{pki}/ca.crt"},
        },
        "authorization": {"mode": "Webhook"},
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": f"/{CGROUP}/{name}",
        "failCgroupV1": False,  # machines with version 1 are refused by default since 1.35
        "failSwapOn": False,
        "oomScoreAdj": 0,  # lowering it needs CAP_SYS_RESOURCE
        "clusterDNS": [DNS_ADDRESS],
        "clusterDomain": "cluster.local",
        "resolvConf": "/run/resolv.conf",
        "kubeReserved": {"memory": reserved_memory(memory_bytes)},
        "evictionHard": {
            "memory.available": "100Mi",
            "nodefs.available": "1Gi",  # absolute: the nodes share the machine's disk
            "imagefs.available": "1Gi",
        },
        "imageGCHighThresholdPercent": 100,  # a removed image cannot be pulled again
        "imageGCLowThresholdPercent": 99,
        "nodeStatusUpdateFrequency": NODE_STATUS_PERIOD,
    }


def kube_proxy(layout: Layout, node: int) -> dict[str, Any]:
    return {
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "iptables",
        "clientConnection": {"kubeconfig": str(layout.component_kubeconfig("kube-proxy"))},
        "clusterCIDR": f"{POD_NETWORK}.0.0/16",
        "hostnameOverride": node_name(node),
        "oomScoreAdj": 0,
        # 0 leaves the kernel's values: a network namespace may not write them
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
    }


def node_environment(layout: Layout, node: int) -> dict[str, str]:
    """The environment of node_init.sh."""
    others = [other for other in NODES if other != node]
    return {
        "NODE": node_name(node),
        "ADDRESS": node_address(node),
        "GATEWAY": HOST_ADDRESS,
        "POD_ROUTES": " ".join(f"{pod_range(other)},{node_address(other)}" for other in others),
        "LABELS": f"topology.kubernetes.io/zone=zone{node}",
        "KUBECONFIG": str(layout.component_kubeconfig(node_name(node))),
        "DISK": str(layout.node(node) / "disk"),
        "CONFIG": str(layout.node(node) / "config"),
        "LOGS": str(layout.logs),
        "PATH": f"{layout.bin}:/usr/sbin:/usr/bin:/sbin:/bin",
    }


def everything(layout: Layout, memory_bytes: int) -> dict[str, Any]:
    """The whole configuration, for comparison with that of a running cluster."""
    control_plane = (etcd, kube_apiserver, kube_controller_manager, kube_scheduler)
    return {
        "commands": [make(layout) for make in control_plane],
        "environments": [node_environment(layout, node) for node in NODES],
        "files": [node_files(layout, node, memory_bytes) for node in NODES],
    }


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=1) + "\n"
