"""Tests how references in fastjson's JSON are resolved, within bounds."""

from __future__ import annotations

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.wire.fastjson.tolerant_reader import DEPTH_MAX
from gantrymq.wire.javajson import (
    dumps_fastjson,
    loads,
)
from gantrymq.wire.jsonvalue import Json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a":{"x":1},"b":{"$ref":"$.a"}}', {"a": {"x": 1}, "b": {"x": 1}}),
        ('{"a":[5,{"x":1}],"b":[{"$ref":"$.a[1].x"}]}', {"a": [5, {"x": 1}], "b": [1]}),
        ('{"t":{"%x@g":{3:{"a":1}}},"b":{"$ref":"$.t.\\\\%x\\\\@g[3]"}}',
         {"t": {"%x@g": {3: {"a": 1}}}, "b": {"a": 1}}),
        ('{"a":{"$ref":"$.b"},"b":{"$ref":"$.c"},"c":[1]}', {"a": [1], "b": [1], "c": [1]}),
        ('{"a":{"$ref":"$.b"},"b":{"$ref":"$.a"}}', {"a": None, "b": None}),
        ('{"a":{"$ref":"$.nowhere[0]"}}', {"a": None}),
        ('{"a":{"$ref":"elsewhere"}}', {"a": None}),
        ('{"a":{"$ref":"@"},"b":{"$ref":".."}}', {"a": None, "b": None}),
        ('{"a":{"$ref":5},"b":{"$ref":"$","c":1}}',
         {"a": {"$ref": 5}, "b": {"$ref": "$", "c": 1}}),
    ],
)  # fmt: skip
def test_references_are_resolved(text: str, value: Json) -> None:
    assert loads(text, references=True) == value


def test_references_stay_objects_unless_asked_for() -> None:
    assert loads('{"a":[1],"b":{"$ref":"$.a"}}') == {"a": [1], "b": {"$ref": "$.a"}}


@pytest.mark.parametrize(
    "text",
    [
        '{"self":{"$ref":"$"}}',
        '{"a":[[{"$ref":"$.a"}]]}',
        '{"a":{"x":{"$ref":"$.b"}},"b":{"x":{"$ref":"$.a"}}}',
    ],
)
def test_a_value_that_contains_itself_is_refused(text: str) -> None:
    with pytest.raises(RemoteError, match="or inside itself"):
        loads(text, references=True)


def test_references_that_nest_deeper_than_allowed_are_refused() -> None:
    def chain(links: int) -> str:
        members = [f'"r{i}":[{{"$ref":"$.r{i + 1}"}}]' for i in range(links)]
        return "{" + ",".join([f'"r{links}":[]', *members]) + "}"

    dumps_fastjson(loads(chain(DEPTH_MAX - 2), references=True))
    with pytest.raises(RemoteError, match="nested deeper"):
        loads(chain(DEPTH_MAX - 1), references=True)


def laughs(levels: int, *, backwards: bool) -> str:
    """A few hundred bytes a level that stand for 10**levels values."""
    members = ['"r0":[1,1,1,1,1,1,1,1,1,1]']
    members += [
        f'"r{level}":[' + ",".join([f'{{"$ref":"$.r{level - 1}"}}'] * 10) + "]"
        for level in range(1, levels)
    ]
    return "{" + ",".join(reversed(members) if backwards else members) + "}"


@pytest.mark.parametrize("backwards", [False, True])
def test_references_cannot_make_a_small_text_a_large_value(backwards: bool) -> None:
    assert loads(laughs(3, backwards=backwards), references=True)
    with pytest.raises(RemoteError, match="make more than 1250000 values"):
        loads(laughs(16, backwards=backwards), references=True)


def test_the_steps_of_references_are_bounded() -> None:
    def document(length: int) -> str:
        """Each of `length` steps leads to a reference of `length` steps."""
        steps = ".r" * length
        return (
            f'{{"p":{{"$ref":"$.D{steps}.e"}},"D":{{"e":1,"r":{{"$ref":"$.C{steps}.d"}}}},'
            '"C":{"r":{"$ref":"$.C"},"d":{"$ref":"$.D"}}}'
        )

    for length, cause in ((10, "inside itself"), (1000, "references take more than")):
        with pytest.raises(RemoteError, match=cause):
            loads(document(length), references=True)
