"""The table of groups, and its file."""

from __future__ import annotations

import json
from pathlib import Path

from gantrymq.broker.core.engine.files import Files
from gantrymq.broker.core.tables.groups import READ_FORBIDDEN, UNKNOWN, Groups
from gantrymq.wire import javajson
from gantrymq.wire.bodies.groups import GroupConfig

TRAFFIC = Path(__file__).parents[3] / "vectors" / "traffic-5.3.3.json"


def groups() -> Groups:
    return Groups(Files())


def test_the_file_is_javas() -> None:
    traffic = json.loads(TRAFFIC.read_text())
    text = next(each["response"]["bodyText"] for each in traffic if each["request"]["code"] == 201)
    table = groups()
    table.load(text.encode())
    assert javajson.dumps_fastjson(javajson.loads(table.content())).decode() == text


def test_forbidden_topics_survive_a_restart() -> None:
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


def test_groups_of_consumers_are_named_in_the_file_and_not_in_the_answer() -> None:
    table = groups()
    table.put(GroupConfig(group_name="administrator's"), 1)
    table.create(GroupConfig(group_name="consumer's"), 1, 5.0)
    again = groups()
    again.load(table.content())
    assert dict(again.auto_created) == {"consumer's": UNKNOWN}
    assert b"autoCreatedGroups" not in table.answer()
    assert json.loads(table.content())["autoCreatedGroups"] == ["consumer's"]


def test_a_group_that_an_administrator_changes_is_no_consumers_any_more() -> None:
    table = groups()
    for name in ("changed", "confirmed"):
        table.create(GroupConfig(group_name=name), 1, 5.0)
    version = table.data_version.counter
    table.put(GroupConfig(group_name="changed", retry_max_times=3), 2)
    table.put(GroupConfig(group_name="confirmed"), 2)
    assert not table.auto_created
    assert table.data_version.counter == version + 2


def test_a_copy_keeps_when_its_groups_were_used() -> None:
    master, copied = groups(), groups()
    for name in ("known", "new"):
        master.create(GroupConfig(group_name=name), 1, 5.0)
    copied.create(GroupConfig(group_name="known"), 1, 7.0)
    copied.create(GroupConfig(group_name="gone"), 1, 7.0)
    copied.copy(master.content())
    assert dict(copied.auto_created) == {"known": 7.0, "new": UNKNOWN}


def test_a_removed_group_is_no_consumers_any_more() -> None:
    table = groups()
    table.create(GroupConfig(group_name="g"), 1, 5.0)
    assert table.used("g", 6.0)
    table.remove("g", 2)
    assert not table.auto_created
    assert not table.used("g", 7.0)
