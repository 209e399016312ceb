"""Runs the control plane: etcd, the API server behind its proxy, controllers and provisioner.

They are processes of the host. The API server can be stopped, frozen and slowed down while the
others go on; everything it has acknowledged is in etcd and survives.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Mapping

from cluster.local import api_proxy, components, processes
from cluster.settings import API_PORT, ETCD_PORT, HOST_ADDRESS, Layout
from cluster.shell import ClusterError, run, succeeds, wait_until

API_SERVER = "kube-apiserver"
API_PROXY = "api-proxy"
PROVISIONER = "provisioner"
API_TIMEOUT_S = 120.0
PORT_TIMEOUT_S = 60.0  # an API server listens after 3 s, on a busy machine after 20
# In the order of their start; `stop` uses the reverse order.
PROCESSES = (
    *("etcd", API_PROXY, API_SERVER, "kube-controller-manager", "kube-scheduler"),
    PROVISIONER,
)


def ensure(layout: Layout) -> None:
    """Start every process that does not run, thaw frozen ones, and remove all latency."""
    _ensure_server(layout, "etcd", components.etcd(layout), ETCD_PORT)
    _ensure_api_proxy(layout)
    start_api(layout)
    thaw_api(layout)
    set_latency(layout, request_ms=0, response_ms=0)
    manager = components.kube_controller_manager(layout)
    _ensure_process(layout, "kube-controller-manager", manager)
    _ensure_process(layout, "kube-scheduler", components.kube_scheduler(layout))
    provisioner = [sys.executable, "-m", "cluster.local.provisioner"]
    _ensure_process(layout, PROVISIONER, [*provisioner, "--state", str(layout.state)])


def stop(layout: Layout) -> None:
    for name in reversed(PROCESSES):
        processes.kill(layout, name)


def kubectl(layout: Layout, *arguments: str, stdin: str | None = None) -> str:
    """Run the cluster's kubectl as its administrator."""
    environment = {**os.environ, "KUBECONFIG": str(layout.kubeconfig)}
    return run(layout.bin / "kubectl", *arguments, stdin=stdin, environment=environment)


def is_ready(layout: Layout) -> bool:
    environment = {**os.environ, "KUBECONFIG": str(layout.kubeconfig)}
    probe = ("get", "--raw", "/readyz", "--request-timeout=5s")
    return succeeds(layout.bin / "kubectl", *probe, environment=environment)


def start_api(layout: Layout) -> None:
    components.audit_policy_file(layout).write_text(components.audit_policy())
    server = components.kube_apiserver(layout)
    _ensure_server(layout, API_SERVER, server, API_PORT, components.API_SERVER_ENVIRONMENT)
    log = f"see {layout.logs}/{API_SERVER}.log"
    _command_proxy(layout, {"accepting": True})
    wait_until(lambda: is_ready(layout), what="the API server", timeout_s=API_TIMEOUT_S, advice=log)


def stop_api(layout: Layout) -> None:
    """Kill the API server. Its port then refuses connections, as that of a dead process does."""
    processes.kill(layout, API_SERVER)
    _command_proxy(layout, {"accepting": False})


def freeze_api(layout: Layout) -> None:
    """Freeze the API server: it keeps and accepts connections, but answers nothing."""
    _require_api(layout)
    processes.send_signal(layout, API_SERVER, signal.SIGSTOP)


def thaw_api(layout: Layout) -> None:
    _require_api(layout)
    processes.send_signal(layout, API_SERVER, signal.SIGCONT)


def set_latency(layout: Layout, *, request_ms: int, response_ms: int) -> None:
    """Delay all traffic to and from the API server from now on."""
    _command_proxy(layout, {"request_ms": request_ms, "response_ms": response_ms})


def api_state(layout: Layout) -> str:
    if processes.find(layout, API_SERVER) is None:
        return "stopped"
    if processes.is_stopped(layout, API_SERVER):
        return "frozen"
    proxy = _command_proxy(layout, {})
    if proxy["request_ms"] or proxy["response_ms"]:
        return f"slow: requests {proxy['request_ms']} ms, responses {proxy['response_ms']} ms"
    return "running"


def _ensure_process(layout: Layout, name: str, command: list[str]) -> None:
    if processes.find(layout, name) is None:
        processes.start(layout, name, command)


def _ensure_server(
    layout: Layout,
    name: str,
    command: list[str],
    port: int,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Start a server unless it runs, and wait until it listens on its loopback port.

    It is an error if another process has the port: clients would reach that process.
    """
    if processes.find(layout, name) is None:
        if _listens(port):
            raise ClusterError(
                f"port {port} of {components.LOOPBACK}, which {name} needs, is used by another "
                f"process: find it by `ss -ltnp sport = :{port}`, and end it"
            )
        processes.start(layout, name, command, environment)

    def listens() -> bool:
        if processes.find(layout, name) is None:
            raise ClusterError(f"{name} ended while it started: see {layout.logs}/{name}.log")
        return _listens(port)

    wait_until(listens, what=f"the port of {name}", timeout_s=PORT_TIMEOUT_S)


def _ensure_api_proxy(layout: Layout) -> None:
    if processes.find(layout, API_PROXY) is not None:
        return
    layout.api_control.unlink(missing_ok=True)
    command = [
        *(sys.executable, "-m", "cluster.local.api_proxy"),
        *("--listen", f"{HOST_ADDRESS}:{API_PORT}"),
        *("--upstream", f"{components.LOOPBACK}:{API_PORT}"),
        *("--control", str(layout.api_control)),
    ]
    processes.start(layout, API_PROXY, command)
    wait_until(
        layout.api_control.exists,
        what="the proxy in front of the API server",
        timeout_s=PORT_TIMEOUT_S,
        advice=f"see {layout.logs}/{API_PROXY}.log",
    )


def _command_proxy(layout: Layout, command: dict[str, object]) -> dict[str, object]:
    try:
        answer = dict(json.loads(api_proxy.send_command(layout.api_control, command)))
    except (OSError, ValueError) as error:
        raise ClusterError(
            f"the proxy in front of the API server does not answer ({error}): "
            f"see {layout.logs}/{API_PROXY}.log, then run `make cluster-up` to start it again"
        ) from error
    if "error" in answer:
        raise ClusterError(f"the proxy in front of the API server refuses: {answer['error']}")
    return answer


def _require_api(layout: Layout) -> None:
    if processes.find(layout, API_SERVER) is None:
        raise ClusterError("the API server is stopped: run `python -m cluster api start`")


def _listens(port: int) -> bool:
    try:
        with socket.create_connection((components.LOOPBACK, port), timeout=1.0):
            return True
    except OSError:
        return False
