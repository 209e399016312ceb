"""Dashboards, alert rules and PodMonitors of the chart, which are there only when asked for."""

from __future__ import annotations

import json

import pytest
import yaml

from gantrymq.e2e.chart import CHART, Json, only, rendered
from gantrymq.operator.plan.objects.names import BROKER, NAME_SERVER, ClusterNames


def of_kind(objects: list[Json], kind: str) -> list[Json]:
    return [each for each in objects if each["kind"] == kind]


def test_nothing_is_installed_unless_it_is_asked_for() -> None:
    objects = rendered()
    assert not of_kind(objects, "PodMonitor")
    assert not of_kind(objects, "PrometheusRule")
    assert not [x for x in of_kind(objects, "ConfigMap") if "dashboard" in x["metadata"]["name"]]


def test_each_dashboard_is_a_config_map_that_grafanas_sidecar_finds() -> None:
    maps = of_kind(
        rendered("monitoring.dashboards=true", "monitoring.namespace=grafana"), "ConfigMap"
    )
    files = {path.name: json.loads(path.read_text()) for path in (CHART / "dashboards").iterdir()}
    assert len(maps) == len(files) == 7
    for each in maps:
        assert each["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert each["metadata"]["namespace"] == "grafana"
        ((name, text),) = each["data"].items()
        assert json.loads(text) == files[name.removeprefix("gantry-")]


def test_the_rules_are_those_of_the_file() -> None:
    rule = only(rendered("monitoring.alerts=true", "monitoring.labels.release=p"), "PrometheusRule")
    assert rule["spec"] == yaml.safe_load((CHART / "alerts" / "gantry.yaml").read_text())
    assert rule["metadata"]["labels"]["release"] == "p"


def test_alerts_link_to_the_runbooks_on_the_web() -> None:
    objects = rendered("monitoring.alerts=true", "monitoring.runbooks=https://example.org/gantry/")
    rules = [
        r for group in only(objects, "PrometheusRule")["spec"]["groups"] for r in group["rules"]
    ]
    begin = "https://example.org/gantry/docs/operations/alerts/"
    assert all(rule["annotations"]["runbook_url"].startswith(begin) for rule in rules)


def test_pod_monitors_choose_the_pods_by_the_labels_that_they_have() -> None:
    objects = rendered("monitoring.podMonitors=true", "monitoring.interval=15s")
    clusters = only(objects, "PodMonitor", "gantry-clusters")["spec"]
    assert clusters["podMetricsEndpoints"] == [{"port": "metrics", "interval": "15s"}]
    chosen = clusters["selector"]["matchLabels"].items()
    for component in (BROKER, NAME_SERVER):
        assert chosen <= ClusterNames("orders", "shop").labels(component).items()
    pod = only(objects, "Deployment")["spec"]["template"]["metadata"]["labels"]
    operator = only(objects, "PodMonitor", "gantry-operator")["spec"]
    assert operator["selector"]["matchLabels"].items() <= pod.items()
    assert clusters["jobLabel"] in pod


def test_clusters_alone_are_scraped_with_their_token() -> None:
    objects = rendered("monitoring.podMonitors=true", "monitoring.clusterToken.secret=o-accounts")
    endpoints = {
        name: only(objects, "PodMonitor", name)["spec"]["podMetricsEndpoints"][0]
        for name in ("gantry-clusters", "gantry-operator", "gantry-spark")
    }
    token = {"credentials": {"name": "o-accounts", "key": "metrics.token"}}
    assert endpoints["gantry-clusters"]["authorization"] == token
    for name in ("gantry-operator", "gantry-spark"):
        assert "authorization" not in endpoints[name]


def test_the_pods_of_a_stream_are_chosen() -> None:
    objects = rendered(
        "monitoring.podMonitors=true",
        "spark.jobs[0].name=s",
        "spark.jobs[0].job=archive",
        "spark.jobs[0].continuous=true",
        "spark.jobs[0].nameServers=n:9876",
        "spark.jobs[0].storage.size=1Gi",
    )
    stream = only(objects, "StatefulSet")["spec"]["template"]["metadata"]["labels"]
    chosen = only(objects, "PodMonitor", "gantry-spark")["spec"]["selector"]["matchLabels"]
    assert chosen.items() <= stream.items()


@pytest.mark.parametrize(
    ("namespaces", "expected"), [("", {"any": True}), ("{a,b}", {"matchNames": ["a", "b"]})]
)
def test_brokers_are_scraped_in_the_namespaces_that_the_operator_serves(
    namespaces: str, expected: Json
) -> None:
    settings = [f"watchNamespaces={namespaces}"] if namespaces else []
    objects = rendered("monitoring.podMonitors=true", *settings)
    spec = only(objects, "PodMonitor", "gantry-clusters")["spec"]
    assert spec["namespaceSelector"] == expected
