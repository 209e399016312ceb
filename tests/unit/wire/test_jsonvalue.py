"""Tests how bean properties are read: leniently as in fastjson, and within Java's types."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gantrymq.base.errors import RemoteError
from gantrymq.wire.jsonvalue import (
    Json,
    ObjectKey,
    bool_field,
    float_field,
    int_field,
    int_key,
    list_of,
    long_field,
    object_of,
    required_text_field,
    text_field,
    text_key,
    text_map_field,
)

QUEUE = ObjectKey((("queueId", 1),))


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (5, "5"), (True, "true"), (False, "false"), (None, None)]
)
def test_text_field_accepts_numbers_and_booleans(value: Json, text: str | None) -> None:
    assert text_field({"p": value}, "p") == text


@pytest.mark.parametrize("value", [5, "5", "+5", 5.0, "005"])
def test_integer_field_accepts_texts(value: Json) -> None:
    assert int_field({"p": value}, "p") == 5
    assert long_field({"p": value}, "p") == 5


@pytest.mark.parametrize("value", [None, "", "null"])
def test_empty_value_gives_the_default(value: Json) -> None:
    assert int_field({"p": value}, "p", 7) == 7
    assert long_field({}, "p", 7) == 7


@pytest.mark.parametrize("value", ["x", " 5", "5_0", 5.5, [], {}, True, "9" * 30, 1 << 63])
def test_invalid_integer_is_refused_by_name(value: Json) -> None:
    for read in (int_field, long_field):
        with pytest.raises(RemoteError, match=r"^perm is .* where a whole number"):
            read({"perm": value}, "perm")


def test_an_int_ends_at_32_bits_and_a_long_at_64() -> None:
    assert int_field({"p": 2**31 - 1}, "p") == 2**31 - 1
    assert long_field({"p": -(2**63)}, "p") == -(2**63)
    with pytest.raises(RemoteError, match="2147483648 where"):
        int_field({"p": 2**31}, "p")


@pytest.mark.parametrize("value", [True, "true", "TRUE", "1", 1])
def test_several_spellings_are_true(value: Json) -> None:
    assert bool_field({"p": value}, "p") is True


@pytest.mark.parametrize("value", [False, "false", "0", 0])
def test_several_spellings_are_false(value: Json) -> None:
    assert bool_field({"p": value}, "p", default=True) is False


def test_an_absent_boolean_is_its_default() -> None:
    assert bool_field({}, "p", default=True) is True
    assert bool_field({"p": ""}, "p") is False


@pytest.mark.parametrize("value", ["yes", 2, [], {}])
def test_invalid_boolean_is_refused(value: Json) -> None:
    with pytest.raises(RemoteError, match=r"^p is .* where true or false belongs"):
        bool_field({"p": value}, "p")


def test_double_field_accepts_integers_and_texts() -> None:
    bean: dict[str | int | ObjectKey, Json] = {"a": 1, "b": "1.5", "c": None, "d": []}
    assert [float_field(bean, name, 9.0) for name in "abcx"] == [1.0, 1.5, 9.0, 9.0]
    with pytest.raises(RemoteError, match="d is an array where a number belongs"):
        float_field(bean, "d")


def test_number_keys_come_bare_or_quoted() -> None:
    assert int_key(0, "brokerAddrs") == int_key("0", "brokerAddrs") == 0
    assert text_key(0, "table") == text_key("0", "table") == "0"
    for refused in ("", "x", QUEUE):
        with pytest.raises(RemoteError, match="brokerAddrs"):
            int_key(refused, "brokerAddrs")
    with pytest.raises(RemoteError, match="table"):
        text_key(QUEUE, "table")


def test_text_maps_drop_nulls_and_spell_everything_as_text() -> None:
    assert text_map_field({"p": {"a": "b", "c": None, 1: 5}}, "p") == {"a": "b", "1": "5"}
    assert text_map_field({}, "p") == text_map_field({"p": None}, "p") == {}
    with pytest.raises(RemoteError, match="p is 5 where an object belongs"):
        text_map_field({"p": 5}, "p")


def test_wrong_container_is_refused() -> None:
    assert object_of({}, "body") == {}
    assert list_of(None, "queueDatas") == []
    with pytest.raises(RemoteError, match="body is None where an object belongs"):
        object_of(None, "body")
    with pytest.raises(RemoteError, match="queueDatas is an object where an array belongs"):
        list_of({}, "queueDatas")
    with pytest.raises(RemoteError, match="topicName is missing"):
        required_text_field({}, "topicName")


def test_errors_stay_short() -> None:
    with pytest.raises(RemoteError) as error:
        int_field({"p": "x" * 100_000}, "p")
    assert len(str(error.value)) < 250


def test_no_reader_walks_a_container() -> None:
    """Written out, this one is 2**200 values."""
    shared: Json = []
    for _ in range(200):
        shared = [shared, shared]
    readers: list[Callable[[], object]] = [
        lambda: object_of(shared, "p"),
        lambda: list_of({"p": shared}, "p"),
        lambda: text_field({"p": shared}, "p"),
        lambda: int_field({"p": shared}, "p"),
        lambda: long_field({"p": shared}, "p"),
        lambda: bool_field({"p": shared}, "p"),
        lambda: float_field({"p": shared}, "p"),
        lambda: text_map_field({"p": {"a": shared}}, "p"),
        lambda: text_map_field({"p": {1: shared}}, "p"),
    ]
    for read in readers:
        with pytest.raises(RemoteError, match=r"^p is an (array|object) where"):
            read()
