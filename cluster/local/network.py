"""Sets up the cluster's network on the host: a bridge, routes to the pods, kernel settings."""

from __future__ import annotations

import json
from pathlib import Path

from cluster.settings import (
    BRIDGE,
    HOST_ADDRESS,
    NODES,
    Layout,
    node_address,
    pod_range,
)
from cluster.shell import run, succeeds

KERNEL_SETTINGS = {
    "net/ipv4/ip_forward": "1",
    # three kubelets and their containerds, each with a watch per container
    "fs/inotify/max_user_instances": "8192",
}
FORWARD_RULE = ("FORWARD", "-i", BRIDGE, "-o", BRIDGE, "-j", "ACCEPT")


def ensure(layout: Layout) -> None:
    if not succeeds("ip", "link", "show", BRIDGE):
        run("ip", "link", "add", BRIDGE, "type", "bridge")
        run("ip", "address", "add", f"{HOST_ADDRESS}/24", "dev", BRIDGE)
        run("ip", "link", "set", BRIDGE, "up")
    for node in NODES:  # tests on the host reach pods by their addresses
        run("ip", "route", "replace", pod_range(node), "via", node_address(node), "dev", BRIDGE)
    _raise_kernel_settings(layout)
    if forwarding_is_filtered(run("iptables", "-S", "FORWARD")) and not succeeds(
        "iptables", "-C", *FORWARD_RULE
    ):
        run("iptables", "-I", *FORWARD_RULE)


def remove(layout: Layout) -> None:
    if succeeds("ip", "link", "show", BRIDGE):
        run("ip", "link", "delete", BRIDGE)  # its routes are removed with it
    while succeeds("iptables", "-C", *FORWARD_RULE):
        run("iptables", "-D", *FORWARD_RULE)
    saved = _saved_settings(layout)
    if saved.exists():
        for name, value in json.loads(saved.read_text()).items():
            _setting(name).write_text(value)


def forwarding_is_filtered(rules: str) -> bool:
    """Whether packets between the nodes may be dropped, as they are by default with a container
    engine."""
    return any(line.strip() not in {"", "-P FORWARD ACCEPT"} for line in rules.splitlines())


def _raise_kernel_settings(layout: Layout) -> None:
    """Raise the settings that the nodes need, and record the previous values for `remove`."""
    saved = _saved_settings(layout)
    if not saved.exists():
        previous = {name: _setting(name).read_text().strip() for name in KERNEL_SETTINGS}
        saved.write_text(json.dumps(previous))
    for name, value in KERNEL_SETTINGS.items():
        if int(_setting(name).read_text()) < int(value):
            _setting(name).write_text(value)


def _saved_settings(layout: Layout) -> Path:
    return layout.state / "kernel-settings.json"


def _setting(name: str) -> Path:
    return Path("/proc/sys") / name
