"""Proves that the local cluster does what the tests need, and prints the time of each step.

`python -m cluster smoke` runs pods on all nodes, reaches them by name, by port and by address,
stores data on volumes, and goes through every fault with its recovery. It takes about four minutes,
most of which Kubernetes needs to declare a node dead.
"""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Callable

from cluster import base_image
from cluster.local import control_plane, lifecycle, nodes
from cluster.settings import NODES, SOURCES, Layout, node_address, node_name
from cluster.shell import ClusterError, wait_until

NAMESPACE = "gantry-smoke"
WORKLOADS = SOURCES / "smoke_workloads.yaml"
NODE_PORT = 30990
READY = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'
TIMEOUT_S = 120.0
LATENCY_MS = 1000
ASK_EVERY_NODE = """
import urllib.request
name = "http://web.gantry-smoke.svc.cluster.local/"
print(*sorted({urllib.request.urlopen(name, timeout=5).read().decode().strip() for _ in range(40)}))
"""


class Smoke:
    """One run of all checks."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._started = time.monotonic()

    def run(self) -> None:
        archive = base_image.ensure(self._layout)
        self._step("base image on every node", lambda: lifecycle.load(self._layout, archive))
        self._step("workloads run", self._start_workloads)
        self._step("a service by its name reaches pods on all nodes", self._reach_by_name)
        self._step("the host reaches pods by port and by address", self._reach_from_host)
        self._check_api_faults()
        for fault, cure in (("off", "on"), ("cut", "mend"), ("freeze", "thaw")):
            self._check_node_fault(fault, cure)
        self._step("namespace and volumes are gone", self._remove_workloads)
        print(f"smoke test passed in {time.monotonic() - self._started:.0f} s")

    def _step(self, what: str, action: Callable[[], object]) -> None:
        started = time.monotonic()
        action()
        print(f"  {time.monotonic() - started:6.1f} s  {what}", flush=True)

    def _kubectl(self, *arguments: str) -> str:
        return control_plane.kubectl(self._layout, "--namespace", NAMESPACE, *arguments)

    def _start_workloads(self) -> None:
        self._kubectl("apply", "--filename", str(WORKLOADS))
        for workload in ("deployment/web", "statefulset/db"):
            self._kubectl("rollout", "status", workload, f"--timeout={TIMEOUT_S:g}s")
        self._kubectl("wait", "--for=condition=Ready", "pod/client", f"--timeout={TIMEOUT_S:g}s")

    def _reach_by_name(self) -> None:
        everywhere = " ".join(node_name(node) for node in NODES)
        wait_until(
            lambda: self._answers() == everywhere,
            what=f"answers from {everywhere}",
            timeout_s=TIMEOUT_S,
        )

    def _answers(self) -> str:
        try:
            asked = self._kubectl("exec", "client", "--", "python3", "-c", ASK_EVERY_NODE)
        except ClusterError:  # the name or the route is not known yet
            return ""
        return asked.strip()

    def _reach_from_host(self) -> None:
        for node in NODES:
            assert fetch(f"http://{node_address(node)}:{NODE_PORT}/").startswith("node")
        address = self._kubectl("get", "pod", "db-0", "--output=jsonpath={.status.podIP}")
        assert fetch(f"http://{address}:8080/starts") == "started\n"

    def _check_api_faults(self) -> None:
        layout = self._layout

        def takes_s() -> float:
            started = time.monotonic()
            assert control_plane.is_ready(layout)
            return time.monotonic() - started

        print(f"  {takes_s():6.1f} s  kubectl get --raw /readyz")
        control_plane.set_latency(layout, request_ms=LATENCY_MS, response_ms=0)
        slow_s = takes_s()
        control_plane.set_latency(layout, request_ms=0, response_ms=0)
        # the TLS handshake and the request: two round trips
        print(f"  {slow_s:6.1f} s  the same with api slow {LATENCY_MS}")
        assert slow_s >= LATENCY_MS / 1000
        self._step("API server stopped", lambda: control_plane.stop_api(layout))
        assert not control_plane.is_ready(layout)
        self._step("API server started", lambda: control_plane.start_api(layout))
        control_plane.freeze_api(layout)
        assert not control_plane.is_ready(layout)
        control_plane.thaw_api(layout)
        self._step("API server thawed", lambda: self._wait_for(control_plane.is_ready, "the API"))

    def _check_node_fault(self, fault: str, cure: str) -> None:
        layout = self._layout
        name = self._kubectl("get", "pod", "db-0", "--output=jsonpath={.spec.nodeName}")
        node = next(number for number in NODES if node_name(number) == name)
        pod_before = self._pod_identity()
        verbs: dict[str, Callable[[Layout, int], None]] = {
            "off": nodes.power_off,
            "on": nodes.power_on,
            "cut": nodes.cut,
            "mend": nodes.mend,
            "freeze": nodes.freeze,
            "thaw": nodes.thaw,
        }
        self._step(f"{name} {fault}", lambda: verbs[fault](layout, node))
        self._step(f"{name} is not Ready", lambda: self._wait_for_ready(name, "Unknown"))
        self._step(f"{name} {cure}", lambda: verbs[cure](layout, node))
        self._step(f"{name} is Ready", lambda: self._wait_for_ready(name, "True"))
        self._step("both databases are Ready", self._wait_for_databases)
        starts = self._kubectl("exec", "db-0", "--", "cat", "/data/starts").split()
        changed = self._pod_identity() != pod_before
        print(f"            db-0 has started {len(starts)} times; pod replaced: {changed}")
        if fault == "off":
            assert len(starts) >= 2, "the data of before the power cut is gone"

    def _pod_identity(self) -> str:
        return self._kubectl("get", "pod", "db-0", "--output=jsonpath={.metadata.uid}")

    def _wait_for(self, condition: Callable[[Layout], bool], what: str) -> None:
        wait_until(lambda: condition(self._layout), what=what, timeout_s=TIMEOUT_S)

    def _wait_for_ready(self, name: str, wanted: str) -> None:
        wait_until(
            lambda: self._kubectl("get", "node", name, f"--output={READY}") == wanted,
            what=f"{name} to be Ready={wanted}",
            timeout_s=TIMEOUT_S,
        )

    def _wait_for_databases(self) -> None:
        ready = "--output=jsonpath={.status.readyReplicas}"
        wait_until(
            lambda: self._kubectl("get", "statefulset", "db", ready) == "2",
            what="2 Ready pods of the StatefulSet db",
            timeout_s=TIMEOUT_S,
        )

    def _remove_workloads(self) -> None:
        self._kubectl("delete", "namespace", NAMESPACE)
        wait_until(
            lambda: NAMESPACE not in self._kubectl("get", "persistentvolumes"),
            what="the deletion of the volumes",
            timeout_s=TIMEOUT_S,
        )


def fetch(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 (our own address)
        return str(answer.read().decode())


def run(layout: Layout) -> None:
    try:
        Smoke(layout).run()
    except AssertionError as error:
        raise ClusterError(f"the cluster does not do what it must: {error}") from error
    finally:
        lifecycle.heal(layout)
