"""What jobs report, as text and as JSON."""

from __future__ import annotations

import json

from gantrymq.spark.jobs.summary import SHOWN_MAX, Summary, Table, as_json, as_text

SUMMARY = Summary(
    "stats",
    {"messages": 12, "share": 0.25, "written to": None},
    [Table("top keys", ("key", "messages"), [("a", 10), ("bcd", 2)]), Table("empty", ("x",), [])],
)


def test_text_aligns_numbers_to_the_right() -> None:
    assert as_text(SUMMARY).splitlines() == [
        "messages    12",
        "share       0.25",
        "written to  -",
        "",
        "top keys:",
        "  key  messages",
        "  a          10",
        "  bcd         2",
        "",
        "empty: none",
    ]


def test_json_has_facts_and_rows_by_name() -> None:
    assert json.loads(as_json(SUMMARY)) == {
        "job": "stats",
        "messages": 12,
        "share": 0.25,
        "written to": None,
        "top_keys": [{"key": "a", "messages": 10}, {"key": "bcd", "messages": 2}],
        "empty": [],
    }


def test_control_characters_of_a_message_are_escaped() -> None:
    text = as_text(Summary("dlq", {}, [Table("samples", ("body",), [("\x1b[2Jgone\nä",)])]))
    assert "\\x1b[2Jgone\\nä" in text


def test_a_long_table_says_how_many_rows_are_hidden() -> None:
    table = Table("many", ("n",), [(number,) for number in range(SHOWN_MAX + 7)])
    text = as_text(Summary("stats", {}, [table]))
    assert text.endswith("… and 7 more (--json shows all)")
    assert len(json.loads(as_json(Summary("stats", {}, [table])))["many"]) == SHOWN_MAX + 7
