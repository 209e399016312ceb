"""Tests that pod templates satisfy the restricted Pod Security level and the brokers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gantrymq.base.configuration.settings import setting_fields
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.operator.plan.actions import Json
from gantrymq.operator.plan.objects.pods.broker_pods import broker_template
from gantrymq.operator.plan.objects.pods.name_server_pods import name_server_template
from gantrymq.operator_model.samples import cluster

VOLUMES_ALLOWED = {
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim",
    "projected", "secret",
}  # fmt: skip


def brokers(**spec: Any) -> Json:
    return broker_template(cluster(**spec), "broker-0", "b:1", "broker-1.conf")


def name_servers(**spec: Any) -> Json:
    return name_server_template(cluster(**spec), "n:1", "namesrv-1.conf")


@pytest.mark.parametrize("template", [brokers(), name_servers()], ids=["broker", "namesrv"])
def test_pods_pass_the_restricted_level(template: Json) -> None:
    pod = template["spec"]
    security = pod["securityContext"]
    assert security["runAsNonRoot"]
    assert security["runAsUser"] != 0
    assert security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostNetwork", "hostPID", "hostIPC"} & pod.keys()
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert not any("hostPort" in port for port in container["ports"])
    for volume in pod["volumes"]:
        assert volume.keys() - {"name"} <= VOLUMES_ALLOWED


@pytest.mark.parametrize("template", [brokers(), name_servers()], ids=["broker", "namesrv"])
def test_every_mount_has_a_volume(template: Json) -> None:
    pod = template["spec"]
    volumes = {volume["name"] for volume in pod["volumes"]} | {"store"}
    assert {mount["name"] for mount in pod["containers"][0]["volumeMounts"]} <= volumes
    ports = {port["name"] for port in pod["containers"][0]["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert pod["containers"][0][probe]["httpGet"]["port"] in ports


def test_no_variable_of_a_service_reaches_a_broker() -> None:
    """A Service called gantry-metrics would set GANTRY_METRICS_PORT."""
    assert brokers()["spec"]["enableServiceLinks"] is False


@pytest.mark.parametrize("template", [brokers, name_servers], ids=["broker", "namesrv"])
def test_logs_are_json_where_the_resource_says_so(template: Callable[..., Json]) -> None:
    def variables(**spec: Any) -> list[Json]:
        [container] = template(**spec)["spec"]["containers"]
        return [each for each in container.get("env", ()) if "value" in each]

    json = {"name": "GANTRY_LOG_FORMAT", "value": "json"}
    assert variables(pods={"logFormat": "json"}) == [json]
    assert variables(pods={"logFormat": "console"}) == []
    assert variables() == []


def test_the_template_of_name_servers_without_variables_does_not_change() -> None:
    assert "env" not in name_servers()["spec"]["containers"][0]


def test_the_addresses_come_from_the_pod() -> None:
    variables = {each["name"]: each for each in brokers()["spec"]["containers"][0]["env"]}
    known = {field.variable for field in setting_fields(BrokerSettings)}
    for name in ("GANTRY_BROKER_IP1", "GANTRY_BROKER_IP2"):
        assert name in known
        assert variables[name]["valueFrom"]["fieldRef"]["fieldPath"] == "status.podIP"


def test_members_of_a_group_never_share_a_node() -> None:
    affinity = brokers()["spec"]["affinity"]["podAntiAffinity"]
    [term] = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert term["topologyKey"] == "kubernetes.io/hostname"
    assert term["labelSelector"]["matchLabels"]["gantrymq.dev/group"] == "broker-0"


@pytest.mark.parametrize(
    ("zones", "expected"),
    [
        ("Prefer", [("topology.kubernetes.io/zone", "ScheduleAnyway")]),
        ("Require", [("topology.kubernetes.io/zone", "DoNotSchedule")]),
        ("Ignore", []),
    ],
)
def test_zones_are_spread_over_as_the_spec_says(
    zones: str, expected: list[tuple[str, str]]
) -> None:
    spreads = brokers(scheduling={"zones": zones})["spec"]["topologySpreadConstraints"]
    found = [(each["topologyKey"], each["whenUnsatisfiable"]) for each in spreads]
    assert found == [*expected, ("kubernetes.io/hostname", "ScheduleAnyway")]


def test_labels_of_the_user_stand_beside_those_that_select() -> None:
    found = brokers(pods={"labels": {"team": "a"}})["metadata"]["labels"]
    assert found["app.kubernetes.io/instance"] == "orders"
    assert found["team"] == "a"


def test_fields_that_the_user_left_out_are_not_set() -> None:
    pod = brokers()["spec"]
    assert not {"imagePullSecrets", "nodeSelector", "priorityClassName"} & pod.keys()


def test_the_scheduling_of_the_spec_is_in_the_pod() -> None:
    scheduling = {
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "dedicated", "operator": "Exists", "tolerationSeconds": 0,
                         "effect": "NoExecute"}],
        "priorityClassName": "high",
    }  # fmt: skip
    image = {"pullSecrets": ["s"], "pullPolicy": "Never"}
    pod = brokers(scheduling=scheduling, image=image)["spec"]
    assert pod["nodeSelector"] == {"disk": "ssd"}
    assert pod["priorityClassName"] == "high"
    assert pod["imagePullSecrets"] == [{"name": "s"}]
    assert pod["containers"][0]["imagePullPolicy"] == "Never"
    assert pod["tolerations"][0] == {
        "key": "dedicated", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0,
    }  # fmt: skip


def test_name_servers_have_no_token_of_the_api() -> None:
    assert name_servers()["spec"]["automountServiceAccountToken"] is False
