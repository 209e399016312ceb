"""Tests fastjson's dialect with texts that Java wrote, and its reader with damaged texts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.base.bounds import INT_MAX, INT_MIN, LONG_MAX, LONG_MIN
from gantrymq.base.errors import RemoteError
from gantrymq.wire.fastjson import tolerant_reader
from gantrymq.wire.fastjson.tolerant_reader import DEPTH_MAX, JsonError, TolerantReader
from gantrymq.wire.javajson import (
    dumps_fastjson,
    dumps_pretty,
    dumps_standard,
    java_double,
    loads,
)
from gantrymq.wire.jsonvalue import Json, JsonObject, ObjectKey

VECTORS = Path(__file__).parents[2] / "vectors"

# What Java writes and we never send, by body and form.
NEVER_SENT = {
    ("VIEW_BROKER_STATS_DATA response", "json"): "a reference; we write every occurrence out",
    ("VIEW_BROKER_STATS_DATA response", "jsonStandard"): "a reference; we write each one out",
    ("GET_CONSUMER_STATUS body", "jsonStandard"): "Java's text form hides a reference in a key; "
    "a reader cannot know which key it meant, and no peer reads this body in standard form",
}


# Any: the vectors are free-form JSON.
def _vectors(name: str) -> list[dict[str, Any]]:
    vectors: list[dict[str, Any]] = json.loads((VECTORS / name).read_text())
    return vectors


def _bodies() -> list[Any]:
    return [
        pytest.param(body, id=f"{release}-{body['name']}")
        for release in ("5.3.3", "4.9.8")
        for body in _vectors(f"bodies-{release}.json")
        if "json" in body
    ]


def read_tolerantly(text: str, values_max: int = 100_000) -> Json:
    """Without any help of the standard reader's."""
    return TolerantReader(text, values_max, standard_parts=False).read()


def _captured_bodies() -> list[str]:
    texts = [
        exchange[side].get("bodyText", "")
        for exchange in _vectors("traffic-5.3.3.json")
        for side in ("request", "response")
        if side in exchange
    ]
    return [text for text in texts if text.startswith("{")]


@pytest.mark.parametrize("body", _bodies())
def test_bodies_are_read_and_written_as_java_does(body: dict[str, Any]) -> None:
    value = loads(body["json"].encode(), references=True)
    written = {
        "json": dumps_fastjson(value).decode(),
        "jsonStandard": dumps_standard(value).decode(),
    }
    for form, text in written.items():
        if form in body:
            is_equal = text == body[form]
            assert is_equal != ((body["name"], form) in NEVER_SENT), text


@pytest.mark.parametrize("body", _bodies())
def test_both_readers_agree_on_standard_bodies(body: dict[str, Any]) -> None:
    text = body.get("jsonStandard", "{}")
    assert read_tolerantly(text) == json.loads(text)


def test_captured_bodies_are_read_and_written_as_java_does() -> None:
    texts = _captured_bodies()
    assert len(texts) > 80
    for text in texts:
        value = loads(text)
        assert dumps_fastjson(value).decode() == text
        assert value == read_tolerantly(text)


def test_a_name_servers_file_is_read_and_written_as_java_does() -> None:
    data = (VECTORS / "namesrv-kvConfig-5.3.3.json.txt").read_bytes()
    assert dumps_fastjson(loads(data)) == data


QUEUE = ObjectKey((("brokerName", "b"), ("queueId", 1)))

# Written by fastjson 1.2.83 from the same value, in its three forms.
FORMS: JsonObject = {
    "empty": {},
    "list": [1, [], [{"a": None}]],
    "numbers": {0: 31, 10: 37, 2: 1.5},
    "objects": {QUEUE: 5},
    "nested": {"t@g": {3: {"a": True}}},
}
PRETTY = """{
\t"empty":{},
\t"list":[
\t\t1,
\t\t[],
\t\t[
\t\t\t{
\t\t\t\t"a":null
\t\t\t}
\t\t]
\t],
\t"numbers":{0:31,10:37,2:1.5
\t},
\t"objects":{{
\t\t\t"brokerName":"b",
\t\t\t"queueId":1
\t\t}:5
\t},
\t"nested":{
\t\t"t@g":{3:{
\t\t\t\t"a":true
\t\t\t}
\t\t}
\t}
}"""


