"""Tests that Prometheus, set up as the documentation says, finds all pods and shows a failover."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from gantrymq.e2e.broker_cluster import BrokerCluster
from gantrymq.e2e.figures import Figures
from gantrymq.e2e.kubectl import Json, Namespace, tool, wait_until
from gantrymq.e2e.operator_install import NAMESPACE, ROOT, Operator
from gantrymq.monitoring.queries import PanelQuery, all_queries
from gantrymq.monitoring.server import Prometheus, Sample
from tools.monitoring.alerts import GROUPS
from tools.monitoring.dashboards import DASHBOARDS
from tools.monitoring.rules import rule_file

PAGE: Final = ROOT / "docs" / "operations" / "monitoring.md"
GROUP: Final = "broker-0"
META: Final = "__meta_kubernetes_pod_"
INTERVAL_SECONDS: Final = 5
RULES_DIVISOR: Final = 60
FOUND_SECONDS: Final = 90.0
# A member shows that it leads once it has taken over, a moment after its Lease names it.
TAKES_OVER_SECONDS: Final = 1.0

# Metrics without series here: no broker refuses anything, and the operator may read all kinds.
ABSENT: Final = (
    *("gantry_broker_flow_control_total", "gantry_metrics_dropped_series"),
    "gantry_operator_reflector_refused",
)
CHOSEN: Final = ("replication", "operator")


@pytest.mark.e2e
@pytest.mark.timeout(600)
def test_a_failover_is_on_the_dashboards_with_the_next_scrape(
    operator: Operator, namespace: Namespace, figures: Figures, tmp_path: Path
) -> None:
    operator.install("monitoring.dashboards=true")
    assert len(_dashboards()) == len(DASHBOARDS)
    cluster = BrokerCluster(namespace, "watched")
    cluster.apply(groups=1, membersPerGroup=3)
    cluster.wait_until_whole()
    with Prometheus(
        tmp_path,
        {},
        rule_file(GROUPS, RULES_DIVISOR),
        interval_seconds=INTERVAL_SECONDS,
        scrapes=_scrapes_of_the_page(tmp_path),
    ) as prometheus:
        pods = f'{{job="watched",namespace="{namespace.name}"}}'
        prometheus.wait_for(f"count(up{pods} == 1) == 5", FOUND_SECONDS)
        prometheus.wait_for('count(up{job="gantry"} == 1) == 2', FOUND_SECONDS)
        _all_panels_show_data(prometheus)
        taken_at = _kill_the_master(cluster)
        leader = cluster.pod_name(GROUP, cluster.holder(GROUP))
        selector = f'gantry_broker_is_master{{namespace="{namespace.name}",pod="{leader}"}}'
        shown = _first_sample_after(prometheus, selector, taken_at + TAKES_OVER_SECONDS)
        assert shown.value == 1
        prometheus.wait_for('ALERTS{alertname="GantryFailover",alertstate="firing"}', FOUND_SECONDS)
    figures.keep(
        f"a failover was on the dashboards {shown.at - taken_at:.1f} s after the Lease said so,"
        f" with a scrape each {INTERVAL_SECONDS} s",
        shown_after=shown.at - taken_at,
    )


def _dashboards() -> list[str]:
    found = Namespace(NAMESPACE).list("configmaps", {"grafana_dashboard": "1"})
    return [each["metadata"]["name"] for each in found]


def _scrapes_of_the_page(folder: Path) -> list[Mapping[str, Any]]:  # Any: values of YAML
    """The scrape configuration from the documentation. Debian's Prometheus cannot discover pods, so
    a file lists all pods, and the relabelling rules of the documentation choose from these."""
    text = PAGE.read_text().partition("## On Kubernetes")[2].partition("## Elsewhere")[0]
    block = text[text.index("    scrape_configs:") :].split("\n\n")[0]
    [scrape] = yaml.safe_load(block)["scrape_configs"]
    assert scrape.pop("kubernetes_sd_configs") == [{"role": "pod"}]
    (folder / "targets.json").write_text(json.dumps(_discovered()))
    return [{**scrape, "file_sd_configs": [{"files": [str(folder / "targets.json")]}]}]


def _discovered() -> list[Json]:
    """A target for each port of each container of all pods, with the labels of `role: pod`."""
    pods = json.loads(tool("kubectl", "get", "pods", "--all-namespaces", "-o", "json"))["items"]
    return [
        {
            "targets": [f"{pod['status']['podIP']}:{port['containerPort']}"],
            "labels": {**_labels(pod), f"{META}container_port_name": port.get("name", "")},
        }
        for pod in pods
        if "podIP" in pod["status"]
        for container in pod["spec"]["containers"]
        for port in container.get("ports", ())
    ]


def _labels(pod: Json) -> dict[str, str]:
    about = pod["metadata"]
    labels = {re.sub(r"\W", "_", name): value for name, value in about.get("labels", {}).items()}
    return {
        "__meta_kubernetes_namespace": about["namespace"],
        f"{META}name": about["name"],
        **{f"{META}label_{name}": value for name, value in labels.items()},
    }


def _all_panels_show_data(prometheus: Prometheus) -> None:
    """The queries of components that only a cluster on Kubernetes has."""
    empty = [each for each in all_queries() if _is_asked(each)]
    assert len(empty) > 20

    def shows_all() -> bool:
        empty[:] = [each for each in empty if not prometheus.query(each.expression)]
        return not empty

    def left() -> str:
        return "\n".join(map(str, empty))

    wait_until(shows_all, "every panel shows data", FOUND_SECONDS, left)


def _is_asked(query: PanelQuery) -> bool:
    return query.dashboard in CHOSEN and not any(name in query.expression for name in ABSENT)


def _kill_the_master(cluster: BrokerCluster) -> float:
    """The wall clock's time at which the Lease named another holder."""
    before = cluster.holder(GROUP)
    cluster.delete_pod(cluster.pod_name(GROUP, before), by_force=True)
    wait_until(lambda: cluster.holder(GROUP) not in (0, before), "another leads", FOUND_SECONDS)
    return time.time()


def _first_sample_after(prometheus: Prometheus, selector: str, moment: float) -> Sample:
    found: list[Sample] = []

    def is_scraped() -> bool:
        for _, samples in prometheus.samples(selector, FOUND_SECONDS):
            found[:] = [each for each in samples if each.at > moment][:1]
        return bool(found)

    wait_until(is_scraped, "the next scrape", FOUND_SECONDS)
    return found[0]
