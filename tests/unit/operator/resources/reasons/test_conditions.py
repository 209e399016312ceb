"""Tests that the table of conditions is complete, and its page has all sections."""

from __future__ import annotations

import re

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.operator.resources.pages import conditions_page
from gantrymq.operator.resources.reasons.cluster_reasons import CLUSTER_EVENTS, CLUSTER_ROWS
from gantrymq.operator.resources.reasons.conditions import (
    CONDITIONS,
    EVENTS,
    ConditionType,
    EventRow,
    EventType,
    Kind,
    Reason,
    Row,
    Status,
    find_event,
    find_row,
)
from gantrymq.operator.resources.reasons.topic_reasons import TOPIC_ROWS

ROWS: list[Row | EventRow] = [*CLUSTER_ROWS, *TOPIC_ROWS, *CLUSTER_EVENTS]
GOOD = {
    ConditionType.READY: Status.TRUE,
    ConditionType.AVAILABLE: Status.TRUE,
    ConditionType.IN_SYNC: Status.TRUE,
    ConditionType.SPREAD: Status.TRUE,
    ConditionType.CONFIGURATION_APPLIED: Status.TRUE,
    ConditionType.DEGRADED: Status.FALSE,
}
SILENT = {Reason.CREATING, Reason.DELETING}
"""Reasons that pass by themselves."""


def test_no_reason_is_declared_twice_for_a_condition() -> None:
    assert len(CONDITIONS) == len(CLUSTER_ROWS) + len(TOPIC_ROWS)
    assert len(EVENTS) == len(CLUSTER_EVENTS)


def test_every_name_is_used_in_the_table() -> None:
    assert {row.reason for row in ROWS} == set(Reason)
    assert {row.type for row in CONDITIONS.values()} == set(ConditionType)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.anchor)
def test_meaning_and_action_are_sentences(row: Row | EventRow) -> None:
    assert row.meaning[0].isupper() or row.meaning.startswith("spec.")
    assert row.meaning.endswith(".")
    assert not row.action or row.action.endswith((".", "`"))


@pytest.mark.parametrize("row", CONDITIONS.values(), ids=lambda row: row.anchor)
def test_what_needs_attention_says_what_to_do(row: Row) -> None:
    wrong = row.type in GOOD and row.status is not GOOD[row.type] and row.reason not in SILENT
    assert row.action or not wrong


@pytest.mark.parametrize("row", EVENTS.values(), ids=lambda row: row.anchor)
def test_a_warning_says_what_to_do(row: EventRow) -> None:
    assert row.action or row.type is EventType.NORMAL


def test_an_action_that_refers_to_another_condition_finds_it() -> None:
    for row in ROWS:
        for name in re.findall(r"As for (?:the condition )?(\w+) with the same reason", row.action):
            assert find_row(row.kind, ConditionType(name), row.reason).action, row.anchor


def test_the_page_has_a_section_for_each_row_under_its_anchor() -> None:
    headings = re.findall(r"^### (.+)$", conditions_page(), re.MULTILINE)
    anchors = [heading.lower().replace(" ", "-") for heading in headings]
    assert sorted(anchors) == sorted(row.anchor for row in ROWS)
    assert len(set(anchors)) == len(anchors)


def test_links_in_the_page_lead_to_its_sections() -> None:
    page = conditions_page()
    links = re.findall(r"\]\(#([^)]+)\)", page)
    headings = re.findall(r"^### (.+)$", page, re.MULTILINE)
    assert set(links) <= {heading.lower().replace(" ", "-") for heading in headings}
    assert set(links) >= {row.anchor for row in CONDITIONS.values()}


def test_an_undeclared_reason_is_a_local_error() -> None:
    with pytest.raises(LocalError):
        find_row(Kind.TOPIC, ConditionType.SPREAD, Reason.WELL_SPREAD)
    with pytest.raises(LocalError):
        find_event(Kind.TOPIC, Reason.GROUP_CREATED)
