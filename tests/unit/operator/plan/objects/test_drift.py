"""Tests what counts as a difference between an object and the wanted one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gantrymq.operator.plan.objects.drift import drift

SCALARS = st.sampled_from([True, False, 0, 7, "", "a", "1Gi"])
FLAT = st.dictionaries(st.sampled_from(["a", "name"]), SCALARS, max_size=2)
JSON_VALUES = st.one_of(SCALARS, FLAT, st.lists(FLAT, max_size=2))
SPECS = st.dictionaries(st.sampled_from(["a", "b"]), JSON_VALUES, max_size=2)
QUICK = settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def of_spec(**fields: Any) -> dict[str, Any]:
    return {"kind": "X", "metadata": {"name": "x"}, "spec": fields}


@QUICK
@given(SPECS)
def test_an_object_does_not_differ_from_itself(spec: dict[str, Any]) -> None:
    assert drift(of_spec(**spec), of_spec(**spec)) is None


@QUICK
@given(SPECS)
def test_fields_that_are_not_wanted_do_not_count(spec: dict[str, Any]) -> None:
    found = of_spec(**spec, added=1) | {"status": {"x": 1}}
    found["metadata"]["uid"] = "u"
    assert drift(of_spec(**spec), found) is None


@pytest.mark.parametrize(
    ("wanted", "found", "words"),
    [
        ({"replicas": 2}, {"replicas": 0}, "spec.replicas is 0"),
        ({"a": {"b": "x"}}, {"a": {}}, "spec.a.b is missing"),
        ({"rules": [1, 2]}, {"rules": [1]}, "spec.rules has 1 items"),
        ({"items": [{"name": "a", "v": 1}]}, {"items": [{"name": "a", "v": 2}]}, "spec.items[a].v"),
        ({"items": [{"name": "a"}]}, {"items": [{"name": "b"}]}, "spec.items[a] is missing"),
        ({"selector": {"a": "1"}}, {"selector": {"a": "1", "b": "2"}}, "spec.selector has b"),
    ],
)
def test_the_field_that_differs_is_named(
    wanted: dict[str, Any], found: dict[str, Any], words: str
) -> None:
    difference = drift(of_spec(**wanted), of_spec(**found))
    assert difference is not None
    assert words in difference


def test_items_with_a_key_may_stand_between_items_of_others() -> None:
    wanted = of_spec(containers=[{"name": "broker", "image": "b:1"}])
    sidecar = {"name": "proxy", "image": "p:1"}
    found = of_spec(containers=[sidecar, {"name": "broker", "image": "b:1", "tty": False}])
    assert drift(wanted, found) is None


@pytest.mark.parametrize(("wanted", "found"), [("1024Mi", "1Gi"), ("0.25", "250m"), ("1e3", "1k")])
def test_quantities_are_compared_by_value(wanted: str, found: str) -> None:
    one = of_spec(resources={"limits": {"memory": wanted}})
    assert drift(one, of_spec(resources={"limits": {"memory": found}})) is None


def test_texts_that_look_like_quantities_are_texts_elsewhere() -> None:
    assert drift(of_spec(value="1024Mi"), of_spec(value="1Gi")) == "spec.value is '1Gi'"


def test_labels_are_looked_at_first() -> None:
    wanted = of_spec(a=1)
    wanted["metadata"]["labels"] = {"team": "a"}
    assert drift(wanted, of_spec(a=2)) == "metadata.labels is missing"
