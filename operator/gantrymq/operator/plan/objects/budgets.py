"""Makes PodDisruptionBudgets, so that a drain evicts the members of a group one at a time."""

from __future__ import annotations

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.kinds import DISRUPTION_BUDGET
from gantrymq.operator.plan.objects.names import BROKER, NAME_SERVER


def group_budget(cluster: Cluster, group: str) -> Json:
    """Return the budget of a group. A ready broker is in sync, so a drain leaves an in-sync copy.

    A master without enough followers in sync is not ready either, but must not be evicted.
    Therefore pods that are not ready may be evicted only while the budget is met.
    """
    selector = cluster.names.selector(BROKER, group)
    spec = _spec(selector)
    return cluster.owned(DISRUPTION_BUDGET, cluster.names.group(group), BROKER, group, spec=spec)


def name_server_budget(cluster: Cluster) -> Json:
    spec = _spec(cluster.names.selector(NAME_SERVER))
    return cluster.owned(DISRUPTION_BUDGET, cluster.names.name_servers, NAME_SERVER, spec=spec)


def _spec(selector: Json) -> Json:
    return {
        "maxUnavailable": 1,
        "selector": {"matchLabels": selector},
        "unhealthyPodEvictionPolicy": "IfHealthyBudget",
    }
