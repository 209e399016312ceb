"""Tests that the parser accepts what the API server accepts, and never raises."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.operator.resources.cluster.cluster import BrokerClusterSpec, Replication
from gantrymq.operator.resources.decoding import with_defaults
from gantrymq.operator.resources.parsing import parse_cluster, parse_topic
from gantrymq.operator.resources.problems import SHOWN_MAX, Parsed
from gantrymq.operator.resources.topic.topic import QueueCounts, TopicSpec
from gantrymq.resource_cases import cluster, topic
from gantrymq.resource_cases.case import Case

CASES = (*cluster.CASES, *topic.CASES)
CREATED = [case for case in CASES if case.before is None]


def parse(case: Case) -> Parsed[BrokerClusterSpec] | Parsed[TopicSpec]:
    return (
        parse_cluster(case.resource())
        if case.kind == cluster.KIND
        else parse_topic(case.resource())
    )


def dotted(field: str) -> str:
    return field.replace("[", ".").replace("]", "")


@pytest.mark.parametrize("case", [case for case in CASES if case.is_accepted], ids=str)
def test_a_sound_resource_is_parsed(case: Case) -> None:
    parsed = parse(case)
    assert parsed.problems == ()
    assert parsed.spec is not None


@pytest.mark.parametrize("case", [case for case in CREATED if not case.is_accepted], ids=str)
def test_a_refused_resource_is_a_problem_of_its_field(case: Case) -> None:
    parsed = parse(case)
    assert parsed.spec is None
    told = [each for each in parsed.problems if dotted(each.field) == case.refused]
    assert told != [], parsed.message
    if not case.by_schema:
        assert any(case.words in each.message for each in told), parsed.message


def test_a_cluster_without_a_spec_has_all_defaults() -> None:
    spec = parse_cluster({"metadata": {"name": "orders"}}).spec
    assert spec == BrokerClusterSpec()
    assert spec.storage.size == "20Gi"
    assert spec.resources.broker.limits == {"memory": "1Gi"}
    assert spec.required_in_sync == 2


def test_giving_resources_replaces_their_default_as_a_whole() -> None:
    given_resources = {"resources": {"broker": {"requests": {"memory": "4Gi"}}}}
    spec = parse_cluster({"metadata": {"name": "orders"}, "spec": given_resources}).spec
    assert spec is not None
    assert spec.resources.broker.requests == {"memory": "4Gi"}
    assert spec.resources.broker.limits == {}
    assert spec.resources.name_server.limits == {"memory": "128Mi"}


@pytest.mark.parametrize(
    ("spec", "members"),
    [
        (BrokerClusterSpec(), 2),
        (BrokerClusterSpec(members_per_group=1), 1),
        (BrokerClusterSpec(members_per_group=3, min_in_sync_replicas=3), 3),
        (BrokerClusterSpec(replication=Replication.ASYNC), 1),
    ],
)
def test_members_that_must_be_in_sync(spec: BrokerClusterSpec, members: int) -> None:
    assert spec.required_in_sync == members


def test_whole_numbers_in_config_become_text() -> None:
    spec = parse_cluster({"metadata": {"name": "a"}, "spec": {"config": {"deleteWhen": 4}}}).spec
    assert spec is not None
    assert spec.config == {"deleteWhen": "4"}


def test_a_topic_takes_its_name_and_its_read_queues_from_other_fields() -> None:
    resource = {"metadata": {"name": "events"}, "spec": {"cluster": "orders", "writeQueues": 8}}
    spec = parse_topic(resource).spec
    assert spec is not None
    assert (spec.topic_name, spec.write_queues, spec.read_queues) == ("events", 8, 8)


@pytest.mark.parametrize(
    ("group", "queues"),
    [
        (None, QueueCounts(4, 6)),
        ({}, QueueCounts(4, 6)),
        ({"writeQueues": 8}, QueueCounts(8, 8)),
        ({"writeQueues": 0}, QueueCounts(0, 0)),
        ({"writeQueues": 0, "readQueues": 4}, QueueCounts(0, 4)),
        ({"readQueues": 5}, QueueCounts(4, 5)),
        ({"writeQueues": 2, "readQueues": 3}, QueueCounts(2, 3)),
    ],
)
def test_queues_of_a_group(group: dict[str, int] | None, queues: QueueCounts) -> None:
    groups = {} if group is None else {"broker-0": group}
    spec = {"cluster": "orders", "writeQueues": 4, "readQueues": 6, "groups": groups}
    parsed = parse_topic({"metadata": {"name": "events"}, "spec": spec})
    assert parsed.spec is not None
    assert parsed.spec.queues("broker-0") == queues


def test_null_counts_as_absent() -> None:
    spec = parse_cluster({"metadata": {"name": "a"}, "spec": {"groups": None, "image": None}}).spec
    assert spec == BrokerClusterSpec()


def test_filling_defaults_changes_neither_its_input_nor_filled_values() -> None:
    given_spec: dict[str, Any] = {"storage": {}}
    filled = with_defaults(BrokerClusterSpec, given_spec)
    assert given_spec == {"storage": {}}
    assert with_defaults(BrokerClusterSpec, filled) == filled
    filled["resources"]["broker"]["limits"]["memory"] = "2Gi"
    again = with_defaults(BrokerClusterSpec, {})
    assert again["resources"]["broker"]["limits"]["memory"] == "1Gi"


def test_a_message_names_the_first_problems_and_counts_the_others() -> None:
    spec = {"groups": 0, "nameServers": 0, "membersPerGroup": 0, "flush": "", "replication": "",
            "paused": 1, "storage": 1}  # fmt: skip
    parsed = parse_cluster({"metadata": {"name": "a"}, "spec": spec})
    assert len(parsed.problems) == 7
    assert parsed.message.startswith("spec.nameServers: must be at least 1, is 0; ")
    assert parsed.message.endswith(f"; and {7 - SHOWN_MAX} more")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)
CLUSTER_KEYS = st.sampled_from(
    ["groups", "storage", "config", "resources", "scheduling", "pods", "image", "preferredMasters"]
)
TOPIC_KEYS = st.sampled_from(
    ["cluster", "topicName", "groups", "attributes", "writeQueues", "perm"]
)


@given(st.dictionaries(CLUSTER_KEYS, JSON, max_size=4) | JSON)
def test_any_json_as_a_cluster_is_parsed_or_a_problem(spec: object) -> None:
    parsed = parse_cluster({"metadata": {"name": "orders"}, "spec": spec})
    assert (parsed.spec is None) == bool(parsed.problems)


@given(st.dictionaries(TOPIC_KEYS, JSON, max_size=4) | JSON)
def test_any_json_as_a_topic_is_parsed_or_a_problem(spec: object) -> None:
    parsed = parse_topic({"metadata": {"name": "events"}, "spec": spec})
    assert (parsed.spec is None) == bool(parsed.problems)
