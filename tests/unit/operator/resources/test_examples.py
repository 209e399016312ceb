"""Tests that the example resources are valid, and name existing settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from gantrymq.base.configuration.settings import setting_fields
from gantrymq.broker.core.settings import BrokerSettings
from gantrymq.namesrv.core.settings import NameServerSettings
from gantrymq.operator.plan.objects.names import ClusterNames
from gantrymq.operator.resources.definitions import DEFINITIONS, resource_schema
from gantrymq.operator.resources.names import API_VERSION
from gantrymq.operator.resources.parsing import parse_cluster, parse_topic
from gantrymq.resource_cases.structural import faulty_fields
from gantrymq.store.settings import StoreSettings

FOLDER = Path(__file__).resolve().parents[4] / "examples" / "kubernetes"
FILES = sorted(FOLDER.glob("*.yaml"))
SCHEMAS = {of.kind.value: resource_schema(of) for of in DEFINITIONS}
BROKER_KEYS = {
    each.key for kind in (BrokerSettings, StoreSettings) for each in setting_fields(kind)
}
NAME_SERVER_KEYS = {each.key for each in setting_fields(NameServerSettings)}


def resources(file: Path) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(file.read_text()))


OBJECTS = [each for file in FILES for each in resources(file)]
RESOURCES = [each for each in OBJECTS if each["apiVersion"] == API_VERSION]


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each["metadata"]["name"])
def test_an_example_keeps_the_schema_and_is_parsed(resource: dict[str, Any]) -> None:
    assert list(faulty_fields(SCHEMAS[resource["kind"]], resource, "")) == []
    parse = parse_cluster if resource["kind"] == "BrokerCluster" else parse_topic
    assert parse(resource).problems == ()


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda each: each["metadata"]["name"])
def test_settings_in_an_example_exist(resource: dict[str, Any]) -> None:
    spec = resource["spec"]
    assert set(spec.get("config", {})) <= BROKER_KEYS
    assert set(spec.get("nameServerConfig", {})) <= NAME_SERVER_KEYS


def test_the_first_example_has_ten_lines() -> None:
    lines = FILES[0].read_text().splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) <= 10


def test_topics_of_examples_are_of_clusters_of_examples() -> None:
    clusters = {each["metadata"]["name"] for each in RESOURCES if each["kind"] == "BrokerCluster"}
    assert {each["spec"]["cluster"] for each in RESOURCES if each["kind"] == "Topic"} <= clusters


def test_every_example_is_listed() -> None:
    listed = (FOLDER / "README.md").read_text()
    assert [file.name for file in FILES if f"]({file.name})" not in listed] == []


def test_the_pod_of_a_client_mounts_what_the_operator_makes_for_a_cluster_of_an_example() -> None:
    clusters = {each["metadata"]["name"] for each in RESOURCES if each["kind"] == "BrokerCluster"}
    [pod] = [each for each in OBJECTS if each["kind"] == "Pod"]
    volumes = {each["name"]: each for each in pod["spec"]["volumes"]}
    names = ClusterNames("orders", "")
    assert names.cluster in clusters
    assert volumes["account"]["secret"]["secretName"] == names.client
    assert volumes["trust"]["configMap"]["name"] == names.authority
