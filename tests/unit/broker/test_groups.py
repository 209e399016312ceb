"""The table of groups, and its file."""

from __future__ import annotations

import json
from pathlib import Path

from gantrymq.broker.core.files import Files
from gantrymq.broker.core.groups import READ_FORBIDDEN, Groups
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig

TRAFFIC = Path(__file__).parents[2] / "vectors" / "traffic-5.3.3.json"


def groups() -> Groups:
    return Groups(Files())


def test_the_file_is_javas() -> None:
    traffic = json.loads(TRAFFIC.read_text())
    text = next(each["response"]["bodyText"] for each in traffic if each["request"]["code"] == 201)
    table = groups()
    table.load(text.encode())
    assert javajson.dumps_fastjson(javajson.loads(table.content())).decode() == text


def test_what_is_forbidden_survives_the_file() -> None:
    table = groups()
    table.put(GroupConfig(group_name="g"), 1)
    table.forbid("g", "T", READ_FORBIDDEN, 2)
    again = groups()
    again.load(table.content())
    assert again.forbidden("g", "T") == READ_FORBIDDEN
    assert again.all == table.all


def test_one_topic_that_is_allowed_again_leaves_others_forbidden() -> None:
    table = groups()
    table.forbid("g", "A", READ_FORBIDDEN, 1)
    table.forbid("g", "B", READ_FORBIDDEN, 1)
    table.forbid("g", "A", 0, 2)
    assert (table.forbidden("g", "A"), table.forbidden("g", "B")) == (0, READ_FORBIDDEN)


def test_only_changes_make_versions() -> None:
    table = groups()
    assert table.put(GroupConfig(group_name="g"), 1)
    assert not table.put(GroupConfig(group_name="g"), 2)
    table.forbid("g", "T", 0, 3)
    assert table.data_version.counter == 1
    table.forbid("g", "T", READ_FORBIDDEN, 4)
    assert table.remove("g", 5)
    assert table.forbidden("g", "T") == 0
    assert not table.remove("g", 6)
    assert table.data_version.counter == 3
