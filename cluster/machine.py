"""Checks that this machine can run the local cluster, and prepares it.

`obstacles` decides from facts; the other functions collect the facts and act on the machine.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cluster.settings import BRIDGE, NETWORK, Layout
from cluster.shell import ClusterError, run, succeeds

PACKAGES = (
    *("containerd", "runc", "containernetworking-plugins"),
    *("iptables", "nftables", "iproute2", "conntrack", "ethtool", "socat", "procps"),
)
KERNEL_MODULES = ("overlay", "br_netfilter", "nf_conntrack")
NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid")
MEMORY_BYTES_MIN = 4 << 30  # an idle cluster of three nodes takes 1.3 GB; the rest is for pods
DISK_BYTES_MIN = 5 << 30  # each node unpacks its own copy of every image
GO_FOLDER = "/usr/local/go/bin"  # where Go's own installer puts it; it may be on no PATH
POLICY = Path("/usr/sbin/policy-rc.d")  # Debian asks this program before it starts a service


@dataclass(frozen=True)
class Facts:
    """The properties of a machine that the cluster depends on."""

    is_root: bool
    distribution: str  # ID and ID_LIKE of /etc/os-release
    has_namespaces: bool
    has_binaries: bool
    has_go: bool
    has_overlay: bool
    state_filesystem: str
    memory_bytes: int
    free_disk_bytes: int
    foreign_interfaces: tuple[str, ...]  # interfaces that have addresses of the cluster's network


def go_program() -> str | None:
    """The path of the Go command, if there is one."""
    return shutil.which("go") or shutil.which("go", path=GO_FOLDER)


def obstacles(facts: Facts) -> list[str]:
    """The reasons why this machine cannot run the local cluster; empty if it can."""
    found = []
    if not facts.is_root:
        found.append("the local cluster needs root, for namespaces and mounts: run it by sudo")
    if "debian" not in facts.distribution.split():
        found.append(
            f"the local cluster installs Debian packages, and this is {facts.distribution!r}: "
            "use CLUSTER=kind, or a Debian virtual machine or privileged container"
        )
    if facts.is_root and not facts.has_namespaces:
        found.append(
            "new namespaces are refused (`unshare --mount --net --pid`): "
            "in a container, run it privileged"
        )
    if not facts.has_binaries and not facts.has_go:
        found.append(
            "the Kubernetes binaries are not cached and there is no Go to build them: "
            "install the Go release that cluster/go/go.mod names"
        )
    if not facts.has_overlay:
        found.append("the kernel has no overlay filesystem: load its module (`modprobe overlay`)")
    if facts.state_filesystem.startswith("overlay"):
        found.append(
            "the state folder is on an overlay filesystem, on which containerd cannot stack "
            "another: set GANTRY_CLUSTER_STATE to a folder on a disk or a volume"
        )
    if facts.memory_bytes < MEMORY_BYTES_MIN:
        found.append(f"the machine has {facts.memory_bytes >> 20} MiB of memory; 4 GiB are needed")
    if facts.free_disk_bytes < DISK_BYTES_MIN:
        found.append(f"{facts.free_disk_bytes >> 20} MiB of disk are free; 5 GiB are needed")
    if facts.foreign_interfaces:
        found.append(
            f"the network {NETWORK}.0/24 is in use by {', '.join(facts.foreign_interfaces)}: "
            "remove that interface, or use another machine"
        )
    return found


def facts_of_this_machine(layout: Layout, *, has_binaries: bool) -> Facts:
    folder = existing_parent(layout.state)
    is_root = os.geteuid() == 0
    return Facts(
        is_root=is_root,
        distribution=distribution(Path("/etc/os-release").read_text()),
        has_namespaces=is_root and succeeds("unshare", *NAMESPACES, "--fork", "true"),
        has_binaries=has_binaries,
        has_go=go_program() is not None,
        has_overlay="overlay" in Path("/proc/filesystems").read_text().split(),
        state_filesystem=run("stat", "--file-system", "--format=%T", folder).strip(),
        memory_bytes=memory_bytes(),
        free_disk_bytes=shutil.disk_usage(folder).free,
        foreign_interfaces=foreign_interfaces(addresses()),
    )


def distribution(os_release: str) -> str:
    """The identifiers of a distribution and of those it derives from, such as "ubuntu debian"."""
    fields = dict(line.split("=", 1) for line in os_release.splitlines() if "=" in line)
    return " ".join(fields.get(key, "").strip('"') for key in ("ID", "ID_LIKE")).strip()


def addresses() -> str:
    """The machine's addresses; none if `ip` is missing, which `install_packages` installs later."""
    return run("ip", "-oneline", "-4", "address", "show") if shutil.which("ip") else ""


def foreign_interfaces(listing: str) -> tuple[str, ...]:
    """Interfaces outside of the cluster that have an address of the cluster's network."""
    rows = [line.split() for line in listing.splitlines()]
    return tuple(row[1] for row in rows if row[3].startswith(f"{NETWORK}.") and row[1] != BRIDGE)


def memory_bytes() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def existing_parent(path: Path) -> Path:
    return next(parent for parent in (path, *path.parents) if parent.exists())


def check(layout: Layout, *, has_binaries: bool) -> None:
    found = obstacles(facts_of_this_machine(layout, has_binaries=has_binaries))
    if found:
        reasons = "\n".join(f"- {reason}" for reason in found)
        raise ClusterError(f"this machine cannot run the local cluster:\n{reasons}")


def missing_packages(wanted: Iterable[str], installed: str) -> list[str]:
    """Packages that are not in `installed`: lines of a name and its status, as dpkg prints them."""
    present = {line.split()[0] for line in installed.splitlines() if line.endswith(" installed")}
    return [name for name in wanted if name not in present]


def install_packages(wanted: Sequence[str] = PACKAGES) -> None:
    """Install the packages that are missing, without starting any of their services."""
    listing = run("dpkg-query", "--show", "--showformat=${Package} ${db:Status-Status}\n")
    missing = missing_packages(wanted, listing)
    if not missing:
        return
    print(f"installing Debian packages: {' '.join(missing)}", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    forbids_services = not POLICY.exists()
    if forbids_services:
        POLICY.write_text("#!/bin/sh\nexit 101\n")  # 101: action forbidden by policy
        POLICY.chmod(0o755)
    try:
        run("apt-get", "update", "-qq", environment=environment)
        run(
            *("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing),
            environment=environment,
        )
    finally:
        if forbids_services:
            POLICY.unlink()


def load_kernel_modules() -> None:
    """Load the modules that a stock kernel needs; a kernel that has them built in has no files."""
    if shutil.which("modprobe"):
        for module in KERNEL_MODULES:
            succeeds("modprobe", module)
