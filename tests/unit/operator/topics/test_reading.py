"""Reading Topics of the API into reduced values."""

from __future__ import annotations

from typing import Any

import pytest

from gantrymq.operator.resources.parsing import parse_topic
from gantrymq.operator.resources.topic.topic import DeletionPolicy, QueueCounts
from gantrymq.operator.topics.reading import topic_from_json
from gantrymq.operator.topics.statuses import to_json
from gantrymq.operator.topics.values import Condition, GroupStatus, TopicStatus
from gantrymq.resource_cases.case import Case
from gantrymq.resource_cases.topic import CASES


def body(spec: Any, **metadata: Any) -> dict[str, Any]:
    return {
        "metadata": {"namespace": "shop", "name": "t", "uid": "u", "generation": 1, **metadata},
        "spec": spec,
    }


def test_a_short_spec_has_the_defaults() -> None:
    spec = topic_from_json(body({"cluster": "orders", "writeQueues": 6})).spec
    assert spec is not None
    assert (spec.topic_name, spec.queues, spec.perm) == ("t", QueueCounts(6, 6), 6)
    assert spec.deletion_policy is DeletionPolicy.RETAIN


def test_a_group_may_have_queue_counts_of_its_own() -> None:
    fields = {"cluster": "orders", "groups": {"broker-1": {"writeQueues": 2}}}
    spec = topic_from_json(body(fields)).spec
    assert spec is not None
    assert spec.queues_of("broker-0") == QueueCounts(4, 4)
    assert spec.queues_of("broker-1") == QueueCounts(2, 2)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        None,
        {"cluster": 1},
        {"cluster": "orders", "topicName": "TBW102"},
        {"cluster": "orders", "topicName": "%RETRY%g"},
        {"cluster": "orders", "writeQueues": 0},
        {"cluster": "orders", "writeQueues": 5, "readQueues": 4},
        {"cluster": "orders", "perm": "RWX"},
        {"cluster": "orders", "groups": []},
        {"cluster": "orders", "attributes": {"message.type": 1}},
        {"cluster": "orders", "deletionPolicy": "Never"},
    ],
)
def test_a_spec_that_cannot_be_used_is_a_problem_in_words(spec: object) -> None:
    resource = topic_from_json(body(spec))
    assert resource.spec is None
    assert "spec" in resource.problem


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_specs_that_the_parser_accepts_are_used_and_no_others(case: Case) -> None:
    accepted = parse_topic(case.resource()).spec
    resource = topic_from_json(case.resource())
    assert (resource.spec is None) is (accepted is None)
    assert bool(resource.problem) is (accepted is None)


def test_a_spec_of_the_same_generation_is_not_read_again() -> None:
    known = topic_from_json(body({"cluster": "orders"}))
    again = topic_from_json(body({"cluster": "orders"}, resourceVersion="2"), known)
    assert again.spec is known.spec
    changed = topic_from_json(body({"cluster": "orders", "perm": "R"}, generation=2), known)
    assert changed.spec is not None
    assert changed.spec.perm == 4
    other = topic_from_json(body({"cluster": "orders", "perm": "W"}, uid="v"), known)
    assert other.spec is not None
    assert other.spec.perm == 2


def test_a_status_is_read_as_it_was_written() -> None:
    condition = Condition("Ready", True, "Applied", "well", "2026-01-01T00:00:00Z")
    groups = (GroupStatus("broker-0", 4, 8, "RW"),)
    status = TopicStatus(3, "Ready", "t", (condition,), groups, ("broker-0: x",), True)
    resource = topic_from_json({**body({"cluster": "orders"}), "status": to_json(status)})
    assert resource.status == status


def test_a_deletion_time_is_read() -> None:
    resource = topic_from_json(
        body({"cluster": "orders"}, deletionTimestamp="1970-01-01T00:01:00Z", finalizers=["f"])
    )
    assert (resource.deleted, resource.finalizers) == (60.0, ("f",))
