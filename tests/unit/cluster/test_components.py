"""Tests the generated configuration of the components."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from cluster.local import components
from cluster.settings import NODES, PAUSE_IMAGE, Layout

LAYOUT = Layout(state=Path("/state"), cache=Path("/cache"))
MEMORY = 24 << 30


def flags(command: list[str]) -> dict[str, str]:
    return dict(word.removeprefix("--").split("=", 1) for word in command[1:])


def test_the_api_server_is_reached_only_by_the_proxy_at_the_advertised_address() -> None:
    found = flags(components.kube_apiserver(LAYOUT))
    assert (found["bind-address"], found["advertise-address"]) == ("127.0.0.1", "172.30.0.1")


def test_pods_leave_a_dead_node_within_a_minute() -> None:
    apiserver = flags(components.kube_apiserver(LAYOUT))
    manager = flags(components.kube_controller_manager(LAYOUT))
    assert apiserver["default-not-ready-toleration-seconds"] == "30"
    assert apiserver["default-unreachable-toleration-seconds"] == "30"
    assert manager["node-monitor-grace-period"] == "20s"


def test_admission_plugins_that_are_on_by_default_stay_on() -> None:
    assert "disable-admission-plugins" not in flags(components.kube_apiserver(LAYOUT))


def test_nodes_together_offer_no_more_memory_than_the_machine_has() -> None:
    reserved = int(components.reserved_memory(MEMORY).removesuffix("Mi")) << 20
    assert (MEMORY - reserved) * len(NODES) <= MEMORY + (len(NODES) << 20)


def test_the_files_of_a_node_are_valid() -> None:
    files = components.node_files(LAYOUT, 2, MEMORY)
    cri = tomllib.loads(files["containerd.toml"])["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["sandbox_image"] == PAUSE_IMAGE
    assert json.loads(files["kubelet.yaml"])["address"] == "172.30.0.12"
    assert json.loads(files["kubelet.yaml"])["cgroupRoot"] == "/gantry-cluster/node2"
    assert json.loads(files["kube-proxy.yaml"])["hostnameOverride"] == "node2"
    ranges = json.loads(files["cni.conflist"])["plugins"][0]["ipam"]["ranges"]
    assert ranges == [[{"subnet": "10.244.2.0/24"}]]


def test_a_node_has_routes_to_the_pods_of_the_others_only() -> None:
    routes = components.node_environment(LAYOUT, 2)["POD_ROUTES"]
    assert routes == "10.244.1.0/24,172.30.0.11 10.244.3.0/24,172.30.0.13"


def test_a_change_of_any_setting_changes_the_whole() -> None:
    other = Layout(state=Path("/elsewhere"), cache=Path("/cache"))
    assert components.everything(LAYOUT, MEMORY) == components.everything(LAYOUT, MEMORY)
    assert components.everything(LAYOUT, MEMORY) != components.everything(other, MEMORY)
    assert components.everything(LAYOUT, MEMORY) != components.everything(LAYOUT, MEMORY // 2)
