"""Tests commands as values: flags, equality and text."""

from __future__ import annotations

import pytest

from gantrymq.wire.command import Command


@pytest.mark.parametrize(
    ("flag", "is_response", "is_oneway"),
    [(0, False, False), (1, True, False), (2, False, True), (3, True, True), (-4, False, False)],
)
def test_flag_bits(flag: int, is_response: bool, is_oneway: bool) -> None:
    command = Command(10, flag=flag)
    assert (command.is_response, command.is_oneway) == (is_response, is_oneway)


def test_every_field_counts_for_equality() -> None:
    fields: dict[str, object] = {
        "code": 1,
        "opaque": 1,
        "flag": 1,
        "language": 1,
        "version": 1,
        "remark": "",
        "ext": {},
        "body": b"x",
        "encoding": 1,
    }
    assert Command(0) == Command(0)
    for name, value in fields.items():
        other = Command(0)
        setattr(other, name, value)
        assert Command(0) != other, name


def test_command_is_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(Command(0))


def test_text_of_a_command_does_not_contain_the_body() -> None:
    text = repr(Command(310, opaque=7, ext={"a": "PG"}, body=b"secret"))
    assert text.startswith("Command(code=310, opaque=7,")
    assert "6 bytes" in text
    assert "secret" not in text
