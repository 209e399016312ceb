"""Defines the command line of the test cluster: `python -m cluster VERB`; the Makefile calls it."""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from cluster import base_image, image_sources, kind, smoke
from cluster.local import control_plane, lifecycle, nodes
from cluster.settings import NODES, Layout, layout_from_environment
from cluster.shell import ClusterError

LOCK = Path("/run/lock/gantry-cluster")
NODE_VERBS = {
    "on": nodes.power_on,
    "off": nodes.power_off,
    "freeze": nodes.freeze,
    "thaw": nodes.thaw,
    "cut": nodes.cut,
    "mend": nodes.mend,
}
API_VERBS = ("stop", "start", "freeze", "thaw", "slow", "fast")


def uses_kind(verb: str) -> bool:
    """Whether the verb uses kind: as CLUSTER=kind or CLUSTER=local says, otherwise if kind is
    usable."""
    choice = os.environ.get("CLUSTER") or "auto"
    if choice not in {"auto", "kind", "local"}:
        raise ClusterError(f"CLUSTER={choice}: it is kind, local or auto")
    if choice == "auto":
        return kind.is_usable() if verb == "up" else kind.is_up()
    return choice == "kind"


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Let one command at a time change the machine's cluster; other commands wait."""
    if os.geteuid() != 0:
        raise ClusterError("the local cluster needs root, for namespaces and mounts: use sudo")
    LOCK.parent.mkdir(parents=True, exist_ok=True)
    with LOCK.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("waiting for another command that changes the cluster", flush=True)
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def up(options: argparse.Namespace, layout: Layout) -> int:
    started = time.monotonic()
    if uses_kind("up"):
        kind.up(layout)
    else:
        with exclusive():
            lifecycle.up(layout)
    status(options, layout)
    print(f"the cluster is up, after {time.monotonic() - started:.1f} s")
    return 0


def down(_options: argparse.Namespace, layout: Layout) -> int:
    if uses_kind("down"):
        kind.down(layout)
    elif layout.state.exists():
        with exclusive():
            lifecycle.down(layout)
    print("the cluster is down")
    return 0


def status(_options: argparse.Namespace, layout: Layout) -> int:
    is_well = kind.status(layout) if uses_kind("status") else lifecycle.status(layout)
    return 0 if is_well else 1


def load(options: argparse.Namespace, layout: Layout) -> int:
    if not uses_kind("load"):
        require_local(layout)
    for source in options.images:
        started = time.monotonic()
        with exclusive(), image_sources.archive_of(source, layout) as archive:
            if archive is None:
                outcome = "every node has it"
            elif uses_kind("load"):
                kind.load(archive)
                outcome = "loaded"
            else:
                new = lifecycle.load(layout, archive)
                outcome = f"loaded {len(new)}" if new else "every node has it"
        print(f"{source}: {outcome}, {time.monotonic() - started:.1f} s", flush=True)
    return 0


def bits(_options: argparse.Namespace, layout: Layout) -> int:
    built = lifecycle.prepare(layout)
    archive = base_image.ensure(layout)
    print(f"binaries    {built}\nbase image  {archive}")
    return 0


def make_base_image(_options: argparse.Namespace, layout: Layout) -> int:
    print(base_image.ensure(layout))
    return 0


def smoke_test(_options: argparse.Namespace, layout: Layout) -> int:
    require_local(layout)
    smoke.run(layout)
    return 0


def show_environment(_options: argparse.Namespace, layout: Layout) -> int:
    if uses_kind("env"):
        print(f"export KUBECONFIG={kind.kubeconfig(layout)}")
    else:
        require_local(layout)
        print(f"export KUBECONFIG={layout.kubeconfig} PATH={layout.bin}:$PATH")
    return 0


def change_node(options: argparse.Namespace, layout: Layout) -> int:
    if uses_kind("node"):
        kind.change_node(options.action, options.node)
    else:
        require_local(layout)
        NODE_VERBS[options.action](layout, options.node)
    return 0


def change_api(options: argparse.Namespace, layout: Layout) -> int:
    request_ms, response_ms = latencies(options)
    if uses_kind("api"):
        kind.change_api(options.action, request_ms, response_ms)
        return 0
    require_local(layout)
    if options.action in {"slow", "fast"}:
        control_plane.set_latency(layout, request_ms=request_ms, response_ms=response_ms)
    else:
        actions = {
            "stop": control_plane.stop_api,
            "start": control_plane.start_api,
            "freeze": control_plane.freeze_api,
            "thaw": control_plane.thaw_api,
        }
        actions[options.action](layout)
    return 0


def latencies(options: argparse.Namespace) -> tuple[int, int]:
    """The latencies of requests and responses in milliseconds; a round trip takes MS longer."""
    if options.action != "slow":
        return 0, 0
    if options.milliseconds is None:
        raise ClusterError("give the latency in milliseconds: python -m cluster api slow 1000")
    total = int(options.milliseconds)
    halves = (total // 2, total - total // 2)
    return {"both": halves, "request": (total, 0), "response": (0, total)}[options.direction]


def execute_on_node(options: argparse.Namespace, layout: Layout) -> int:
    require_local(layout)
    return nodes.run_interactively(layout, options.node, options.command)


def require_local(layout: Layout) -> None:
    if not lifecycle.is_up(layout):
        raise ClusterError("no local cluster runs on this machine: run `make cluster-up` first")


def parser() -> argparse.ArgumentParser:
    found = argparse.ArgumentParser(prog="python -m cluster", description=__doc__)
    verbs = found.add_subparsers(required=True, metavar="VERB")
    for name, action, text in (
        ("up", up, "bring the cluster up; heals and reuses one that runs"),
        ("down", down, "take it down and remove everything except the cache"),
        ("status", status, "print its state; exit code 0 if all parts are healthy"),
        ("bits", bits, "build the binaries and the base image into the cache"),
        ("base-image", make_base_image, "make the base image and print its archive"),
        ("smoke", smoke_test, "check that a running local cluster does what the tests need"),
        ("env", show_environment, "print shell commands that set KUBECONFIG and PATH"),
    ):
        verbs.add_parser(name, help=text).set_defaults(run=action)
    loading = verbs.add_parser("load", help="put images on every node")
    loading.add_argument("images", nargs="+", metavar="IMAGE", help="archive, or name in buildah")
    loading.set_defaults(run=load)
    node = verbs.add_parser("node", help="power a node on or off, freeze, thaw, cut or mend it")
    node.add_argument("action", choices=sorted(NODE_VERBS))
    node.add_argument("node", type=int, choices=NODES)
    node.set_defaults(run=change_node)
    api = verbs.add_parser("api", help="stop, start, freeze, thaw, slow the API server")
    api.add_argument("action", choices=API_VERBS)
    api.add_argument("milliseconds", type=int, nargs="?", metavar="MS", help="round trip, for slow")
    api.add_argument("--direction", choices=("both", "request", "response"), default="both")
    api.set_defaults(run=change_api)
    execute = verbs.add_parser("exec", help="run a command in the namespaces of a node")
    execute.add_argument("node", type=int, choices=NODES)
    execute.add_argument("command", nargs=argparse.REMAINDER)
    execute.set_defaults(run=execute_on_node)
    return found


def main() -> int:
    options = parser().parse_args()
    try:
        return int(options.run(options, layout_from_environment()))
    except ClusterError as error:
        print(f"cluster: {error}", file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"cluster: {error}: the local cluster belongs to root; use sudo", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
