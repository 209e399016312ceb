"""Controls the nodes: power on and off, freeze and thaw, cut and restore the network.

A node is a tree of processes in mount, uts, ipc, net and pid namespaces of its own. Its first
process is node_init.sh; when that process is killed, the kernel kills all others and removes the
node's mounts and interfaces. The node's disk is a folder of the host and remains.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from pathlib import Path

from cluster.local import cgroups, components, node_images, processes
from cluster.machine import memory_bytes
from cluster.settings import BRIDGE, NODES, SOURCES, VOLUMES, Layout, node_link, node_name
from cluster.shell import ClusterError, run, succeeds, wait_until

INIT = SOURCES / "local" / "node_init.sh"
START_TIMEOUT_S = 60.0
# Each is a folder of the node's disk, mounted over the folder of that name on the host.
NODE_FOLDERS = (
    *("/var/lib/kubelet", "/var/lib/containerd", "/var/lib/cni", VOLUMES),
    *("/var/log/pods", "/var/log/containers", "/etc/cni/net.d"),
)


def power_on(layout: Layout, node: int) -> None:
    """Start a node that is off, with every image that it must have."""
    name = node_name(node)
    if init_process(layout, node) is not None:
        return
    _write_configuration(layout, node)
    cgroups.prepare(node)
    environment = components.node_environment(layout, node)
    environment["NODE_FOLDERS"] = " ".join(NODE_FOLDERS)
    namespaces = ("--mount", "--uts", "--ipc", "--net", "--pid", "--mount-proc")
    command = ("unshare", *namespaces, "--propagation", "private", "--fork", "--kill-child")
    processes.start(layout, name, [*command, str(INIT)], environment)
    wait_until(
        lambda: init_process(layout, node) is not None,
        what=f"the first process of {name}",
        timeout_s=START_TIMEOUT_S,
        advice=f"see {layout.logs}/{name}.log",
    )
    pid = _running(layout, node)
    cgroups.admit(node, pid)
    _plug_in(node, pid)
    run_folder = Path(f"/proc/{pid}/root/run")
    wait_until(
        (run_folder / "containerd/containerd.sock").exists,
        what=f"containerd on {name}",
        timeout_s=START_TIMEOUT_S,
        advice=f"see {layout.logs}/{name}.log and {layout.logs}/{name}-containerd.log",
    )
    load_images(layout, node)
    (run_folder / "images-loaded").touch()


def power_off(layout: Layout, node: int) -> None:
    """Kill everything on the node at once, as a power cut does; its disk remains."""
    pid = init_process(layout, node)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    cgroups.set_frozen(node, frozen=False)  # a frozen process dies only when it is thawed
    processes.kill(layout, node_name(node))
    _unplug(node)
    cgroups.remove(node)


def freeze(layout: Layout, node: int) -> None:
    """Stop all processes of the node, pods included, like a virtual machine that is suspended."""
    _running(layout, node)
    cgroups.set_frozen(node, frozen=True)


def thaw(layout: Layout, node: int) -> None:
    _running(layout, node)
    cgroups.set_frozen(node, frozen=False)


def cut(layout: Layout, node: int) -> None:
    """Disconnect the node from the network. Its pods go on running."""
    _running(layout, node)
    run("ip", "link", "set", node_link(node), "down")


def mend(layout: Layout, node: int) -> None:
    _running(layout, node)
    run("ip", "link", "set", node_link(node), "up")


def state(layout: Layout, node: int) -> str:
    if init_process(layout, node) is None:
        return "off"
    if cgroups.is_frozen(node):
        return "frozen"
    flags = run("ip", "-oneline", "link", "show", node_link(node)).partition("<")[2]
    return "on" if "UP" in flags.partition(">")[0].split(",") else "cut"


def heal(layout: Layout, node: int) -> None:
    """Bring a node from any state to "on"."""
    if init_process(layout, node) is not None:
        thaw(layout, node)
        mend(layout, node)
    power_on(layout, node)


def load_images(layout: Layout, node: int) -> None:
    """Import the images that the node must have and does not have yet."""
    catalogue = node_images.read_catalogue(layout)
    for archive in node_images.missing_archives(catalogue, loaded_images(layout, node)):
        run_on_node(layout, node, "ctr", "-n", "k8s.io", "images", "import", str(archive))
    digests = {name: entry.digest for name, entry in catalogue.items()}
    _images_file(layout, node).write_text(json.dumps(digests))


def loaded_images(layout: Layout, node: int) -> dict[str, str]:
    """The images of a node that is on or off: their digests by their references."""
    return node_images.read_digests(_images_file(layout, node))


def run_on_node(layout: Layout, node: int, *command: str) -> str:
    """Runs a command in the namespaces of a node."""
    pid = str(_running(layout, node))
    return run("nsenter", "-t", pid, "-m", "-u", "-i", "-n", "-p", "--", *command)


def run_interactively(layout: Layout, node: int, command: list[str]) -> int:
    pid = str(_running(layout, node))
    enter = ["nsenter", "-t", pid, "-m", "-u", "-i", "-n", "-p", "--"]
    return subprocess.run([*enter, *command], check=False).returncode


def running(layout: Layout) -> list[int]:
    return [node for node in NODES if init_process(layout, node) is not None]


def init_process(layout: Layout, node: int) -> int | None:
    """The first process of a node that is on, as the host numbers it."""
    parent = processes.find(layout, node_name(node))
    if parent is None:
        return None
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    except FileNotFoundError:
        return None
    return int(children[0]) if children else None


def _running(layout: Layout, node: int) -> int:
    pid = init_process(layout, node)
    if pid is None:
        raise ClusterError(f"{node_name(node)} is off: run `python -m cluster node on {node}`")
    return pid


def _images_file(layout: Layout, node: int) -> Path:
    return layout.node(node) / "images.json"


def _write_configuration(layout: Layout, node: int) -> None:
    folder = layout.node(node) / "config"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in components.node_files(layout, node, memory_bytes()).items():
        (folder / name).write_text(text)


def _plug_in(node: int, pid: int) -> None:
    """Connect the node to the bridge.

    Its MAC address is fixed: the neighbours of a node that was off keep the old address for half a
    minute.
    """
    link, address = node_link(node), f"02:00:5e:10:00:{node:02x}"
    _unplug(node)  # the interface of a node whose first process ended by itself
    inside = ("peer", "name", "eth0", "address", address, "netns", str(pid))
    run("ip", "link", "add", link, "type", "veth", *inside)
    run("ip", "link", "set", link, "master", BRIDGE, "up")


def _unplug(node: int) -> None:
    """Remove the interface. The kernel also removes it, some time after the node's last process
    ended."""
    succeeds("ip", "link", "delete", node_link(node))
    if _is_plugged_in(node):
        run("ip", "link", "delete", node_link(node))


def _is_plugged_in(node: int) -> bool:
    return succeeds("ip", "link", "show", node_link(node))