def test_the_pretty_form_is_javas() -> None:
    assert dumps_pretty(FORMS).decode() == PRETTY
    assert loads(PRETTY) == FORMS


def test_the_bare_form_keeps_numbers_and_objects_as_keys() -> None:
    text = '{"numbers":{0:31,10:37,2:1.5},"objects":{{"brokerName":"b","queueId":1}:5}}'
    value = loads(text)
    assert value == {"numbers": FORMS["numbers"], "objects": FORMS["objects"]}
    assert dumps_fastjson(value).decode() == text


def test_the_standard_form_quotes_and_sorts_keys() -> None:
    value: Json = {"b": {10: 1, 9: 2, -1: 3}, "a": {QUEUE: 1}, "B": None}
    assert dumps_standard(value).decode() == (
        r'{"B":null,"a":{"{\"brokerName\":\"b\",\"queueId\":1}":1},"b":{"-1":3,"9":2,"10":1}}'
    )


def test_text_is_escaped_as_fastjson_escapes_it() -> None:
    value = "aé😀\x7f\x9f\n\x0b\"\\/'\u2028"
    assert dumps_fastjson(value).decode() == '"aé😀\\u007F\\u009F\\n\\u000B\\"\\\\/\'\\u2028"'
    assert dumps_standard(value).decode() == (
        '"a\\u00E9\\uD83D\\uDE00\\u007F\\u009F\\n\\u000B\\"\\\\\\/\'\\u2028"'
    )


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"), (-0.0, "-0.0"), (1.5, "1.5"), (0.001, "0.001"), (5e-4, "5.0E-4"),
        (1e-5, "1.0E-5"),
        (9999999.0, "9999999.0"), (1e7, "1.0E7"), (1e10, "1.0E10"), (1e21, "1.0E21"),
        (123456789.123, "1.23456789123E8"), (0.1 + 0.2, "0.30000000000000004"),
        (float("nan"), "null"), (float("-inf"), "null"),
    ],
)  # fmt: skip
def test_doubles_are_written_as_java_writes_them(number: float, text: str) -> None:
    assert java_double(number) == text


