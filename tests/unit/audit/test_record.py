"""Tests that audit entries contain no secrets and are bounded, whatever a peer sent."""

from __future__ import annotations

import json

import pytest

from gantrymq.audit.record import (
    NAME_CHARACTERS_MAX,
    OBJECTS_MAX,
    VALUES_BYTES_MAX,
    Actor,
    AuditOutcome,
    AuditRecord,
    audit_record,
)
from gantrymq.wire import javajson
from gantrymq.wire.jsonvalue import Json

ACTOR = Actor("10.0.0.7:5000", "operator")


def record(old: dict[str, Json], new: dict[str, Json]) -> AuditRecord:
    return audit_record("topic.update", 17, ACTOR, AuditOutcome.DONE, old=old, new=new)


def test_entry_has_account_action_and_values_before_and_after() -> None:
    made = record({"Orders": {"perm": 6}}, {"Orders": {"perm": 4}})
    assert json.loads(javajson.dumps_standard(made.to_json())) == {
        "action": "topic.update",
        "outcome": "done",
        "objects": ["Orders"],
        "account": "operator",
        "address": "10.0.0.7:5000",
        "certificate": "",
        "request": 17,
        "old": {"Orders": {"perm": 6}},
        "new": {"Orders": {"perm": 4}},
    }


def test_entry_without_values_has_only_names() -> None:
    value = record({"Orders": None}, {"Orders": None}).to_json()
    assert "old" not in value
    assert value["objects"] == ["Orders"]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("first-secret", "first-secret", "***"),
        ("first-secret", "second-secret", "*** (changed)"),
        (None, "second-secret", "***"),
    ],
)
def test_secrets_are_hidden_but_their_change_is_shown(
    old: str | None, new: str, shown: str
) -> None:
    before: Json = None if old is None else {"secretKey": old, "admin": True}
    made = record({"operator": before}, {"operator": {"secretKey": new, "admin": True}})
    assert made.new == {"operator": {"secretKey": shown, "admin": True}}
    assert "-secret" not in str(made)


@pytest.mark.parametrize("key", ["tls.server.keyPassword", "groupSecret", "accessToken"])
def test_secret_settings_are_hidden(key: str) -> None:
    made = record({key: "one"}, {key: "two"})
    assert (made.old, made.new) == ({key: "***"}, {key: "*** (changed)"})


def test_an_object_whose_name_looks_like_a_secret_is_shown() -> None:
    made = record({}, {"password-resets": {"perm": 6}})
    assert made.new == {"password-resets": {"perm": 6}}


def test_secrets_within_lists_are_hidden() -> None:
    made = record({}, {"a": {"keys": [{"password": "one"}, "two"]}})
    assert made.new == {"a": {"keys": [{"password": "***"}, "two"]}}


def test_names_and_their_number_are_bounded() -> None:
    names: dict[str, Json] = {f"{number}{'x' * 500}": None for number in range(OBJECTS_MAX + 7)}
    made = record(names, {})
    assert len(made.objects) == OBJECTS_MAX + 1
    assert made.objects[-1] == "... and 7 more"
    assert max(map(len, made.objects)) == NAME_CHARACTERS_MAX


def test_values_are_bounded() -> None:
    made = record({}, {"a": {"attributes": "x" * VALUES_BYTES_MAX}})
    assert "are not shown" in str(made.new)


def test_a_reason_is_bounded() -> None:
    made = audit_record("a", 1, ACTOR, AuditOutcome.FAILED, reason="x" * 10_000)
    assert len(made.reason) == 500
