"""Manages the control groups of the nodes: they freeze a whole node, and are removed with it.

With version 1 each controller has a hierarchy of its own, and a node has a group in each. With
version 2 there is one hierarchy; the node's own processes are in a leaf below its group, because a
group that passes controllers to its children must not contain processes itself.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from cluster.settings import CGROUP, node_name

ROOT = Path("/sys/fs/cgroup")
FREEZER = ROOT / "freezer"
CONTROLLERS = "+cpu +cpuset +memory +pids +io"


def is_version_2() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def hierarchies() -> list[Path]:
    if is_version_2():
        return [ROOT]
    return [folder for folder in sorted(ROOT.iterdir()) if (folder / "cgroup.procs").exists()]


def prepare(node: int) -> None:
    """Create the node's groups in every hierarchy, since the kubelet requires all of them."""
    for hierarchy in hierarchies():
        (hierarchy / CGROUP / node_name(node)).mkdir(parents=True, exist_ok=True)
    if is_version_2():
        group = ROOT / CGROUP / node_name(node)
        for parent in (ROOT, ROOT / CGROUP, group):
            (parent / "cgroup.subtree_control").write_text(CONTROLLERS)
        (group / "init").mkdir(exist_ok=True)


def admit(node: int, pid: int) -> None:
    """Put the node's first process, and thus all its children, into the group that freezes."""
    if is_version_2():
        group = ROOT / CGROUP / node_name(node) / "init"
    else:
        group = FREEZER / CGROUP / node_name(node)
    (group / "cgroup.procs").write_text(str(pid))


def set_frozen(node: int, *, frozen: bool) -> None:
    if is_version_2():
        file, text = ROOT / CGROUP / node_name(node) / "cgroup.freeze", "1" if frozen else "0"
    else:
        file = FREEZER / CGROUP / node_name(node) / "freezer.state"
        text = "FROZEN" if frozen else "THAWED"
    if file.exists():
        file.write_text(text)


def is_frozen(node: int) -> bool:
    if is_version_2():
        file = ROOT / CGROUP / node_name(node) / "cgroup.freeze"
    else:
        file = FREEZER / CGROUP / node_name(node) / "freezer.state"
    # a freezer that has not stopped every process yet says FREEZING
    return file.exists() and file.read_text().strip() in {"1", "FROZEN", "FREEZING"}


def remove(node: int) -> None:
    """Remove the groups of a node that is off. The groups of its dead pods would otherwise delay
    its next start by three seconds each, in which the kubelet reads their figures."""
    for hierarchy in hierarchies():
        _remove_tree(hierarchy / CGROUP / node_name(node))


def remove_all() -> None:
    for hierarchy in hierarchies():
        _remove_tree(hierarchy / CGROUP)


def _remove_tree(group: Path) -> None:
    if not group.exists():
        return
    children = [path for path in group.rglob("*") if path.is_dir()]
    for path in [*sorted(children, reverse=True), group]:
        with contextlib.suppress(OSError):  # busy: the kernel is still ending a process
            path.rmdir()
