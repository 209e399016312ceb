"""Runs the operator without kopf in the test's own loop, against the simulated API server."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from gantrymq.fakes_kube.server import KubeServer
from gantrymq.operator.kube.api_config import ApiConfig
from gantrymq.operator.kube.client import KubeClient
from gantrymq.operator.kube.watch.reflector import Pace
from gantrymq.operator.plan.objects.names import BROKER_METRICS_PORT
from gantrymq.operator.plan.planner import plan
from gantrymq.operator.plan.snapshot import OperatorDefaults
from gantrymq.operator.shell.assembly import Operator, Parts

Json = dict[str, Any]

DEFAULTS: Final = OperatorDefaults("broker:1", "namesrv:1")
PACE: Final = Pace(backoff_seconds=0.02)


@asynccontextmanager
async def operating(
    server: KubeServer,
    *,
    namespaces: Sequence[str] = (),
    pace: Pace = PACE,
    request_seconds: float = 15.0,
    metrics_port: int = BROKER_METRICS_PORT,
) -> AsyncIterator[Operator]:
    """An operator that leads; it is cut off at the end as kill -9 would, without any goodbye."""
    client = KubeClient(ApiConfig(server.url), request_seconds=request_seconds)
    parts = Parts(
        client,
        DEFAULTS,
        plan,
        random.Random(1),
        namespaces=namespaces,
        pace=pace,
        metrics_port=metrics_port,
    )
    operator = Operator(parts)
    tasks = [asyncio.create_task(work, name=name) for name, work in await operator.start()]
    try:
        yield operator
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await operator.close()
        await client.close()


def add_cluster(server: KubeServer, namespace: str = "one", **spec: Any) -> None:
    """Create the BrokerCluster `orders`, and its namespace."""
    server.put("Namespace", {"metadata": {"name": namespace}})
    body = {"metadata": {"namespace": namespace, "name": "orders"}, "spec": spec}
    server.put("BrokerCluster", body)


def status(server: KubeServer, namespace: str = "one") -> Json:
    """What the status of `orders` says."""
    found = server.get("BrokerCluster", namespace, "orders")
    return {} if found is None else found.get("status") or {}


def is_quiet(server: KubeServer, namespace: str = "one") -> bool:
    """Whether the operator says that it is ready, and that nothing is left to do."""
    return all(condition(server, kind, namespace) == "True" for kind in ("Ready", "Quiesced"))


def condition(server: KubeServer, kind: str, namespace: str = "one", field: str = "status") -> str:
    """One field of one condition; empty while there is none."""
    for each in status(server, namespace).get("conditions") or ():
        if each["type"] == kind:
            return str(each[field])
    return ""


OWNED: Final = (
    "StatefulSet", "Service", "ConfigMap", "PodDisruptionBudget", "ServiceAccount", "Role",
    "RoleBinding", "Secret", "Pod", "PersistentVolumeClaim", "Lease",
)  # fmt: skip


def names_of_owned(server: KubeServer, namespace: str = "one") -> dict[str, list[str]]:
    """The names of everything there is, by kind."""
    return {
        kind: [item["metadata"]["name"] for item in server.all(kind, namespace)] for kind in OWNED
    }


def specs_of_owned(server: KubeServer, namespace: str = "one") -> dict[tuple[str, str], Json]:
    """What was asked for of everything there is, but for what the server gives it."""
    left_out = ("metadata", "status", "clusterIP")
    found = {}
    for kind in OWNED:
        if kind in ("Secret", "Lease"):
            continue
        for item in server.all(kind, namespace):
            body = {key: value for key, value in item.items() if key not in left_out}
            if kind == "Service":
                spec = {key: value for key, value in body["spec"].items() if key != "clusterIP"}
                body["spec"] = spec
            found[(kind, item["metadata"]["name"])] = body
    return found
