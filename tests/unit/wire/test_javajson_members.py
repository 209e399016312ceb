"""Tests that a table within a JSON text, read in pieces, has the value of reading it at once."""

from __future__ import annotations

import json

import pytest

from gantrymq.base.tasks import run_to_end
from gantrymq.wire import javajson
from gantrymq.wire.javajson_members import MEMBERS_A_SLICE, cut_members
from gantrymq.wire.jsonvalue import Json

TOPIC = '{"attributes":{"+a":"b"},"order":false,"perm":6,"topicName":"a"}'


def read(text: str) -> Json:
    """The value, by way of its table where that can be cut out."""
    cut = run_to_end(cut_members(text, "table"))
    if cut is None:
        return javajson.loads(text)
    value = javajson.loads(cut[0])
    assert isinstance(value, dict)
    assert value["table"] == {}
    return {**value, "table": cut[1]}


@pytest.mark.parametrize(
    "text",
    [
        f'{{"table":{{"a":{TOPIC}}},"x":1}}',
        f'{{"x":[1,2],"table":{{"a":{TOPIC},"b":{TOPIC}}}}}',
        f'{{\n\t"x":1,\n\t"table":{{\n\t\t"a":{TOPIC} ,\r\n "b" : {TOPIC}\n}}\n}}',
        '{"table":{"a":1,"a":2,"é\U0001d4b3":"\\u00e9","":[]}}',
        '{"table":{"a":-1.5e3,"b":null,"c":true,"d":"}{,"}}',
    ],
)
def test_a_standard_text_is_cut_and_has_the_same_value(text: str) -> None:
    assert run_to_end(cut_members(text, "table")) is not None
    assert read(text) == javajson.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"table":{}}',
        '{"x":1}',
        '{"table":{"a":{"table":{"b":1}}}}',
        '{"table":{"a\\"b":1}}',
        '{"table":{a:1}}',
        '{"table":{"a":NaN}}',
        '{"table":{"a":"\\ud800"}}',
        '{"table":{"a":' + "[" * 20 + "]" * 20 + "}}",
        '{"table":[1]}',
        "",
    ],
)
def test_any_other_text_is_left_to_the_general_reader(text: str) -> None:
    assert run_to_end(cut_members(text, "table")) is None


@pytest.mark.parametrize("end", ["", "}", ",", ',"a"', ":1", '"a":{', '"a":1 2}'])
def test_a_text_that_ends_early_is_left_to_the_general_reader(end: str) -> None:
    assert run_to_end(cut_members('{"table":{"x":1,' + end, "table")) is None


def test_a_long_table_has_pauses() -> None:
    table = {f"topic-{number}": {"perm": 6} for number in range(3 * MEMBERS_A_SLICE + 1)}
    text = json.dumps({"table": table}, separators=(",", ":"))

    pauses = len(list(cut_members(text, "table")))

    assert pauses == 4
    assert read(text) == {"table": table}
