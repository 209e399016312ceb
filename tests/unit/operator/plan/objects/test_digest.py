"""Tests digests of values and of fields."""

from __future__ import annotations

from gantrymq.operator.plan.objects.pods.digest import changed_fields, digest, digest_fields


def test_a_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


def test_the_fields_that_changed_are_named() -> None:
    before = digest_fields({"image": "a", "config": {}, "members": 2})
    after = digest_fields({"image": "b", "config": {}, "members": 2, "grace": 60})
    assert changed_fields(before, after) == ["grace", "image"]


def test_nothing_changed_in_the_same_fields() -> None:
    fields = digest_fields({"image": "a"})
    assert changed_fields(fields, fields) == []
