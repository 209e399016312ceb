"""Tests that names, labels and units of all metrics follow the rules of Prometheus."""

import re

import pytest

from gantrymq.metrics.catalogue import TABLES, families
from gantrymq.metrics.family import Family, Kind, Origin, Table

ALL = [family for _, family in families()]
NAME = re.compile(r"[a-z][a-z0-9_]*")
LABEL = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*")


def test_each_name_is_defined_once() -> None:
    names = [family.name for family in ALL]
    assert sorted(set(names)) == sorted(names)


@pytest.mark.parametrize("family", ALL, ids=[family.name for family in ALL])
def test_names_follow_the_rules_of_prometheus(family: Family) -> None:
    assert NAME.fullmatch(family.name)
    assert all(LABEL.fullmatch(label) for label in family.labels)
    assert family.help
    assert not family.help.endswith(".")
    if family.origin is not Origin.EXPORTER_4:  # the exporter calls some of its gauges _total
        assert family.name.endswith("_total") == (family.kind is Kind.COUNTER)
    assert bool(family.buckets) == (family.kind is Kind.HISTOGRAM)
    assert list(family.buckets) == sorted(family.buckets)


@pytest.mark.parametrize("family", ALL, ids=[family.name for family in ALL])
def test_own_names_end_with_their_unit(family: Family) -> None:
    if family.origin is Origin.GANTRY and family.unit in {"seconds", "bytes"}:
        assert family.name.removesuffix("_total").endswith("_" + family.unit)


def test_panels_name_their_row() -> None:
    assert all(": " in family.panel for family in ALL if family.panel)


def test_no_label_of_a_metric_repeats_a_base_label() -> None:
    for table in TABLES:
        for family in table:
            assert not set(family.labels) & set(table.base_labels)


def test_a_name_that_is_entered_twice_is_refused() -> None:
    table = Table("broker", "A table")
    table.gauge("level", "About it")
    with pytest.raises(Exception, match="level is defined twice"):
        table.gauge("level", "About it")
