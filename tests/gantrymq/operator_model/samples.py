"""Makes clusters, specs and pods for tests of single modules of the plan."""

from __future__ import annotations

from typing import Any

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.plan.snapshot import OperatorDefaults
from gantrymq.operator.plan.view.lease import PREFIX
from gantrymq.operator.resources.parsing import parse_cluster

DEFAULTS = OperatorDefaults("example.org/broker:1", "example.org/namesrv:1")


def cluster(defaults: OperatorDefaults = DEFAULTS, /, **spec: Any) -> Cluster:  # Any: JSON
    """The cluster `orders` in the namespace `mq`."""
    parsed = parse_cluster({"metadata": {"name": "orders", "namespace": "mq"}, "spec": spec})
    assert parsed.spec is not None, parsed.message
    return Cluster(ClusterNames("orders", "mq"), "uid-1", 1, parsed.spec, defaults)


def lease(
    holder: int = 1,
    in_sync: str = "1,2",
    epoch: int = 3,
    name: str = "orders-broker-0",
    **notes: str,
) -> Json:
    """A Lease; `notes` are further annotations, with `_` for `-`."""
    annotations = {"epoch": str(epoch), "in-sync": in_sync}
    annotations |= {key.replace("_", "-"): value for key, value in notes.items()}
    metadata = {
        "name": name,
        "namespace": "mq",
        "uid": f"uid-of-{name}",
        "resourceVersion": "7",
        "annotations": {f"{PREFIX}{key}": value for key, value in annotations.items()},
    }
    holder_text = str(holder) if holder else ""
    return {"metadata": metadata, "spec": {"holderIdentity": holder_text}}
