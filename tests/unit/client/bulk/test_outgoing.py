"""Outgoing messages: their keys and bytes."""

from __future__ import annotations

import pytest

from gantrymq.client.bulk.outgoing import Origin, OutgoingMessage, property_bytes, unique_key
from gantrymq.client.core.errors import MessageError


def test_a_row_has_the_same_key_in_each_run_and_no_other_row_has() -> None:
    prefix = Origin("sink", 3, 1).key_prefix()
    keys = {unique_key(prefix, partition, row) for partition in range(3) for row in range(100)}
    keys |= {unique_key(Origin("sink", 4, 1).key_prefix(), 0, row) for row in range(100)}
    assert len(keys) == 400
    assert unique_key(Origin("sink", 3, 9).key_prefix(), 1, 5) == unique_key(prefix, 1, 5)
    assert {len(key) for key in keys} == {32}
    assert all(key.isalnum() for key in keys)


def test_names_and_epochs_are_not_confused() -> None:
    assert Origin("sink1", 1, 0).key_prefix() != Origin("sink", 11, 0).key_prefix()


@pytest.mark.parametrize(("name", "value"), [("", "x"), ("a\x01", "x"), ("a", "x\x02")])
def test_separators_in_properties_are_refused(name: str, value: str) -> None:
    with pytest.raises(MessageError, match="row 9: the property"):
        property_bytes(OutgoingMessage(b"x", {name: value}), "K", 9)
