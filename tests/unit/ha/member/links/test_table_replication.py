"""Tests how changes of tables are numbered, and which of them followers have stored."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import LocalError
from gantrymq.ha.member.links.table_replication import TABLES_SECONDS, TableReplication
from gantrymq.ha.protocol.member_frames import TABLE_BYTES_MAX


def test_only_changed_tables_get_a_number() -> None:
    tables = TableReplication(7, 10.0)
    assert list(tables.changes({"a": b"1", "b": b"1"}, 10.0)) == [(8, "a", b"1"), (9, "b", b"1")]
    assert list(tables.changes({"a": b"1", "b": b"2"}, 11.0)) == [(10, "b", b"2")]
    assert list(tables.current()) == [(8, "a", b"1"), (10, "b", b"2")]
    assert tables.last_number == 10
    assert tables.due_at == 11.0 + TABLES_SECONDS


def test_tables_are_stored_up_to_the_change_before_the_first_missing_one() -> None:
    tables = TableReplication(0, 0.0)
    list(tables.changes({"a": b"1", "b": b"1"}, 0.0))
    tables.reported(2, None)
    tables.reported(3, 2)
    assert tables.stored_by({2}) == 2
    assert tables.stored_by({2, 3}) == 1
    assert tables.stored_by({2, 4}) == 0, "member 4 has reported nothing"
    assert tables.stored_by(frozenset()) == 2


def test_follower_without_a_confirmed_change_does_not_have_what_was_confirmed() -> None:
    tables = TableReplication(0, 0.0)
    tables.reported(2, None)
    assert not tables.has_confirmed(2), "the first tables have no number yet"
    list(tables.changes({"a": b"1"}, 0.0))
    list(tables.changes({"a": b"2"}, 1.0))
    tables.reported(2, 2)
    assert tables.has_confirmed(2), "the second change is not confirmed"
    tables.confirm(2)
    assert not tables.has_confirmed(2)


def test_table_that_no_follower_could_receive_is_refused() -> None:
    tables = TableReplication(0, 0.0)
    with pytest.raises(LocalError, match="too large to replicate"):
        list(tables.changes({"a": bytes(TABLE_BYTES_MAX // 2 + 1)}, 0.0))