# Each pair was put to fastjson 1.2.83.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a:1}", {"a": 1}),
        ("{中:1}", {"中": 1}),
        ("{'a':'b'}", {"a": "b"}),
        ('{"a":1,}', {"a": 1}),
        ("[1,2,]", [1, 2]),
        ("[,1]", [1]),
        ('{"a":1,,"b":2}', {"a": 1, "b": 2}),
        ("{1:2}", {1: 2}),
        ("{-1:2}", {-1: 2}),
        ("{01:2}", {1: 2}),
        ("{1L:2}", {1: 2}),
        ("{1.5:2}", {"1.5": 2}),
        ("{true:1}", {"true": 1}),
        ("{null:1}", {"null": 1}),
        ('{"a":+1}', {"a": 1}),
        ('{"a":01}', {"a": 1}),
        ('{"a":NaN}', {"a": None}),
        ('{"a":undefined}', {"a": None}),
        (r"{'a':'it\'s'}", {"a": "it's"}),
        (r'{"a":"\x41\v\0\7\/"}', {"a": "A\v\0\7/"}),
        ('{"a":1L,"b":1.5F,"c":2D,"d":3S,"e":4B}', {"a": 1, "b": 1.5, "c": 2.0, "d": 3, "e": 4}),
        ('{"a":"x\ny\t"}', {"a": "x\ny\t"}),
        ('\ufeff{"a":1}', {"a": 1}),
        ('{\f"a":\b1}', {"a": 1}),
        ('{"a":99999999999999999999}', {"a": 99999999999999999999}),
        ("", None),
        ("  ", None),
        ("null", None),
        (r'"\uD83D\uDE00"', "😀"),
        (r'"a\ud83d"', "a?"),
    ],
)
def test_text_that_fastjson_tolerates_is_read(text: str, value: Json) -> None:
    assert loads(text) == value


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("{a$b:1}", 2),
        ('{"a":.5}', 5),
        ('{"a":0x1F}', 6),
        ('{"a":TRUE}', 5),
        ("{} x", 3),
        ('{"a":1}}', 7),
        ('{"a":1 "b":2}', 7),
        ('{"a":1;"b":2}', 6),
        ('{"a":-}', 5),
        ('{"a":"\\q"}', 5),
        ('{"a":"\\u00e"}', 5),
        ('{"a', 1),
        ('{"a"', 4),
        ("[1", 2),
        ("[Infinity]", 1),
        ("{[1]:2}", 1),
        ('{{"a":[1]}:2}', 1),
        ("/**/{}", 0),
        ("{9223372036854775808:1}", 1),
        ("{{a:2147483648}:1}", 1),
        ("{{a:1.5}:1}", 1),
        ("{{a:1,b:2,c:3,d:4,e:5}:1}", 1),
        ("9" * 5000, 0),
    ],
)
def test_text_that_fastjson_refuses_is_refused_with_the_position(text: str, position: int) -> None:
    with pytest.raises(JsonError, match=f"JSON at character {position}: ") as error:
        loads(text)
    assert error.value.position == position
    assert len(str(error.value)) < 200


def test_bytes_that_are_no_utf8_are_read_as_java_reads_them() -> None:
    assert loads(b'{"a":"\xff"}') == {"a": "\ufffd"}


def test_read_values_can_be_written() -> None:
    assert dumps_fastjson(loads(b'"\\ud800 \xed\xa0\x80"'))
    assert dumps_fastjson("\ud800") == b'"?"'


@pytest.mark.parametrize(("open_", "close"), [("[", "]"), ('{"a":', "}"), ("{1:", "}")])
def test_nesting_is_bounded(open_: str, close: str) -> None:
    def nested(levels: int) -> str:
        return open_ * levels + "1" + close * levels

    loads(nested(DEPTH_MAX))
    for levels in (DEPTH_MAX + 1, 100_000):
        with pytest.raises(RemoteError, match=f"nested deeper than {DEPTH_MAX} levels"):
            loads(nested(levels))


def test_size_is_bounded() -> None:
    assert loads(b"[1]", bytes_max=3) == [1]
    with pytest.raises(RemoteError, match="JSON of 4 bytes; at most 3 are read"):
        loads(b"[12]", bytes_max=3)


@pytest.mark.parametrize("text", ["[1,2,3]", "[[[1]]]", "[{},1]", "[{a:1,b:2}]", '[",,"]'])
def test_values_are_bounded(text: str) -> None:
    loads(text, values_max=3)
    with pytest.raises(RemoteError, match="JSON of more than 2 values"):
        loads(text, values_max=2)


