"""Tests that the generated schemas are structural, bounded, described, and strict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from gantrymq.operator.resources.definitions import (
    BROKER_CLUSTER,
    DEFINITIONS,
    TOPIC,
    Definition,
    definition,
    resource_schema,
)
from gantrymq.operator.resources.pages import fields_of
from gantrymq.resource_cases import cluster, topic
from gantrymq.resource_cases.case import Case
from gantrymq.resource_cases.structural import faulty_fields

CASES = (*cluster.CASES, *topic.CASES)
SCHEMAS = {of.kind.value: resource_schema(of) for of in DEFINITIONS}


def parts(schema: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The schema and all schemas in it."""
    yield path, schema
    for key, inner in schema.get("properties", {}).items():
        yield from parts(inner, f"{path}.{key}")
    for key in ("items", "additionalProperties"):
        if key in schema:
            yield from parts(schema[key], f"{path}[]")


PARTS = [part for of in DEFINITIONS for part in parts(SCHEMAS[of.kind.value], of.kind.value)]
SPEC_PARTS = [(path, schema) for path, schema in PARTS if ".spec" in path]


@pytest.mark.parametrize("case", [case for case in CASES if case.by_schema], ids=str)
def test_a_value_outside_of_its_bounds_breaks_the_schema(case: Case) -> None:
    assert case.refused in set(faulty_fields(SCHEMAS[case.kind], case.resource(), ""))


@pytest.mark.parametrize("case", [case for case in CASES if not case.by_schema], ids=str)
def test_a_value_within_its_bounds_keeps_the_schema(case: Case) -> None:
    assert list(faulty_fields(SCHEMAS[case.kind], case.resource(), "")) == []


@pytest.mark.parametrize(("path", "schema"), SPEC_PARTS, ids=[path for path, _ in SPEC_PARTS])
def test_every_part_of_a_spec_is_bounded(path: str, schema: dict[str, Any]) -> None:
    """Unbounded values would make the API server refuse rules as too expensive."""
    if schema.get("type") == "array":
        assert schema["maxItems"] <= 64
    elif "additionalProperties" in schema:
        assert schema["maxProperties"] <= 256
    elif schema.get("type") == "string":
        assert "enum" in schema or schema["maxLength"] <= 8192
    elif schema.get("type") == "integer":
        assert schema["minimum"] <= schema["maximum"]


@pytest.mark.parametrize("of", DEFINITIONS, ids=lambda of: of.kind)
def test_every_field_is_described_in_sentences(of: Definition) -> None:
    for kind in (of.spec, of.status):
        for path, member in fields_of(kind, ""):
            about = member.facts.about
            assert about[0].isupper(), path
            assert about.endswith("."), path


@pytest.mark.parametrize("of", DEFINITIONS, ids=lambda of: of.kind)
def test_every_field_of_a_spec_is_tried_with_a_wrong_value(of: Definition) -> None:
    tried = [case.refused for case in CASES if case.kind == of.kind]
    patterns = {path: pattern_of(path) for path, _ in fields_of(of.spec, "spec.")}
    untried = [
        path for path, pattern in patterns.items() if not any(pattern.match(each) for each in tried)
    ]
    assert untried == []


def pattern_of(path: str) -> re.Pattern[str]:
    """Matches the field itself and what is in it, whatever the names in maps and lists are."""
    named = re.escape(path).replace(re.escape(".<name>"), r"\.[^.]+").replace(r"\[\]", r"\.[0-9]+")
    return re.compile(rf"{named}(\.|$)")


def test_columns_answer_how_a_cluster_is() -> None:
    names = [column.name for column in BROKER_CLUSTER.columns if not column.is_wide]
    assert names == ["Phase", "Groups", "Members", "Masters", "Lag", "Age"]
    assert [column.name for column in TOPIC.columns if column.is_wide] == ["Message"]


def test_names_of_the_definitions() -> None:
    made = {of.file_name: definition(of) for of in DEFINITIONS}
    assert set(made) == {"gantrymq.dev_brokerclusters.yaml", "gantrymq.dev_topics.yaml"}
    names = [each["spec"]["names"] for each in made.values()]
    assert [each["shortNames"] for each in names] == [["bc"], ["mqt"]]
    assert all(each["categories"] == ["gantry"] for each in names)


def test_groups_can_be_scaled() -> None:
    (version,) = definition(BROKER_CLUSTER)["spec"]["versions"]
    assert version["subresources"]["scale"] == {
        "specReplicasPath": ".spec.groups",
        "statusReplicasPath": ".status.groupCount",
        "labelSelectorPath": ".status.selector",
    }


def test_a_status_has_no_defaults_that_the_api_server_would_fill_in() -> None:
    assert [path for path, schema in PARTS if ".status" in path and "default" in schema] == []
