"""Brings the local cluster up, takes it down and prints its state.

`up` is idempotent. A running cluster that was started with the same configuration and binaries is
healed and reused, even if another checkout started it; any other cluster is taken down first.
`down` removes everything except the cache.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster import archives, binaries, machine
from cluster.local import (
    certificates,
    cgroups,
    components,
    control_plane,
    network,
    node_images,
    nodes,
    processes,
)
from cluster.settings import (
    COREDNS_IMAGE,
    NODE_COUNT,
    NODES,
    PAUSE_IMAGE,
    SOURCES,
    Layout,
    node_name,
)
from cluster.shell import ClusterError, wait_until

MANIFESTS = SOURCES / "local" / "manifests"
READY_TIMEOUT_S = 120.0
RETRY_S = 0.5
READY_STATUS = '{.status.conditions[?(@.type=="Ready")].status}'


def prepare(layout: Layout) -> Path:
    """Do everything that is possible before a cluster starts; returns the folder of binaries."""
    machine.check(layout, has_binaries=binaries.are_built(layout))
    machine.install_packages()
    machine.load_kernel_modules()
    return binaries.ensure(layout)


def up(layout: Layout) -> None:
    built = prepare(layout)
    key = configuration_key(layout, built)
    if layout.state.exists() and read_key(layout) != key:
        print("a cluster with another configuration is on this machine: taking it down", flush=True)
        down(layout)
    write_state(layout, built, key)
    network.ensure(layout)
    certificates.ensure(layout)
    ensure_system_images(layout)
    heal(layout)
    apply_manifests(layout)
    wait_until(
        lambda: ready_nodes(layout) == NODE_COUNT,
        what=f"{NODE_COUNT} nodes that are Ready",
        timeout_s=READY_TIMEOUT_S,
        advice=f"see {layout.logs}/node*-kubelet.log",
    )
    rollout = ("--namespace=kube-system", "rollout", "status", "deployment/coredns")
    control_plane.kubectl(layout, *rollout, f"--timeout={READY_TIMEOUT_S:g}s")


def heal(layout: Layout) -> None:
    """End all faults and start everything that does not run."""
    control_plane.ensure(layout)
    on_each_node(lambda node: nodes.heal(layout, node))
    discard_archives(layout)


def down(layout: Layout) -> None:
    """End every process, and remove interfaces, control groups and the state folder."""
    on_each_node(lambda node: nodes.power_off(layout, node))
    control_plane.stop(layout)
    # the disks hold tens of thousands of files: most of the time that `down` takes
    on_each_node(lambda node: shutil.rmtree(layout.node(node), ignore_errors=True))
    network.remove(layout)
    cgroups.remove_all()
    remove_created_folders(layout)
    shutil.rmtree(layout.state, ignore_errors=True)
    if layout.state.exists():
        raise ClusterError(f"{layout.state} could not be removed: look for mounts below it")


def is_up(layout: Layout) -> bool:
    return processes.find(layout, "etcd") is not None


def status(layout: Layout) -> bool:
    """Print the state of the cluster; returns whether all parts are healthy."""
    if not is_up(layout):
        print("no local cluster runs on this machine: make cluster-up")
        return False
    versions = json.loads((layout.bin / "versions.json").read_text())
    api = control_plane.api_state(layout)
    states = {node: nodes.state(layout, node) for node in NODES}
    print("versions    " + " ".join(f"{name} {version}" for name, version in versions.items()))
    print(f"kubeconfig  {layout.kubeconfig}")
    print(f"programs    {layout.bin} (kubectl, helm)")
    print(f"logs        {layout.logs}")
    print(f"API server  {api}")
    print("nodes       " + " ".join(f"{node_name(node)}={states[node]}" for node in NODES))
    if api in {"stopped", "frozen"}:
        return False
    print(control_plane.kubectl(layout, "get", "nodes", "--output=wide"), end="")
    return ready_nodes(layout) == NODE_COUNT


def load(layout: Layout, archive: Path) -> list[archives.Image]:
    """Add an archive's images to all nodes; returns those that were new."""
    new = node_images.add_archive(layout, archive)
    running = nodes.running(layout)
    on_each_node(lambda node: nodes.load_images(layout, node) if node in running else None)
    discard_archives(layout)
    return new


def discard_archives(layout: Layout) -> None:
    node_images.discard_archives(layout, [nodes.loaded_images(layout, node) for node in NODES])


def on_each_node(action: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(NODE_COUNT) as pool:
        list(pool.map(action, NODES))


def apply_manifests(layout: Layout) -> None:
    """Apply the cluster's own resources.

    An API server that has just become ready may refuse the fixed address of a service until it has
    read back its own range of addresses; such a refusal is retried.
    """
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            control_plane.kubectl(layout, "apply", "--filename", str(MANIFESTS))
        except ClusterError:
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY_S)
        else:
            return


def ready_nodes(layout: Layout) -> int:
    template = f"--output=jsonpath={{range .items[*]}}{READY_STATUS} {{end}}"
    return control_plane.kubectl(layout, "get", "nodes", template).split().count("True")


def ensure_system_images(layout: Layout) -> None:
    layout.images.mkdir(parents=True, exist_ok=True)
    for reference, program in ((PAUSE_IMAGE, "pause"), (COREDNS_IMAGE, "coredns")):
        if reference not in node_images.read_catalogue(layout):
            archive = layout.images / f"{program}.tar"
            archives.write_program_image(archive, reference, (layout.bin / program).resolve())
            node_images.add_archive(layout, archive)
            archive.unlink(missing_ok=True)


def configuration_key(layout: Layout, built: Path) -> str:
    """The hash of everything in which clusters may differ."""
    digest = hashlib.sha256(built.name.encode())
    configuration = components.everything(layout, machine.memory_bytes())
    digest.update(json.dumps(configuration, sort_keys=True).encode())
    for path in sorted([nodes.INIT, *MANIFESTS.glob("*.yaml")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def read_key(layout: Layout) -> str:
    file = layout.state / "configuration-key"
    return file.read_text() if file.exists() else ""


def write_state(layout: Layout, built: Path, key: str) -> None:
    layout.run.mkdir(parents=True, exist_ok=True)
    (layout.state / "configuration-key").write_text(key)
    if not layout.bin.exists():
        layout.bin.unlink(missing_ok=True)  # a link to a cache that was deleted
        layout.bin.symlink_to(built)
    created = layout.state / "created-folders.json"
    if not created.exists():
        created.write_text(json.dumps(missing_folders(nodes.NODE_FOLDERS)))


def missing_folders(wanted: Iterable[str]) -> list[str]:
    """The missing folders among these and their parents; children before their parents."""
    folders = {folder for name in wanted for folder in (Path(name), *Path(name).parents)}
    return sorted((str(folder) for folder in folders if not folder.exists()), reverse=True)


def remove_created_folders(layout: Layout) -> None:
    """Remove the mount points on the host that the nodes needed and the machine did not have."""
    created = layout.state / "created-folders.json"
    if created.exists():
        for folder in map(Path, json.loads(created.read_text())):
            if folder.exists() and not any(folder.iterdir()):
                folder.rmdir()