@pytest.mark.parametrize("unit", ["[],", "{b:1},", "1,", "{},", "[[", '{"a":'])
def test_a_frame_full_of_small_values_is_refused_before_it_is_read(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(text: str, position: int) -> None:
        raise AssertionError("read")

    monkeypatch.setattr("gantrymq.wire.javajson.read_standard", read)
    with pytest.raises(RemoteError, match="JSON of more than 1250000 values"):
        loads("{a:[" + unit * (16_777_000 // len(unit)) + "1]}")


@pytest.mark.parametrize(
    ("text", "values"), [("[+1,2,3]", 4), ("[+1,[2],[3]]", 6), (r"['\n\n\n']", 5)]
)
def test_values_of_the_dialect_have_their_own_bound(text: str, values: int) -> None:
    read_tolerantly(text, values)
    with pytest.raises(JsonError, match=f"more than {values - 1} values in what is no standard"):
        read_tolerantly(text, values - 1)
    with pytest.raises(JsonError, match="more than 1 values in what is no standard"):
        loads(text, dialect_values_max=1)
    assert loads('{"a":[1,2,3]}', dialect_values_max=0)


def test_standard_parts_of_a_document_count_as_one_value() -> None:
    text = '{"a":{"t":[1,2,3,4,5,6,7,8,9]},"b":{0:1},"c":[1,2,3,4,5,6,7,8,9]}'
    assert loads(text, dialect_values_max=5) == read_tolerantly(text)
    with pytest.raises(JsonError, match="more than 4 values"):
        loads(text, dialect_values_max=4)


def test_standard_parts_are_tried_a_few_times_only(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []
    read = tolerant_reader.read_standard

    def counting(text: str, position: int, depth_max: int) -> tuple[Json, int] | None:
        tried.append(position)
        return read(text, position, depth_max)

    monkeypatch.setattr(tolerant_reader, "read_standard", counting)
    assert loads("[" + "{b:1}," * 1000 + "]") == [{"b": 1}] * 1000
    assert len(tried) == 3


@pytest.mark.parametrize("member", ["{b:1}", '"\\ud800"'])
def test_standard_part_has_the_value_of_the_tolerant_reader(member: str) -> None:
    deep = "[" * (DEPTH_MAX - 1) + "]" * (DEPTH_MAX - 1)
    text = f'{{"x":[{member}],"deep":{deep},"y":[{member},NaN]}}'
    assert loads(text) == read_tolerantly(text)
    with pytest.raises(RemoteError, match=f"nested deeper than {DEPTH_MAX} levels"):
        loads(text.replace(deep, f"[{deep}]"))


SAMPLE = (
    b'{"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:{"maxOffset":5}},'
    b'"t":{0:1.5,1:[true,null,"\\u00e9\\n"]},\'s\':{"$ref":"$.t"}}'
)


def test_every_prefix_of_a_document_is_refused() -> None:
    loads(SAMPLE)
    for length in range(1, len(SAMPLE)):
        with pytest.raises(RemoteError):
            loads(SAMPLE[:length])


@pytest.mark.parametrize("damage", [0x00, 0x22, 0x27, 0x2C, 0x5C, 0x7B, 0x7D, 0x5B, 0x39, 0xFF])
def test_a_damaged_byte_is_a_value_or_a_refusal_and_nothing_else(damage: int) -> None:
    for position in range(len(SAMPLE)):
        damaged = bytearray(SAMPLE)
        damaged[position] = damage
        try:
            dumps_fastjson(loads(bytes(damaged)))
        except RemoteError:
            continue


@given(st.text(alphabet="{}[]\"':,01.eE+-\\/*aunlt$ref@ \n"))
def test_any_text_is_a_value_or_a_refusal(text: str) -> None:
    try:
        loads(text)
    except RemoteError:
        return


KEYS = (
    st.text()
    | st.integers(LONG_MIN, LONG_MAX)
    | st.builds(
        lambda broker, queue: ObjectKey((("brokerName", broker), ("queueId", queue))),
        st.text(),
        st.integers(INT_MIN, INT_MAX),
    )
)
VALUES: st.SearchStrategy[Json] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(VALUES)
def test_every_value_survives_the_round_trip(value: Json) -> None:
    assert loads(dumps_fastjson(value)) == value
    assert loads(dumps_pretty(value)) == value


@given(VALUES)
def test_the_standard_form_is_standard_json(value: Json) -> None:
    text = dumps_standard(value).decode("ascii")
    assert read_tolerantly(text) == json.loads(text)
