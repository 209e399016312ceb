"""Tests log lines as text and as JSON, their escaping, and the bound for each key."""

from __future__ import annotations

import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gantrymq.runtime.logs import (
    FIELD_CHARACTERS_MAX,
    KEYS_MAX,
    Form,
    Log,
    QuietLog,
    configure,
    field,
)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    stream = io.StringIO()
    configure("INFO", stream)
    yield stream
    root.handlers[:] = handlers
    root.setLevel(level)


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def test_a_line_is_time_level_part_sentence_and_fields(stream: io.StringIO) -> None:
    Log("remoting").info("connection closed", peer="10.0.0.7:5", detail="two words", count=3)

    assert re.fullmatch(
        r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z INFO    remoting connection closed "
        r'peer=10\.0\.0\.7:5 detail="two words" count=3\n',
        stream.getvalue(),
    )


def test_levels_below_the_configured_one_are_left_out(stream: io.StringIO) -> None:
    Log("x").debug("nothing to see")

    assert stream.getvalue() == ""


def test_an_error_brings_its_traceback(stream: io.StringIO) -> None:
    Log("x").error("broke", cause=ValueError("why"), task="scan")

    assert "broke task=scan\n" in stream.getvalue()
    assert stream.getvalue().endswith("ValueError: why\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ("", '""'),
        ("a b", '"a b"'),
        ('say "x"', '"say \\"x\\""'),
        ("a=b", '"a=b"'),
        ("one\ntwo\x1b[31m", '"one\\ntwo\\x1b[31m"'),
        ("back\\slash here", '"back\\\\slash here"'),
        (7, "7"),
    ],
)
def test_fields_are_bare_or_quoted(value: object, text: str) -> None:
    assert field(value) == text


@given(st.text())
def test_no_value_can_forge_a_line(value: str) -> None:
    text = field(value)

    assert text.isprintable()
    assert len(text) <= 12 * FIELD_CHARACTERS_MAX
    if not text.startswith('"'):
        assert " " not in text


def test_lines_of_a_key_are_bounded_and_the_rest_is_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quiet = QuietLog(Log("q"), lines_max=2, interval_s=10.0)
    for _ in range(5):
        quiet.warning("garbage", 0.0, "closed")
    quiet.warning("idle", 0.0, "idle")
    assert messages(caplog) == ["closed", "closed", "idle"]

    quiet.warning("garbage", 10.0, "closed")

    assert messages(caplog)[3:] == ["… and 3 more kind=garbage within=10s", "closed"]


def test_counts_are_logged_when_no_more_events_come(caplog: pytest.LogCaptureFixture) -> None:
    quiet = QuietLog(Log("q"), lines_max=1, interval_s=10.0)
    for _ in range(3):
        quiet.warning("garbage", 0.0, "closed")

    quiet.settle(9.9)
    quiet.settle(10.0)
    quiet.settle(20.0)

    assert messages(caplog) == ["closed", "… and 2 more kind=garbage within=10s"]


def test_keys_are_bounded(caplog: pytest.LogCaptureFixture) -> None:
    quiet = QuietLog(Log("q"), lines_max=1)
    for number in range(KEYS_MAX + 50):
        quiet.warning(f"key {number}", 0.0, "line")

    assert len(messages(caplog)) == KEYS_MAX + 1
    assert len(quiet._allowances) == KEYS_MAX + 1


def test_lines_of_all_levels_share_their_key_s_allowance(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    quiet = QuietLog(Log("q"), lines_max=2)
    quiet.info("key", 0.0, "first")
    quiet.error("key", 0.0, "second", cause=ZeroDivisionError())
    quiet.warning("key", 0.0, "third")

    assert messages(caplog) == ["first", "second"]
    assert quiet.has_open_intervals
    quiet.settle(10.0)
    assert not quiet.has_open_intervals


# ---------------------------------------------------------------- JSON


@pytest.fixture
def objects(stream: io.StringIO) -> Callable[[], list[dict[str, Any]]]:
    """The lines that were written since, parsed; Any: values of JSON."""
    configure("INFO", stream, Form.JSON)
    return lambda: [json.loads(line) for line in stream.getvalue().splitlines()]


def test_as_json_a_line_is_an_object(objects: Callable[[], list[dict[str, Any]]]) -> None:
    Log("remoting").warning("connection closed", peer="10.0.0.7:5", count=3, is_open=False)
    (line,) = objects()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line == {
        "level": "WARNING",
        "part": "remoting",
        "event": "connection closed",
        "fields": {"peer": "10.0.0.7:5", "count": 3, "is_open": False},
    }


def test_as_json_nothing_forges_a_line(objects: Callable[[], list[dict[str, Any]]]) -> None:
    forged = '"}\n{"level": "ERROR", "event": "forged"}'
    Log("remoting").info("connection closed", peer=forged, long="x" * 9999)
    (line,) = objects()
    assert line["fields"]["peer"] == forged
    assert len(line["fields"]["long"]) == FIELD_CHARACTERS_MAX


def test_as_json_a_traceback_is_a_field_of_its_line(
    objects: Callable[[], list[dict[str, Any]]],
) -> None:
    try:
        int("wrong")
    except ValueError as error:
        Log("broker").error("a defect", cause=error)
    (line,) = objects()
    assert "test_logs.py" in line["traceback"]
    assert line["traceback"].endswith("'wrong'")


def test_unknown_format_is_logged_and_console_is_used(stream: io.StringIO) -> None:
    configure("INFO", stream, "xml")
    assert stream.getvalue().endswith("logs unknown log format given=xml used=console\n")


def test_as_json_lines_of_libraries_have_their_text(
    objects: Callable[[], list[dict[str, Any]]],
) -> None:
    logging.getLogger("library").warning("%d of %s", 3, "them")
    (line,) = objects()
    assert (line["event"], "fields" in line) == ("3 of them", False)
