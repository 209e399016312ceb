"""PodDisruptionBudgets: a drain takes one member of a group, or one name server, at a time."""

from __future__ import annotations

from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.cluster import Cluster
from gantrymq.operator.plan.objects.kinds import DISRUPTION_BUDGET
from gantrymq.operator.plan.objects.names import BROKER, NAME_SERVER


def group_budget(cluster: Cluster, group: str) -> Json:
    """Readiness of a broker means that it is in sync, so a drain leaves a copy that is.

    A master without enough followers in sync is not ready either, and must stay: so pods that are
    not ready may be evicted only while the budget is met.
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
